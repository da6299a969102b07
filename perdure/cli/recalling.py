"""The command that finds what was said."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import typer

from perdure.cli.options import Id, Json
from perdure.cli.output import emit, remark, say
from perdure.cli.past import NO_ARCHIVE
from perdure.cli.session import run, session
from perdure.recall import LIMIT_TOKENS, Recalled
from perdure.settings import Settings

_DAY = timedelta(days=1) - timedelta(microseconds=1)
_LONGEST = 10_000
"""Characters of a question, far more than one needs."""


def since(value: str | None) -> datetime | None:
    """A time, or the beginning of a day, in UTC unless it has an offset."""
    return _time(value)[0] if value is not None else None


def until(value: str | None) -> datetime | None:
    """A time, or the end of a day, in UTC unless it has an offset."""
    if value is None:
        return None
    time, is_day = _time(value)
    return time + _DAY if is_day else time


def _time(value: str) -> tuple[datetime, bool]:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise typer.BadParameter(
            f"{value!r} is no time; write 2026-03-01 or 2026-03-01T18:30+02:00"
        ) from None
    is_day = len(value) <= len("2026-03-01")
    return (time if time.tzinfo else time.replace(tzinfo=UTC)), is_day


def question_of(value: str) -> str:
    """A question from the command line, checked."""
    if len(value) > _LONGEST:
        raise typer.BadParameter(
            f"the question has {len(value):,} characters; {_LONGEST:,} are possible"
        )
    return value


def recall(
    id: Id,  # noqa: A002
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="What to look for.", callback=question_of)
    ],
    limit_tokens: Annotated[
        int, typer.Option(min=50, max=100_000, help="How long the answer may be.")
    ] = LIMIT_TOKENS,
    role: Annotated[
        Literal["user", "assistant"] | None, typer.Option(help="Only what this one said.")
    ] = None,
    first: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Only from this time on (UTC).")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Only up to this time or day.")
    ] = None,
    level: Annotated[
        int, typer.Option(min=0, help="0: messages. 1 and up: entries of the memory.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Find what was said, word for word; the status is 1 when there is nothing."""
    times = since(first), until(last)

    async def asked() -> Recalled:
        async with session(Settings()) as opened:
            found = await opened.conversation(id).recall(
                question,
                limit_tokens=limit_tokens,
                role=role,
                since=times[0],
                until=times[1],
                level=level,
            )
            if opened.archive is None:
                remark(f"only what is still in the workflow was looked through: {NO_ARCHIVE}")
            return found

    found = run(asked())
    if as_json:
        emit(found.model_dump(mode="json"))
    elif found.excerpts:
        say(found.text)
    else:
        remark(found.text)
    if not found.excerpts:
        raise typer.Exit(1)
