"""What PostgreSQL cannot hold, refused before it gets there."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from perdure.errors import ArchiveError
from perdure.memory.blocks import clean


def refuse_unstorable(value: Any, subject: str) -> None:
    """Raise `ArchiveError` when a text anywhere in `value` has a NUL or a lone surrogate.

    Texts are cleaned where they enter the conversation. Here it is too late to change them:
    the archive would differ from what the model was sent.
    """
    if _is_unstorable(value):
        raise ArchiveError(
            f"{subject} holds a NUL character or a lone surrogate, which cannot be archived; "
            "clean it with perdure.memory.blocks.clean where it enters."
        )


def refuse_naive(time: datetime, subject: str) -> None:
    """Raise `ArchiveError` when `time` has no offset, so that its instant is unknown."""
    if time.utcoffset() is None:
        raise ArchiveError(f"{subject} has a time without an offset, {time.isoformat()}.")


def _is_unstorable(value: Any) -> bool:
    if isinstance(value, str):
        return bool(clean(value) != value)
    if isinstance(value, Mapping):
        return any(_is_unstorable(k) or _is_unstorable(v) for k, v in value.items())
    return isinstance(value, list | tuple) and any(_is_unstorable(v) for v in value)
