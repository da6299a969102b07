"""How the result of a compaction is taken into the memory."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from perdure.memory.groups import results
from perdure.memory.message import Message
from perdure.memory.observation import ENTRY_OVERHEAD, Method, Observation
from perdure.memory.plan import Part
from perdure.memory.policy import MemoryPolicy
from perdure.memory.sources import StalePart, sources
from perdure.memory.state import Memory, Pin, checked
from perdure.memory.wire import sha256

# A summary must be clearly smaller than its source.
PROGRESS = 0.8


class Compacted(BaseModel):
    """What a compaction activity gives back for one part; `tokens` are of content and facts."""

    model_config = ConfigDict(frozen=True)

    content: str
    facts: list[str] = []
    tokens: int
    method: Method
    model: str
    prompt_version: str
    identity: str


class NoProgress(ValueError):
    """The result is empty or not clearly smaller than its source; the originals stay."""


def identity(
    source_sha256: str, part: Part, policy: MemoryPolicy, prompt_version: str, model: str
) -> str:
    """Names a compaction, so that it is committed once however often it was tried; 32 hex."""
    named = sha256(
        {
            "source": source_sha256,
            "level": part.level,
            "target_tokens": part.target_tokens,
            "instructions": policy.instructions,
            "summary_schema": policy.summary_schema,
            "summary_template": policy.summary_template,
            "prompt_version": prompt_version,
            "model": model,
        }
    )
    return named[:32]


def most_tokens(source: int) -> int:
    """Tokens that the result of `source` tokens may have, content and facts, to be taken in."""
    return int(PROGRESS * source) - ENTRY_OVERHEAD


def _entry(memory: Memory, part: Part, result: Compacted, at: datetime) -> Observation:
    parents = sources(memory, part)
    messages = [p for p in parents if isinstance(p, Message)]
    entries = [p for p in parents if isinstance(p, Observation)]
    return Observation(
        id=f"L{part.level}.{part.first_seq}-{part.last_seq}",
        level=part.level,
        content=result.content,
        facts=result.facts,
        start_time=min([m.at for m in messages] + [e.start_time for e in entries]),
        end_time=max([m.at for m in messages] + [e.end_time for e in entries]),
        first_seq=part.first_seq,
        last_seq=part.last_seq,
        message_count=part.last_seq - part.first_seq + 1,
        original_tokens=sum(m.weight for m in messages) + sum(e.original_tokens for e in entries),
        compressed_tokens=result.tokens,
        created_at=at,
        sources=[e.id for e in entries],
        method=result.method,
        model=result.model,
        prompt_version=result.prompt_version,
        identity=result.identity,
    )


def _pins(left: Sequence[Message], open_seq: int | None) -> list[Pin]:
    """What stays word for word of messages that leave the tail."""
    pins = []
    for m in left:
        asked = open_seq is not None and m.seq >= open_seq and m.role == "user"
        passing = asked and not m.pinned and not results(m.content)
        if (m.pinned or passing) and not m.failed:
            pins.append(pinned_text(m, passing=passing))
    return pins


def pinned_text(message: Message, *, passing: bool = False) -> Pin:
    """What stays of a message that is compacted and not let go."""
    text = f"{message.role}: {message.text}"
    return Pin(text=text, at=message.at, tokens=message.weight, seq=message.seq, passing=passing)


def placed(observations: Sequence[Observation], entry: Observation) -> list[Observation]:
    """The entries with a new one in its place: behind its level and those above it.

    One that supersedes another takes the place of that.
    """
    if entry.supersedes is not None:
        return [entry if o.id == entry.supersedes else o for o in observations]
    above = [o for o in observations if o.level >= entry.level]
    below = [o for o in observations if o.level < entry.level and o.id not in entry.sources]
    return [*above, entry, *below]


def apply(
    memory: Memory, part: Part, result: Compacted, at: datetime, *, open_seq: int | None = None
) -> tuple[Memory, Observation]:
    """Put the result in the place of its source; gives the new memory and the new entry.

    Raises StalePart when the source is not the oldest of its level any more, NoProgress when
    the result is blank or weighs over 0.8 of the source. Pinned messages become pins, and so
    does, until the turn in progress ends, what the user has said from `open_seq` on.
    """
    entry = _entry(memory, part, result, at)
    if not result.content.strip() or entry.weight > PROGRESS * part.source_tokens:
        raise NoProgress(
            f"the summary of messages {part.first_seq}-{part.last_seq} weighs "
            f"{entry.weight} tokens, its source {part.source_tokens}"
        )
    if part.level == 1:
        if memory.messages[0].seq != part.first_seq:
            raise StalePart(f"message {part.first_seq} is not the oldest one")
        taken = part.last_seq - part.first_seq + 1
        pins = _pins(memory.messages[:taken], open_seq)
        return checked(
            memory.model_copy(
                update={
                    "messages": memory.messages[taken:],
                    "observations": placed(memory.observations, entry),
                    "pins": [*memory.pins, *pins],
                    "elided": {s: e for s, e in memory.elided.items() if s > part.last_seq},
                    "light_from": 0,
                }
            )
        ), entry
    observations = placed(memory.observations, entry)
    return checked(memory.model_copy(update={"observations": observations})), entry
