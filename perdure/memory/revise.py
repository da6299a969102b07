"""A better text in the place of an entry that stands: which one, and under which name."""

from datetime import datetime

from perdure.memory.apply import Compacted, placed
from perdure.memory.observation import Observation, body
from perdure.memory.state import Memory, checked
from perdure.memory.wire import sha256


class StaleEntry(ValueError):
    """The entry does not stand in the memory as it was when the text was made for it."""


class NoGain(ValueError):
    """The text is blank, or takes more room than what it stands for."""


def revised_id(entry_id: str) -> str:
    """The id of what supersedes an entry: `L1.0-40~2` after `L1.0-40`, then `L1.0-40~3`.

    A context that was sent with the older text is rebuilt from it, so each text keeps its id.
    """
    first, _, revision = entry_id.partition("~")
    return f"{first}~{int(revision or 1) + 1}"


def revised_identity(was: str, text: str) -> str:
    """Names what supersedes the entry of the identity `was` with a text; 32 hex."""
    return sha256({"supersedes": was, "text": text})[:32]


def revise(
    memory: Memory,
    entry_id: str,
    was: str,
    result: Compacted,
    at: datetime,
) -> tuple[Memory, Observation]:
    """Put a text in the place of the entry `entry_id`, if it is still of the identity `was`.

    Gives the new memory and the new entry, whose identity is `revised_identity`. The one in
    `result` is not used: the same compaction may have been made before, with other words.
    Raises StaleEntry and NoGain.
    """
    old = next((o for o in memory.observations if o.id == entry_id), None)
    if old is None:
        raise StaleEntry(f"{entry_id} does not stand in the context any more")
    if old.identity != was:
        raise StaleEntry(f"{entry_id} is another compaction than the one that was to be superseded")
    entry = old.model_copy(
        update={
            "id": revised_id(old.id),
            "content": result.content,
            "facts": result.facts,
            "compressed_tokens": result.tokens,
            "created_at": at,
            "method": result.method,
            "model": result.model,
            "prompt_version": result.prompt_version,
            "identity": revised_identity(was, body(result.content, result.facts)),
        }
    )
    if not result.content.strip():
        raise NoGain("the text is blank")
    if entry.weight >= old.original_tokens:
        raise NoGain(
            f"the text weighs {entry.weight:,} tokens, and the messages that it stands for "
            f"{old.original_tokens:,}"
        )
    observations = placed(memory.observations, entry)
    return checked(memory.model_copy(update={"observations": observations})), entry
