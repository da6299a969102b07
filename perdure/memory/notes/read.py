"""Notes from the text that they were written as, so that they need not be kept beside it."""

import re
from datetime import date
from typing import Any

from pydantic import ValidationError

from perdure.memory.extract.lines import MONTHS
from perdure.memory.notes.schema import MARKS, Notes
from perdure.memory.notes.write import DONE, HEADINGS, OPEN, TASK, written

_FIELDS = {f"{heading}:": name for name, heading in HEADINGS.items()}
_DAY = re.compile(rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{1,4}}):")
_ENTRY = re.compile(rf"(user|assistant): (.+?)(?: \(({'|'.join(MARKS.values())})\))?")
_IMPORTANCE = {mark: importance for importance, mark in MARKS.items()}


def read_notes(text: str) -> Notes | None:
    """The notes that `written` gave as `text`, exactly, or None for a text of another form."""
    gist, *lines = text.split("\n")
    found: dict[str, Any] = {"gist": gist, "entries": []}
    section, day = "", ""
    try:
        for line in lines:
            if opened := _day(line):
                section, day = "", opened
            elif day and (said := _ENTRY.fullmatch(line)):
                speaker, told, mark = said.groups()
                importance = _IMPORTANCE.get(mark or "", 2)
                entry = {"day": day, "speaker": speaker, "text": told, "importance": importance}
                found["entries"].append(entry)
            elif section and line.startswith("- "):
                found[section].append(_item(section, line[2:]))
            elif line in _FIELDS:
                section = _FIELDS[line]
                found[section] = []
            elif line.startswith(TASK):
                found["current_task"] = line.removeprefix(TASK)
            else:
                return None
        notes = Notes.model_validate(found)
    except ValidationError:
        return None
    # What was written otherwise is not read as if it were the same.
    return notes if written(notes) == text else None


def _day(line: str) -> str:
    found = _DAY.fullmatch(line)
    if not found:
        return ""
    number, month, year = found.groups()
    try:
        return date(int(year), MONTHS.index(month) + 1, int(number)).isoformat()
    except ValueError:
        return ""


def _item(section: str, text: str) -> Any:
    if section == "action_items":
        return {"text": text[len(OPEN) :], "done": text.startswith(DONE)}
    if section in ("entities", "artifacts"):
        name, _, note = text.partition(": ")
        return {"name": name, "note": note}
    return text
