"""From a question to the words that were said."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from perdure.archive import ChainKey
from perdure.archive.candidates import Filters
from perdure.errors import Refused
from perdure.memory.message import Message, Role
from perdure.memory.observation import Observation
from perdure.memory.terms import terms
from perdure.model.tokens import count
from perdure.recall.asked import Asked, Found
from perdure.recall.choose import chosen, rendered
from perdure.recall.entries import from_entries
from perdure.recall.excerpt import excerpt
from perdure.recall.found import Excerpt, Recalled
from perdure.recall.messages import from_messages

if TYPE_CHECKING:
    from perdure.archive import Archive

LIMIT_TOKENS = 1_000
LEAST_TOKENS = 50
WHOLE = 10
"""So many of the best have up to a fifth of the limit each; the others a few words of context."""
GLANCE_TOKENS = 30
"""What each of the others may have: a thirtieth of the limit, and never less than this."""

NO_WORD = "The question holds no word to look for; name a person, a thing or a number."
NOTHING_SAID = "Nothing has been said yet that could be looked through."
NOTHING_FOUND = (
    "Nothing that was said holds a word of the question; try other words, in the language of the "
    "conversation."
)
NOTHING_ADMITTED = (
    "Nothing of that role and time holds a word of the question; try other words, or wider filters."
)


async def recall(
    archive: "Archive | None",
    key: ChainKey,
    tail: Sequence[Message],
    question: str,
    *,
    limit_tokens: int = LIMIT_TOKENS,
    role: Role | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    level: int = 0,
    before: int | None = None,
    entries: Sequence[Observation] = (),
) -> Recalled:
    """What was said that fits `question`, within `limit_tokens`.

    Only messages of `role` and from `since..until`, both included, if given. `level` 0 looks in
    the messages, 1 and up in the entries of the memory of that level: those of the archive and
    `entries`, which the workflow holds. `before` is the first seq that the archive must not be
    asked for, by default the first of `tail`. Raises Refused for a limit under 50, a time without
    an offset, times in the wrong order, and a role beside a level.
    """
    _refuse(limit_tokens, role, level)
    _refuse_times(since, until)
    words = list(dict.fromkeys(terms(question)))
    if not words:
        return _nothing(question, NO_WORD)
    asked = Asked(
        question,
        words,
        Filters(role, since, until),
        archive,
        key,
        tail,
        entries,
        before=tail[0].seq if before is None and tail else before,
        # More than there is room for: one that is too long is passed over for the next.
        most=max(GLANCE_TOKENS, limit_tokens // 16),
    )
    found = await (from_entries(asked, level) if level else from_messages(asked))
    if not found.excerpts:
        return _nothing(question, _why(asked, level, found.total))
    return _within(question, found, limit_tokens)


def _refuse(limit_tokens: int, role: Role | None, level: int) -> None:
    if limit_tokens < LEAST_TOKENS:
        raise Refused(f"{limit_tokens} tokens are too few for an excerpt; {LEAST_TOKENS} are not")
    if level and role is not None:
        raise Refused("an entry of the memory has no role; leave out the role or the level")


def _refuse_times(since: datetime | None, until: datetime | None) -> None:
    for time in (since, until):
        if time is not None and time.utcoffset() is None:
            raise Refused(f"the time {time.isoformat()} needs an offset, such as +00:00")
    if since is not None and until is not None and since > until:
        raise Refused(
            f"nothing can be since {since.isoformat()} and until {until.isoformat()}: that is "
            "before it"
        )


def _why(asked: Asked, level: int, total: int) -> str:
    """Why nothing was found among `total`."""
    if not total:
        return f"The memory has no entry of level {level}." if level else NOTHING_SAID
    return NOTHING_FOUND if asked.filters == Filters() else NOTHING_ADMITTED


def _nothing(question: str, why: str) -> Recalled:
    return Recalled(question=question, text=why, tokens=count(why))


def _within(question: str, found: Found, limit_tokens: int) -> Recalled:
    whole = max(GLANCE_TOKENS, limit_tokens // 5)
    glance = max(GLANCE_TOKENS, limit_tokens // 33)
    shown = (
        _shortened(each, found.weights, whole if place < WHOLE else glance)
        for place, each in enumerate(found.excerpts)
    )
    excerpts = chosen(shown, limit_tokens, count)
    text = rendered(excerpts)
    return Recalled(question=question, excerpts=excerpts, text=text, tokens=count(text))


def _shortened(whole: Excerpt, weights: Mapping[str, float], most: int) -> Excerpt:
    return whole.model_copy(update={"text": excerpt(whole.text, weights, most, count)})
