"""A JSON Schema of the user's own for summaries: what it may say, and what keeps to it."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

from perdure.memory.wire import canonical_json

SCHEMA_BYTES = 20_000
KEYWORDS = (
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
)
"""What a summary schema may be made of: what models can be held to, and limits checked after. No
pattern, which a text could make run for ever."""
_LOCAL = "#/$defs/"
_DEEP = 10


def schema_fault(schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a user's schema, in one sentence, or None.

    It describes an object by `properties`; each part of it has one type, a choice or a
    reference to one of its own `$defs`, which may not be recursive.
    """
    if (size := len(canonical_json(schema).encode())) > SCHEMA_BYTES:
        return f"it has {size:,} bytes, more than {SCHEMA_BYTES:,}"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "its top"
        return f"it is no JSON Schema: at {place}, {error.message[:200]}"
    if schema.get("type") != "object" or not schema.get("properties"):
        return 'it must be of type "object" and name its fields in properties'
    return next(_faults(schema, schema.get("$defs") or {}, "its top", 0), None)


def _faults(part: Any, defs: Mapping[str, Any], place: str, depth: int) -> Iterator[str]:
    if not isinstance(part, Mapping):
        yield f"{place} must be an object that names a type"
        return
    if depth > _DEEP:
        yield f"{place} is nested more than {_DEEP} deep, or refers to itself"
        return
    for word in part:
        if word not in KEYWORDS:
            yield f"{place} has {word!r}, which is not supported; known are {', '.join(KEYWORDS)}"
    reference = part.get("$ref")
    if reference is not None:
        name = str(reference).removeprefix(_LOCAL)
        if not str(reference).startswith(_LOCAL) or name not in defs:
            yield f"{place} refers to {reference!r}; only its own {_LOCAL}NAME can be referred to"
        else:
            yield from _faults(defs[name], defs, name, depth + 1)
        return
    yield from _type_faults(part, place)
    for inner, where in _inside(part, place):
        yield from _faults(inner, defs, where, depth + 1)


def _type_faults(part: Mapping[str, Any], place: str) -> Iterator[str]:
    if not any(word in part for word in ("type", "anyOf", "enum", "const")):
        yield f"{place} needs a type, anyOf, enum or const"
    if isinstance(part.get("type"), list):
        yield f"{place} has several types; write them as anyOf"
    if part.get("type") == "array" and "items" not in part:
        yield f"{place} needs items"
    if any(
        isinstance(value, Mapping | list) for value in [*part.get("enum", []), part.get("const")]
    ):
        yield f"{place} may choose among texts, numbers and true or false only"


def _inside(part: Mapping[str, Any], place: str) -> Iterator[tuple[Any, str]]:
    for name, field in (part.get("properties") or {}).items():
        yield field, f"the field {name!r}"
    for number, choice in enumerate(part.get("anyOf") or [], start=1):
        yield choice, f"choice {number} of {place}"
    if "items" in part:
        yield part["items"], f"an item of {place}"


def breach(answer: Any, schema: Mapping[str, Any]) -> str | None:
    """Where an answer does not keep to the schema, in one sentence, or None."""
    # All references are local, by `schema_fault`, so nothing is ever fetched.
    error = best_match(Draft202012Validator(schema).iter_errors(answer))
    if error is None:
        return None
    place = ".".join(map(str, error.absolute_path))
    where = f"the field {place!r}" if place else "the answer"
    if error.validator in ("required", "additionalProperties", "anyOf"):
        return f"{where} does not fit the schema: {error.message[:200]}"
    return f"{where} does not keep to {error.validator} {str(error.validator_value)[:100]}"
