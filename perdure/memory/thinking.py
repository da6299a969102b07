"""When a model's thinking leaves the context: whole, and as soon as nothing depends on it.

The Messages API wants the thinking of a tool loop back byte for byte until the loop has ended.
After that it may be left out, but never in part, since it is signed.
"""

from collections.abc import Sequence

from perdure.memory.blocks import Block
from perdure.memory.elision import Elision, elision, shown
from perdure.memory.groups import results
from perdure.memory.message import Message
from perdure.memory.state import Memory


def is_thinking(block: Block) -> bool:
    """Whether a block is `thinking` or `redacted_thinking`."""
    return block.get("type") in ("thinking", "redacted_thinking")


def without_thinking(memory: Memory) -> Memory:
    """The memory, between two turns, with the thinking of all ended tool loops left out.

    A loop whose last results no assistant has answered goes on with the next message.
    """
    end = _open_loop(memory.messages)
    spent = {
        m.seq: _silent(m, memory.elided.get(m.seq))
        for m in memory.messages[:end]
        if any(map(is_thinking, shown(m.content, memory.elided.get(m.seq))))
    }
    if not spent:
        return memory
    elided = {**memory.elided, **spent}
    return memory.model_copy(update={"elided": {seq: elided[seq] for seq in sorted(elided)}})


def _open_loop(messages: Sequence[Message]) -> int:
    """The index at which a tool loop begins that waits for the assistant; else the end."""
    said = [i for i, m in enumerate(messages) if m.role == "assistant" and not m.failed]
    if not said or not any(results(m.content) for m in messages[said[-1] + 1 :]):
        return len(messages)
    asked = [
        i
        for i in range(said[-1])
        if messages[i].role == "user" and not results(messages[i].content)
    ]
    return asked[-1] if asked else 0


def _silent(message: Message, before: Elision | None) -> Elision:
    stubs = dict(before.blocks) if before else {}
    stubs |= {i: "" for i, block in enumerate(message.content) if is_thinking(block)}
    return elision(message, {i: stubs[i] for i in sorted(stubs)})
