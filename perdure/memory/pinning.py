"""How much may be pinned: what is never compacted must leave room for what is."""

from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory

# Characters of a note that are enough to know it by.
_NAME = 60
# Of the window, the part that pinned texts may fill together.
SHARE = 4


def pin_fault(memory: Memory, policy: MemoryPolicy, tokens: int, text: str = "") -> str | None:
    """Why so many tokens cannot be pinned as well, in a sentence; None when they can.

    A note whose `text` is pinned already takes nothing.
    """
    if text and any(p.seq is None and p.text == text for p in memory.pins):
        return None
    held = sum(p.tokens for p in memory.pins)
    held += sum(m.weight for m in memory.messages if m.pinned)
    limit = policy.input_limit // SHARE
    if held + tokens <= limit:
        return None
    return (
        f"pinned texts may have {limit:,} tokens together, a quarter of the window; "
        f"{held:,} are taken, and this has {tokens:,}"
    )


def unpin_fault(memory: Memory, what: int | str) -> str:
    """Why the pin of a message or a note cannot be taken back, and which could be."""
    if not memory.pinned:
        return f"{_name(what)} is not pinned; nothing is"
    names = ", ".join(map(_name, memory.pinned))
    return f"{_name(what)} is not pinned; take back one of these, notes by all their text: {names}"


def _name(what: int | str) -> str:
    if isinstance(what, int):
        return f"message {what}"
    return repr(what if len(what) <= _NAME else f"{what[:_NAME]}...")
