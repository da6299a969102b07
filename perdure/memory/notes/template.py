"""A template for summaries: text with the names of fields in braces.

    <system-info>
    Goal: {goal}
    Constraints:
    {constraints}
    </system-info>

`{name}` is replaced by what the summary says in that field, `{{` and `}}` are braces. A list that
stands alone on its line becomes a line `- item` for each of its items; beside other text its items
are joined by "; ". A line all of whose fields are empty is left out. There is nothing else: no
conditions, no formats, no attributes, and what a field says is never read as a template.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from perdure.memory.notes.schema import one_line

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def template_fault(template: str, fields: Sequence[str]) -> str | None:
    """What is wrong with a template for these fields, in one sentence, or None."""
    named = False
    for piece in _PIECE.finditer(template):
        if piece[0] in ("{", "}"):
            return f"a single {piece[0]} must be doubled, as {piece[0] * 2}"
        name = piece[1]
        if name is not None and name not in fields:
            return f"there is no field {name!r} to show; known are {', '.join(fields)}"
        named = named or name is not None
    return None if named else f"it shows no field; name one in braces, such as {{{fields[0]}}}"


def filled(template: str, values: Mapping[str, Any]) -> str:
    """The template with the values of its fields; a field without a value is empty."""
    lines = [_line(line, values) for line in template.split("\n")]
    return "\n".join(line for line in lines if line is not None).strip("\n")


def _line(line: str, values: Mapping[str, Any]) -> str | None:
    names = [piece[1] for piece in _PIECE.finditer(line) if piece[1] is not None]
    if names and all(_is_empty(values.get(name)) for name in names):
        return None
    if len(names) == 1 and line.strip() == f"{{{names[0]}}}":
        return shown(values.get(names[0]))

    def put(piece: re.Match[str]) -> str:
        return piece[0][0] if piece[1] is None else inline(values.get(piece[1]))

    return _PIECE.sub(put, line)


def shown(value: Any) -> str:
    """A value with lines of its own: lists as `- item`, texts as they are."""
    if isinstance(value, list):
        return "\n".join(f"- {inline(item)}" for item in value if not _is_empty(item))
    return value.strip() if isinstance(value, str) else inline(value)


def inline(value: Any) -> str:
    """A value on one line: `a; b` for lists, `name: a, name: b` for objects."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {inline(v)}" for k, v in value.items() if not _is_empty(v))
    if isinstance(value, list):
        return "; ".join(inline(item) for item in value if not _is_empty(item))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else one_line(str(value))


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, list | Mapping):
        items = value.values() if isinstance(value, Mapping) else value
        return all(_is_empty(item) for item in items)
    return value is None
