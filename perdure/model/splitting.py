"""A call for a summary as several, where its sources are too much for one."""

from dataclasses import replace

from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.plan import MIN_TARGET
from perdure.model.provider import SummaryCall
from perdure.model.summary import sources_text
from perdure.model.tokens import count

Sources = list[Message] | list[Observation]


def weigh(call: SummaryCall) -> int:
    """Tokens of the sources as they are written into a request."""
    return count(sources_text(call))


def parted(call: SummaryCall, room: int, *, finer: bool = False) -> list[SummaryCall]:
    """Calls whose sources weigh `room` tokens at most, in the order of the sources.

    A source that is too heavy by itself is cut in its text; what cannot be cut stays too heavy.
    `finer` halves each of the calls once more.
    """
    heavy = weigh(call) > room
    cut = halves(call) if heavy or finer else None
    if cut is None:
        return [call]
    return [part for half in cut for part in parted(half, room, finer=finer and heavy)]


def halves(call: SummaryCall) -> tuple[SummaryCall, SummaryCall] | None:
    """The older and the newer half of a call, each with half its target, or None.

    `source_tokens`, and the limit that it sets, are of the whole, and go.
    """
    cut = _cut_in_two(call.sources)
    if cut is None:
        return None
    half = max(MIN_TARGET, call.target_tokens // 2)
    bare = replace(call, target_tokens=half, source_tokens=0)
    return replace(bare, sources=cut[0]), replace(bare, sources=cut[1], previous="")


def _cut_in_two(sources: Sources) -> tuple[Sources, Sources] | None:
    if len(sources) > 1:
        sizes = [len(source.text) for source in sources]
        middle = sum(sizes) / 2
        cut = min(range(1, len(sizes)), key=lambda at: abs(sum(sizes[:at]) - middle))
        return sources[:cut], sources[cut:]
    texts = _cut(_text(sources[0])) if sources else None
    if texts is None:
        return None
    one = sources[0]
    if isinstance(one, Message):
        older, newer = ([{"type": "text", "text": text}] for text in texts)
        return (
            [one.model_copy(update={"content": older})],
            [one.model_copy(update={"content": newer})],
        )
    older_entry, newer_entry = (
        one.model_copy(update={"content": text, "facts": []}) for text in texts
    )
    return [older_entry], [newer_entry]


def _text(source: Message | Observation) -> str:
    return source.text if isinstance(source, Message) else source.body


def _cut(text: str) -> tuple[str, str] | None:
    """Two parts of a text, at the line or the blank that is nearest before its middle."""
    middle = len(text) // 2
    for mark in ("\n", " "):
        at = text.rfind(mark, middle // 2, middle)
        if at > 0:
            return text[:at], text[at + 1 :]
    return (text[:middle], text[middle:]) if middle else None
