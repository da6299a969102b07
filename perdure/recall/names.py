"""Whose name a word of the question is, told from how the two address each other."""

import re
from collections.abc import Iterable

ADDRESSED = 3
"""So often one must have been called by a word before it counts as a name."""

_WORD = re.compile(r"\w[\w'’-]*")
_ROLES = {"user": "user", "assistant": "assistant"}
# "Hey Maria!", "Maria, ...", "..., Maria." at the start, behind a pause or a greeting.
_CALL = r"(?:^|[,.!?\n]\s*|\b(?:hey|hi|hello|dear|thanks|thank you|wow|yeah|yes|no|ok),?\s+)"


def capitalised(question: str) -> list[str]:
    """The words of a question that may be names: written with a capital, each once."""
    words = (word.removesuffix("'s").removesuffix("’s") for word in _WORD.findall(question))
    return list(dict.fromkeys(word for word in words if word[0].isupper() and len(word) > 1))


def role_named(question: str) -> str | None:
    """The role that a question names as such: "What did the user order?"."""
    found = {_ROLES[word] for word in _WORD.findall(question.lower()) if word in _ROLES}
    return found.pop() if len(found) == 1 else None


def bearer(word: str, mentions: Iterable[tuple[str, str]]) -> str | None:
    """The role whose name `word` is, from role and text of messages that may hold it.

    It is the name of one when the other calls them by it, mostly, and they hardly ever say it.
    """
    called = re.compile(rf"{_CALL}{re.escape(word)}\s*(?:[,.!?]|$)", re.IGNORECASE | re.MULTILINE)
    whole = re.compile(rf"\b{re.escape(word)}\b")
    said = {"user": 0, "assistant": 0}
    calls = {"user": 0, "assistant": 0}
    for role, text in mentions:
        if whole.search(text):
            said[role] += 1
            calls[role] += bool(called.search(text))
    caller = max(said, key=lambda role: said[role])
    if calls[caller] < ADDRESSED or 2 * calls[caller] < said[caller]:
        return None
    if 5 * said[caller] < 4 * sum(said.values()):
        return None
    return "assistant" if caller == "user" else "user"
