"""The observer: dated turns become a shorter dated text."""

from collections.abc import Sequence

from perdure.memory.extract.compact import compact
from perdure.memory.extract.importance import Importance, importance
from perdure.memory.extract.lines import Line, day_of
from perdure.memory.extract.types import Count, Turn


def observe(
    turns: Sequence[Turn],
    target_tokens: int,
    count: Count,
    judge: Importance = importance,
    outdated: Sequence[str] = (),
) -> str:
    """What matters of `turns`, in order, as text: a date line per day, a line per speaker."""
    lines = [Line(day_of(turn.at), turn.role, turn.text) for turn in turns]
    return compact(lines, target_tokens, count, judge, outdated)
