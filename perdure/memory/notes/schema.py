"""What a summary says, field by field: the form in which a model is asked for it."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MARKS = {3: "important", 1: "minor"}
"""How the importance of an entry is written behind it; what is written of most entries: nothing."""
_MARKED = re.compile(rf"(?:\s*\((?:{'|'.join(MARKS.values())})\))+$")
# "name: what is known" must be told apart again at its first colon.
_COLON = re.compile(r":+(?=\s|$)")


def one_line(text: str) -> str:
    """`text` with every stretch of white space as one blank."""
    return " ".join(text.split())


def _unmarked(text: str) -> str:
    return _MARKED.sub("", one_line(text))


def _name(text: str) -> str:
    return one_line(_COLON.sub("", one_line(text)))


def _told(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(line for line in lines if line))


Line = Annotated[str, AfterValidator(one_line)]
Lines = Annotated[list[Line], AfterValidator(_told)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Part):
    """Something that was said or done on a day."""

    day: date = Field(description="The day of the message it stands in, such as 2023-05-08.")
    speaker: Literal["user", "assistant"]
    text: Annotated[str, AfterValidator(_unmarked)] = Field(
        description="One short, complete sentence or two, with relative dates worked out."
    )
    importance: Literal[1, 2, 3] = Field(
        2, description="3: must not be forgotten. 2: of use later. 1: may go first."
    )


class Action(_Part):
    """Something that is to be done."""

    text: Line = Field(description="What is to be done, by whom and until when, if that was said.")
    done: bool = False


class Thing(_Part):
    """A person, place, thing, file, record or address, by its name."""

    name: Annotated[str, AfterValidator(_name)] = Field(description="Exactly as it was written.")
    note: Line = Field("", description="What it is, or the latest state it is in.")


def _by_day(entries: Sequence[Entry]) -> list[Entry]:
    return sorted((e for e in entries if e.text), key=lambda entry: entry.day)


def _named(things: Sequence[Thing]) -> list[Thing]:
    """One of each name: what was noted last stays, in the place of the first."""
    return list({thing.name: thing for thing in things if thing.name}.values())


def _once(actions: Sequence[Action]) -> list[Action]:
    return list({action.text: action for action in actions if action.text}.values())


Things = Annotated[list[Thing], AfterValidator(_named)]


class Notes(_Part):
    """A structured summary, version 1 of its form; every text is one line.

    Entries stand in the order of their days. The descriptions are what the model is told of a
    field. Raises ValidationError for a gist that is blank.
    """

    schema_version: Literal[1] = 1
    gist: Annotated[Line, Field(min_length=1)] = Field(
        description="All of it in one short sentence."
    )
    current_task: Line = Field(
        "", description="What the user and the assistant are busy with at the end, or empty."
    )
    instructions: Lines = Field(
        [],
        description="Preferences, constraints and standing instructions of the user, in the user's"
        " own words, as long as they hold.",
    )
    decisions: Lines = Field([], description="What was decided, and why.")
    open_questions: Lines = Field([], description="What was asked or left open and not answered.")
    action_items: Annotated[list[Action], AfterValidator(_once)] = []
    errors: Lines = Field([], description="What went wrong, with the exact words of an error.")
    outcomes: Lines = Field([], description="How pieces of work and tool calls ended.")
    entities: Things = Field([], description="People, places and things that may come up again.")
    facts: Lines = Field(
        [],
        description="Statements with names, identifiers, codes, amounts, dates, addresses or "
        "commands, copied character by character, unless another field has them.",
    )
    artifacts: Things = Field(
        [], description="Files, records and addresses that were read or changed, and their state."
    )
    entries: Annotated[list[Entry], AfterValidator(_by_day)] = Field(
        [], description="What was said and done, in the order of time."
    )


def notes_schema() -> dict[str, Any]:
    """The JSON Schema that a model is asked to keep to; every field is required."""
    schema: dict[str, Any] = _bare(Notes.model_json_schema())
    for part in (schema, *schema["$defs"].values()):
        del part["description"]
        part["required"] = list(part["properties"])
    return schema


def _bare(value: Any) -> Any:
    """Without what the model need not read: titles that repeat the names, and defaults."""
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if k not in ("title", "default")}
    return [_bare(v) for v in value] if isinstance(value, list) else value
