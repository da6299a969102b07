"""Notes as the text that stands in the context."""

from collections.abc import Sequence

from perdure.memory.extract.lines import day_of
from perdure.memory.notes.schema import MARKS, Action, Entry, Notes, Thing

TASK = "Current task: "
HEADINGS = {
    "instructions": "Standing instructions",
    "decisions": "Decisions",
    "open_questions": "Open questions",
    "action_items": "To do",
    "errors": "Errors",
    "outcomes": "Outcomes",
    "entities": "People and things",
    "facts": "Word for word",
    "artifacts": "Artifacts",
}
"""The sections in the order in which they are written, each an item a line."""
DONE, OPEN = "[x] ", "[ ] "


def written(notes: Notes) -> str:
    """The gist, the task, the sections that hold something, and the entries below date lines.

    A pure function that `read_notes` inverts. What has no date stands before the first date
    line, so that no reader takes it for something that was said on the last day.
    """
    lines = [notes.gist]
    if notes.current_task:
        lines.append(f"{TASK}{notes.current_task}")
    for name, heading in HEADINGS.items():
        if items := _items(notes, name):
            lines += [f"{heading}:", *(f"- {item}" for item in items)]
    return "\n".join([*lines, *_dated(notes.entries)])


def fields_of(notes: Notes) -> dict[str, str | list[str]]:
    """The fields as a template may show them: lists of lines, and texts."""
    sections = {name: _items(notes, name) for name in HEADINGS}
    entries = "\n".join(_dated(notes.entries))
    return {"gist": notes.gist, "current_task": notes.current_task, **sections, "entries": entries}


def prose(notes: Notes) -> str:
    """What the notes say in the form of an extractive summary: without headings and marks."""
    lines = [notes.current_task] if notes.current_task else []
    for name in HEADINGS:
        lines += [item.removeprefix(OPEN).removeprefix(DONE) for item in _items(notes, name)]
    return "\n".join([*lines, *_dated(notes.entries, marked=False)]) or notes.gist


def _items(notes: Notes, name: str) -> list[str]:
    held: Sequence[str | Action | Thing] = getattr(notes, name)
    return [_item(item) for item in held]


def _item(item: str | Action | Thing) -> str:
    if isinstance(item, Action):
        return f"{DONE if item.done else OPEN}{item.text}"
    if isinstance(item, Thing):
        return f"{item.name}: {item.note}" if item.note else item.name
    return item


def _dated(entries: Sequence[Entry], *, marked: bool = True) -> list[str]:
    lines: list[str] = []
    day = ""
    for entry in entries:
        if (on := day_of(entry.day)) != day:
            day = on
            lines.append(f"{day}:")
        mark = f" ({MARKS[entry.importance]})" if marked and entry.importance in MARKS else ""
        lines.append(f"{entry.speaker}: {entry.text}{mark}")
    return lines
