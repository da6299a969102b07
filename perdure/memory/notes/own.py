"""Summaries by a JSON Schema of the user's own: how they are written and merged."""

from collections.abc import Mapping, Sequence
from typing import Any

from perdure.memory.notes.template import shown


def field_names(schema: Mapping[str, Any]) -> list[str]:
    """The names of the fields in the order in which they are asked for and shown.

    Those of `required` in their order, then the others by name: lists keep their order in every
    store of JSON, and objects do not.
    """
    properties = schema["properties"]
    first = [name for name in schema.get("required") or [] if name in properties]
    return list(dict.fromkeys([*first, *sorted(properties)]))


def own_text(answer: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """An answer without a template: a line or a short section for each field that says something.

    The fields stand in the order of `field_names`, below their title or their name.
    """
    lines = []
    for name in field_names(schema):
        field, value = schema["properties"][name], shown(answer.get(name))
        if value:
            gap = "\n" if isinstance(answer[name], list) else " "
            lines.append(f"{field.get('title') or name}:{gap}{value}")
    return "\n".join(lines)


def own_merged(answers: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The answers on the parts of a source, oldest first, as one.

    Lists follow each other, without repeats, and keep the newest where `maxItems` bounds them;
    of anything else the newest that says something stays.
    """
    found: dict[str, Any] = {}
    for answer in answers:
        for name, value in answer.items():
            if isinstance(value, list):
                before = found.get(name) or []
                found[name] = before + [item for item in value if item not in before]
            elif value not in ("", None) or name not in found:
                found[name] = value
    for name, field in schema["properties"].items():
        limit = field.get("maxItems")
        if limit is not None and isinstance(found.get(name), list):
            found[name] = found[name][-limit:] if limit else []
    return found
