"""What tools were told, as lines that an extract may choose like any sentence."""

from collections.abc import Sequence

from perdure.memory.extract.lines import day_of
from perdure.memory.facts.tools import CALLS, RESULTS, Record, Trail, rank_of, written
from perdure.memory.message import Message

LONGEST = 60
"""Characters of a value at most; a longer one is a text, and its identifiers stand in the facts."""
SOME = 10
"""Values of a line at most."""


def actions(messages: Sequence[Message]) -> dict[int, list[str]]:
    """Lines `called NAME: key value, ...`, by the seq of the message with the last call.

    One line a record that was touched; of records with a single field each, one line a tool.
    """
    lines: dict[int, list[str]] = {}
    shared: dict[tuple[str, str], list[str]] = {}
    places: dict[tuple[str, str], int] = {}
    for record in _touched(messages):
        pairs = _telling(record)
        if len(pairs) == 1:
            group = (record.tool, pairs[0][0])
            shared.setdefault(group, []).append(pairs[0][1])
            places.setdefault(group, record.place)
        elif pairs:
            lines.setdefault(record.place, []).append(written(record.tool, _strongest(pairs)))
    for (tool, key), group_values in shared.items():
        for start in range(0, len(group_values), SOME):
            pairs = [(key, value) for value in group_values[start : start + SOME]]
            lines.setdefault(places[tool, key], []).append(written(tool, pairs))
    return lines


def _strongest(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The `SOME` of the highest rank in their order."""
    ranked = sorted(range(len(pairs)), key=lambda i: (-rank_of(*pairs[i]), i))[:SOME]
    return [pairs[i] for i in sorted(ranked)]


def _touched(messages: Sequence[Message]) -> list[Record]:
    trail = Trail()
    for message in messages:
        for block in message.content:
            kind = block.get("type")
            if kind in CALLS and "stored" not in block:
                trail.call(block, day_of(message.at), message.seq)
            elif kind in RESULTS and "stored" not in block:
                trail.result(block)
    return list(trail.records.values())


def _telling(record: Record) -> list[tuple[str, str]]:
    return [
        (key, value)
        for key, values in record.told.items()
        for value in values
        if len(value) <= LONGEST and (any(c.isalpha() for c in value) or len(value) <= SOME * 2)
    ]
