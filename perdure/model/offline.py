"""The assistant and the summariser that need no key and no network."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from perdure.contract import Usage
from perdure.memory.blocks import Block, to_text
from perdure.memory.extract.answer import answer
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.types import Quote, Remembered
from perdure.memory.project import Context
from perdure.model.extractive import LABEL, summarise_extractively
from perdure.model.offline_tools import tool_turn
from perdure.model.pool import Pool
from perdure.model.provider import ModelReply, OnText, ReplyCall, Summary, SummaryCall
from perdure.model.tokens import count_blocks

MODEL = "offline"
QUOTES = 3
# Thousandths, on the scale of Quote.score; set by reading the replies to the demo conversation.
# Below KNOWN a quote is only the nearest thing, below NEAR it has nothing to do with the question.
KNOWN = 600
NEAR = 400
RELATED = 500
# A further quote is worth giving if it is nearly as good as the best.
NEARLY = 700

_HEADING = re.compile(r"\[Summary (\d{4}-\d{2}-\d{2}) [^\]]*\]\n")
_PINNED = "[Pinned, word for word]\n"
_QUESTION = re.compile(r"[?？؟]\W*$")
_TELL = re.compile(
    r"(?:please )?(?:(?:can|could|would) you (?:please )?)?(?:remind me|tell me)\b"
    r"|do you (?:know|remember)\b",
    re.IGNORECASE,
)
# Without a question mark a question word asks only where no full stop ends the sentence.
_WONDERS = re.compile(
    r"(?:what|which|who|whom|whose|when|where|why|how)\b.*[^.!]$", re.IGNORECASE | re.DOTALL
)
_THANKS = re.compile(r"(?:many )?(?:thanks|thank you|thx)\b.{0,30}$", re.IGNORECASE)
_ACKNOWLEDGED = (
    "Noted.",
    "I have written that down.",
    "Understood, I will keep that.",
    "Good to know, that is noted.",
    "That is on record now.",
)


class OfflineProvider:
    """Quotes what it remembers; what it says begins with "(offline)"."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def reply(self, call: ReplyCall, on_text: OnText) -> ModelReply:
        """A quotation that answers the last message, or a sentence that takes note of it.

        A message such as "use now" calls the tool of that name. `usage` is counted: the context
        as the caller weighed it, and the reply.
        """
        content, tokens = await self._pool.run(compose, call.context, call.tools)
        on_text(to_text(content[:1]))
        return ModelReply(
            content=content,
            stop_reason="end_turn" if len(content) == 1 else "tool_use",
            usage=Usage(input=call.context.tokens, output=tokens),
            model=MODEL,
        )

    async def count(self, call: ReplyCall) -> int | None:
        """Nothing that the caller does not know."""

    async def summarise(self, call: SummaryCall) -> Summary:
        """See `summarise_extractively`."""
        return await self._pool.run(summarise_extractively, call)


def compose(context: Context, tools: Sequence[Mapping[str, Any]]) -> tuple[list[Block], int]:
    """The reply to the last message of a context, and its tokens; a pure function."""
    content = tool_turn(context, tools) or [{"type": "text", "text": _spoken(context)}]
    return content, count_blocks(content)


def _spoken(context: Context) -> str:
    said, remembered = _read(context)
    asked = _questions(said)
    return _answer(asked, remembered) if asked else _acknowledge(said, remembered)


def _read(context: Context) -> tuple[str, list[Remembered]]:
    """What the user said last, and everything before it that may be quoted."""
    messages = [(str(m["role"]), cast("list[Block]", m["content"])) for m in context.messages]
    memory: list[Block] = []
    if context.memory_blocks:
        memory = messages[0][1][: context.memory_blocks]
        messages[0] = (messages[0][0], messages[0][1][context.memory_blocks :])
    last = messages.pop()[1] if messages and messages[-1][0] == "user" else []
    remembered = [_entry(str(block["text"])) for block in memory[1:-1]]
    for role, blocks in messages:
        text = to_text(blocks)
        if role == "user" or not text.startswith(LABEL):
            remembered.append(Remembered(text, "", role))
    return to_text(last), remembered


def _entry(text: str) -> Remembered:
    heading = _HEADING.match(text)
    if heading:
        return Remembered(text[heading.end() :], heading[1], "")
    return Remembered(text.removeprefix(_PINNED), "", "")


def _questions(said: str) -> str:
    """The sentences of a message that ask for something, without "tell me", or ""."""
    asking = [
        s for s in sentences(said) if _QUESTION.search(s) or _TELL.match(s) or _WONDERS.match(s)
    ]
    return " ".join(_TELL.sub("", s, count=1) if _TELL.match(s) else s for s in asking)


def _quotes(text: str, remembered: Sequence[Remembered]) -> list[Quote]:
    """The best statements, best first: no questions, nothing twice, only near the best one."""
    distinct: dict[str, Quote] = {}
    for quote in answer(text, remembered, limit=6 * QUOTES):
        if not _questions(quote.text):
            distinct.setdefault(quote.text.casefold().strip(" .!"), quote)
    found = list(distinct.values())
    return [q for q in found if q.score * 1000 >= found[0].score * NEARLY][:QUOTES]


def _answer(asked: str, remembered: Sequence[Remembered]) -> str:
    quotes = _quotes(asked, remembered)
    if not quotes or quotes[0].score < NEAR:
        return f"{LABEL} I do not know; I remember nothing about that."
    if quotes[0].score < KNOWN:
        return f"{LABEL} I am not sure; the nearest I remember: {_quoted(quotes[0])}"
    return "\n".join([f"{LABEL} {_quoted(quotes[0])}", *map(_quoted, quotes[1:])])


def _acknowledge(said: str, remembered: Sequence[Remembered]) -> str:
    if _THANKS.match(said):
        return f"{LABEL} You are welcome."
    noted = _ACKNOWLEDGED[len(said) % len(_ACKNOWLEDGED)]
    related = [q for q in _quotes(said, remembered) if q.score >= RELATED]
    if not related:
        return f"{LABEL} {noted}"
    return f"{LABEL} {noted} {_quoted(related[0])}"


def _quoted(quote: Quote) -> str:
    said = _SAID.get(quote.role, "it was noted")
    words = f"on {quote.when} {said}" if quote.when else said
    return f'{words[0].upper()}{words[1:]}: "{quote.text}"'


_SAID: Mapping[str, str] = {"user": "you said", "assistant": "I said"}
