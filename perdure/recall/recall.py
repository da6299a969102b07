"""From a question to the words that were said."""

from collections.abc import Sequence
from datetime import datetime

from perdure.archive import Archive, ChainKey
from perdure.memory.message import Message, Role
from perdure.recall.found import Recalled

LIMIT_TOKENS = 1_000


async def recall(
    archive: Archive | None,
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
) -> Recalled:
    """What was said that fits `question`, within `limit_tokens`.

    Only messages of `role` and from `since..until`, both included, if given. `level` 0 looks in
    the messages, 1 and up in the memory's entries of that level. `before` is the first seq that
    the archive must not be asked for, by default the first of `tail`.
    """
    raise NotImplementedError
