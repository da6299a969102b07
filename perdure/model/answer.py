"""What a summariser answers: fields that are checked, written as text, and merged.

The fields are those of `Notes`, or of the user's own schema. Either way an answer is plain JSON
that keeps to the schema of its call.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from perdure.contract import Usage
from perdure.errors import ModelError
from perdure.memory.blocks import clean
from perdure.memory.notes import Notes, fields_of, merged, settled, written
from perdure.memory.notes.own import field_names, own_merged, own_text
from perdure.memory.notes.own_schema import breach
from perdure.memory.notes.schema import notes_schema
from perdure.memory.notes.template import filled
from perdure.memory.observation import Observation
from perdure.model.provider import SummaryCall

Answer = dict[str, Any]
FENCE = "```"


class BadSummary(ModelError):
    """A summary that must not be kept, of the kind `bad_summary`; `usage` is what it cost.

    Its text says what is wrong in words that the model may be told.
    """

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message, kind="bad_summary", retryable=True)
        self.usage = usage


def schema_of(call: SummaryCall) -> dict[str, Any]:
    """The JSON Schema that the answer to a call must keep to."""
    if call.schema is None:
        return notes_schema()
    properties = {name: call.schema["properties"][name] for name in field_names(call.schema)}
    return {**call.schema, "properties": properties}


def read_answer(text: str, call: SummaryCall) -> Answer:
    """The fields in a model's text; one fence around them is forgiven. Raises BadSummary."""
    bare = text.strip()
    if bare.startswith(FENCE) and bare.endswith(FENCE):
        bare = bare.strip("`").removeprefix("json")
    try:
        found = clean(json.loads(bare))
    except (ValueError, RecursionError):
        raise BadSummary("it is not a JSON object by itself") from None
    if not isinstance(found, dict):
        raise BadSummary("it is JSON, but not an object")
    return _checked(found, call)


def _checked(found: Answer, call: SummaryCall) -> Answer:
    if call.schema is not None:
        if fault := breach(found, call.schema):
            raise BadSummary(fault)
        return found
    try:
        notes = Notes.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BadSummary(f"the field {place!r} is wrong: {first['msg'][:200]}") from None
    if call.level > 1:
        notes = settled(notes, _notes_of(call.sources))
    return notes.model_dump(mode="json")


def _notes_of(sources: Sequence[object]) -> list[Notes]:
    """The notes of the entries that are merged; none unless the newest is known by its fields."""
    found = [source.notes for source in sources if isinstance(source, Observation)]
    known = [notes for notes in found if notes is not None]
    return known if found and found[-1] is not None else []


def text_of(answer: Mapping[str, Any], call: SummaryCall) -> str:
    """The text that stands in the context for an answer."""
    if call.schema is not None:
        if call.template:
            return filled(call.template, answer)
        return own_text(answer, call.schema)
    notes = Notes.model_validate(answer)
    return filled(call.template, fields_of(notes)) if call.template else written(notes)


def one_answer(answers: Sequence[Answer], call: SummaryCall) -> Answer:
    """The answers on the parts of a source, in their order, as one. Raises BadSummary."""
    if call.schema is not None:
        return _checked(own_merged(answers, call.schema), call)
    return _checked(merged([Notes.model_validate(a) for a in answers]).model_dump(), call)
