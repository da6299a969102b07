"""Summaries without a model: the offline provider's, and the way out of an emergency."""

from collections.abc import Sequence

from perdure.memory.blocks import to_text
from perdure.memory.extract.lines import TOOL
from perdure.memory.extract.observe import observe
from perdure.memory.extract.reflect import reflect
from perdure.memory.extract.types import Turn
from perdure.memory.facts.actions import actions
from perdure.memory.facts.collect import outdated
from perdure.memory.facts.tools import CALLS, RESULTS
from perdure.memory.message import Message
from perdure.memory.observation import Observation, body
from perdure.model.importance import label
from perdure.model.provider import Summary, SummaryCall
from perdure.model.tokens import count

MODEL = "extractive"
PROMPT_VERSION = "extractive-1"
RESULT = 400
"""Characters of a tool's result that are read; more of it is seldom prose."""
_RECORDS = ("[result: {", "[result: [")
LABEL = "(offline)"
"""How every reply of the offline assistant begins."""


def summarise_extractively(call: SummaryCall) -> Summary:
    """The most telling sentences of the sources, word for word, in `target_tokens` at most.

    A pure function that does not fail, unless an importance of one's own does: the content is
    empty only if the sources hold no text. Replies of the offline assistant are left out, since
    they only repeat what was said before.
    """
    messages = [s for s in call.sources if isinstance(s, Message)]
    entries = [s for s in call.sources if isinstance(s, Observation)]
    if messages:
        turns, old = _turns(telling(messages)), outdated(telling(messages))
        content = observe(turns, call.target_tokens, count, call.importance, old)
    else:
        texts, old = [_dated(entry) for entry in entries], outdated(entries)
        content = reflect(texts, call.target_tokens, count, call.importance, old)
    return Summary(content, "extractive", MODEL, label(PROMPT_VERSION, call.importance))


def _turns(messages: Sequence[Message]) -> list[Turn]:
    """What was said, and what tools were told."""
    called = actions(messages)
    turns = []
    for m in messages:
        turns.append(Turn(m.seq, m.role, m.at, _spoken(m)))
        turns += [Turn(m.seq, TOOL, m.at, line) for line in called.get(m.seq, [])]
    return turns


def _spoken(message: Message) -> str:
    """What a reader should see of a message beside its calls and the records that came back."""
    parts = []
    for block in message.content:
        if block.get("type") in CALLS:
            continue
        text = to_text([block])
        if block.get("type") in RESULTS and (text.startswith(_RECORDS) or len(text) > RESULT):
            text = text[:RESULT] if not text.startswith(_RECORDS) else ""
        if text:
            parts.append(text)
    return "\n".join(parts)


def telling(messages: Sequence[Message]) -> list[Message]:
    """The messages without failed ones and without replies of the offline assistant."""
    whole = [m for m in messages if not m.failed]
    return [m for m in whole if not m.text.startswith(LABEL)] or whole


def _dated(entry: Observation) -> str:
    """Its text behind the day on which it starts, for lines that no date line precedes."""
    return f"{entry.start_time.date().isoformat()}:\n{body(entry.prose, entry.facts)}"
