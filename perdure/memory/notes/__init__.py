"""Structured summaries: their fields, how they are written, read back and merged."""

from perdure.memory.notes.merge import merged, settled
from perdure.memory.notes.read import read_notes
from perdure.memory.notes.schema import Action, Entry, Notes, Thing
from perdure.memory.notes.write import fields_of, prose, written

__all__ = [
    "Action",
    "Entry",
    "Notes",
    "Thing",
    "fields_of",
    "merged",
    "prose",
    "read_notes",
    "settled",
    "written",
]
