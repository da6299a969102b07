"""The reflector: observations and reflections become a shorter text of the same form."""

from collections.abc import Sequence

from perdure.memory.extract.compact import compact
from perdure.memory.extract.importance import Importance, importance
from perdure.memory.extract.lines import read
from perdure.memory.extract.types import Count


def reflect(
    texts: Sequence[str],
    target_tokens: int,
    count: Count,
    judge: Importance = importance,
    outdated: Sequence[str] = (),
) -> str:
    """What matters of earlier summaries, oldest first; free text is understood as well."""
    lines = [line for text in texts for line in read(text)]
    return compact(lines, target_tokens, count, judge, outdated)
