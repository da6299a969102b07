"""From a function's signature to the arguments that the model may give."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, SimpleNamespace
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.fields import FieldInfo

from perdure.entrance import sentence
from perdure.tools.context import ToolContext
from perdure.tools.schema import Schema, plain_schema

_POSSIBLE = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
# What the Messages API accepts; with any other name it refuses every request.
_NAME = re.compile("[a-zA-Z0-9_.-]{1,64}")


class ArgumentError(ValueError):
    """Arguments that a tool cannot take; the text is one sentence for the model."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function: `context` is the one that takes the ToolContext, if any."""

    model: type[BaseModel]
    schema: Schema
    context: str | None

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the function, of its own types. Raises ArgumentError."""
        try:
            checked = self.model.model_validate_json(json.dumps(given))
        except ValidationError as error:
            raise ArgumentError(sentence(error, "the argument")) from None
        fields = type(checked).model_fields
        return {str(field.alias): getattr(checked, name) for name, field in fields.items()}


def signature_of(function: Callable[..., Any], name: str) -> Signature:
    """The signature of a tool's function. Raises TypeError that names the faulty parameter."""
    try:
        hints = _hints(function)
    except (NameError, TypeError) as error:
        raise TypeError(f"tool {name!r}: its types cannot be read ({error})") from None
    context: str | None = None
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _POSSIBLE:
            raise TypeError(f"tool {name!r}: {parameter} cannot be given by name")
        if parameter.name not in hints:
            raise TypeError(f"tool {name!r}: the parameter {parameter.name!r} needs a type")
        if _is_context(hints[parameter.name]):
            context = parameter.name
        elif not _NAME.fullmatch(parameter.name):
            raise TypeError(
                f"tool {name!r}: the parameter {parameter.name!r} must have a name of 1 to 64 of "
                "the characters a-z, A-Z, 0-9 and _"
            )
        else:
            # Names of our own, since a model has attributes that a parameter may be called like.
            fields[f"argument_{len(fields)}"] = _field(parameter, hints[parameter.name])
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        return Signature(model, plain_schema(model), context)
    except (PydanticUserError, TypeError) as error:
        # What follows the first sentence is for those who know pydantic's inside.
        said = " ".join(str(error).split()).partition(". ")[0]
        raise TypeError(f"tool {name!r}: {said}") from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of the parameters; that of the result may be one that is not there at run time."""
    written = {k: v for k, v in function.__annotations__.items() if k != "return"}
    names = getattr(inspect.unwrap(function), "__globals__", {})
    return get_type_hints(SimpleNamespace(__annotations__=written), names, include_extras=True)


def _is_context(hint: Any) -> bool:
    return hint is ToolContext or set(get_args(hint)) == {ToolContext, NoneType}


def _field(parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
    default = parameter.default
    if isinstance(default, FieldInfo):
        return Annotated[hint, default], Field(alias=parameter.name)
    if default is inspect.Parameter.empty:
        return hint, Field(alias=parameter.name)
    return hint, Field(default, alias=parameter.name)
