"""JSON Schema as the Messages API takes it, and no longer than it must be."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

Schema = dict[str, Any]
# Keywords whose values are schemas by name.
_NAMED = ("properties", "patternProperties")
# Of no use to a model: names made from names, and hints for code generators.
_NOISE = ("title", "discriminator", "$defs")


class _Silent(GenerateJsonSchema):
    """A default that is not JSON is left out of the schema without a warning."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012
        "skipped-choice",
        "non-serializable-default",
    }


def plain_schema(model: type[BaseModel]) -> Schema:
    """The schema of a model without references and titles.

    Raises TypeError for a type that contains itself, which cannot be written out.
    """
    schema = model.model_json_schema(by_alias=True, schema_generator=_Silent)
    plain: Schema = _plain(schema, schema.get("$defs", {}), ())
    return plain


def _plain(value: Any, definitions: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_plain(item, definitions, within) for item in value]
    if not isinstance(value, Mapping):
        return value
    made: Schema = {}
    if "$ref" in value:
        name = str(value["$ref"]).rpartition("/")[2]
        if name in within:
            raise TypeError(f"the type {name} contains itself, which a tool's schema cannot say")
        made = _plain(definitions[name], definitions, (*within, name))
    for key, item in value.items():
        if key in _NAMED:
            made[key] = {name: _plain(each, definitions, within) for name, each in item.items()}
        elif key in ("default", "const", "enum", "examples"):
            made[key] = item
        elif key != "$ref" and key not in _NOISE:
            made[key] = _plain(item, definitions, within)
    return made
