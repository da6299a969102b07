"""The artifact trail: which record a tool was asked about, what was done last, what came back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perdure.memory.blocks import Block, block_text
from perdure.memory.extract.lines import CALLED
from perdure.memory.facts.fact import IMPORTANCE, Kind
from perdure.memory.facts.shapes import identifiers, shaped

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
RESULTS = ("tool_result", "mcp_tool_result")
LISTING = 8
"""Records in a result from which on it is a listing even inside one record."""
LONG = 120
"""Characters from which on a value is a text: only the identifiers in it count."""
VALUES = 6
"""Identifiers taken from one long text that a tool was given."""
ASIDE = {Kind.IDENTIFIER: 900, Kind.ADDRESS: 900, Kind.DATE: 750, Kind.NAMING: 740}
"""Rank of what a tool was told, by the shape of the value; the rest has that of a detail."""
FOUND = 680
"""Thousandths of the same rank for what came back."""
SEEN = 450
"""The same for an address that came back: few of them are used."""
UNUSED = 850
"""What is left of that for what came back, if no tool was told it later and nobody spoke of it."""
_IDLIKE = re.compile(
    r"(?:^|_)(?:ids?|number|no|code|ref(?:erence)?|e?mail|phone|url|path|file|name|status|state|date"
    r"|dob|birth\w*|origin|destination|sku|key|sha|branch|version|title|version|amount|total|zip)$",
    re.IGNORECASE,
)
_STATE = re.compile(r"(?:^|_)(?:status|state|stage|phase)$", re.IGNORECASE)
_NAMED = re.compile(r"((?:gave )?[a-z]\w*) (.+)")
GAVE = "gave "
_NAME = re.compile(r"(?:[A-Z][\w'’-]*)(?: [A-Z][\w'’-]*){0,3}")


@dataclass
class Record:
    """What tools did to one thing: the last tool, and values by the name of their field."""

    tool: str
    day: str
    place: int
    told: dict[str, list[str]] = field(default_factory=dict)
    found: dict[str, list[str]] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Noted:
    """One value of a record as a fact."""

    text: str
    values: tuple[str, ...]
    record: Record
    rank: int


class Trail:
    """Gathers calls and results; the same thing touched again keeps one record."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._open: dict[str, Record] = {}
        self._told: dict[str, None] = {}
        self._found: dict[str, None] = {}
        self._heard: list[str] = []

    def call(self, block: Block, day: str, place: int) -> None:
        """Takes in a call."""
        tool = str(block.get("name") or "")
        leaves = list(_leaves(block.get("input"), ""))
        record = self.records.setdefault(_subject(tool, leaves), Record(tool, day, place))
        record.tool, record.day, record.place, record.fault = tool, day, place, ""
        for key, value in leaves:
            _note(self._told, record.told, key, value)
        self._open[str(block.get("id"))] = record

    def result(self, block: Block) -> None:
        """Takes in what came back; a listing of many records is left out."""
        record = self._open.get(str(block.get("tool_use_id")))
        if record is None:
            return
        text = block_text(block).strip()
        if block.get("is_error") or re.match(r"(?:error|traceback)\b", text, re.IGNORECASE):
            record.fault = " ".join(text.split())[:80]
            return
        for key, value in _single(text):
            _note(self._found, record.found, key, value)

    def hear(self, text: str) -> None:
        """Takes in what was said, to tell what came back and was spoken of from what was not."""
        self._heard.append(text)

    def lines(self) -> Iterator[Noted]:
        """Every value as a fact of its own, to be chosen one by one and written together."""
        said = "\n".join(self._heard)
        for record in self.records.values():
            told = list(_pairs(record.told))
            for key, value in told:
                text, values = stated(record.tool, told, key, value)
                yield Noted(text, values, record, rank_of(key, value))
            for key, value in _pairs(record.found):
                if value in self._told:
                    continue
                name = GAVE + key
                used = value in said or is_state(key)
                rank = rank_of(name, value) * (1000 if used else UNUSED) // 1000
                text, values = stated(record.tool, told, name, value)
                yield Noted(text, values, record, rank)
            if record.fault:
                text = written(record.tool, [("error", record.fault)])
                yield Noted(text, (record.fault,), record, IMPORTANCE[Kind.RECORD])


def is_state(key: str) -> bool:
    """Whether a field says how a thing stands: only its newest value counts."""
    return bool(_STATE.search(key.removeprefix(GAVE)))


def stated(
    tool: str, told: Sequence[tuple[str, str]], key: str, value: str
) -> tuple[str, tuple[str, ...]]:
    """The text and values of a fact; a state stands with what the tool was told first."""
    if is_state(key) and told and told[0] != (key, value):
        return written(tool, [told[0], (key, value)]), (value, told[0][1])
    return written(tool, [(key, value)]), (value,)


def _note(seen: dict[str, None], fields: dict[str, list[str]], key: str, value: str) -> None:
    if is_state(key):
        fields[key] = [value]
    elif value not in seen:
        seen[value] = None
        fields.setdefault(key or "value", []).append(value)


def _pairs(fields: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    return ((key, value) for key, group in fields.items() for value in group)


def written(tool: str, pairs: Sequence[tuple[str, str]]) -> str:
    """`called tool: key value, value, gave key value, key value`.

    A key is written where it changes, and "gave" once, before all that came back.
    """
    said, last = [], ""
    for key, value in pairs:
        name = key.removeprefix(GAVE) if last.startswith(GAVE) else key
        said.append(value if key == last else f"{name} {value}".strip())
        last = key
    return f"called {tool}: {', '.join(said)}"


def noted(text: str) -> tuple[str, list[tuple[str, str]]] | None:
    """Tool, and keys with values, of a fact that `written` made; None for any other text."""
    found = CALLED.match(text)
    if not found:
        return None
    pairs: list[tuple[str, str]] = []
    key = ""
    for piece in text[found.end() :].split(", "):
        named = _NAMED.match(piece)
        gave = GAVE if key.startswith(GAVE) else ""
        key, value = (gave + named[1].removeprefix(GAVE), named[2]) if named else (key, piece)
        if named and named[1].startswith(GAVE):
            key = named[1]
        pairs.append((key, value))
    return found[1], pairs


def rank_of(key: str, value: str) -> int:
    """The rank of a value by its shape, and by whether the tool was told it or gave it."""
    shape = _shape(value) or (Kind.RECORD if is_state(key) else Kind.DETAIL)
    share = 1000
    if key.startswith(GAVE):
        share = SEEN if shape is Kind.ADDRESS else FOUND
    return ASIDE.get(shape, IMPORTANCE[shape]) * share // 1000


def _shape(value: str) -> Kind | None:
    found = shaped(value)
    if found and found[0].kind in ASIDE:
        return found[0].kind
    return Kind.NAMING if _NAME.fullmatch(value) else None


def _subject(tool: str, leaves: Sequence[tuple[str, str]]) -> str:
    """What a call is about: its first path, address or identifier, else the tool itself."""
    for _, value in leaves:
        for found in shaped(value):
            if found.kind in (Kind.IDENTIFIER, Kind.ADDRESS):
                return found.text
    return f"{tool}()"


def _leaves(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, key)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, str) and (len(value) > LONG or "\n" in value):
        yield from ((key, name) for name in list(dict.fromkeys(identifiers(value)))[:VALUES])
    elif str(value).strip():
        yield key, str(value).strip()


def _single(text: str) -> Iterator[tuple[str, str]]:
    """The telling fields of a result that is one record, or the identifiers of a short text."""
    try:
        data = json.loads(text)
    except ValueError:
        if len(text) <= LONG * 2:
            yield from (("", name) for name in dict.fromkeys(identifiers(text)))
        return
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    if isinstance(data, Mapping) and not _is_listing(data):
        yield from ((k, v) for k, v in _fields(data, "") if len(v) <= LONG)


def _is_listing(data: Mapping[str, Any]) -> bool:
    lists = [
        v for v in data.values() if isinstance(v, list) and len(v) > 1 and isinstance(v[0], Mapping)
    ]
    scalars = [v for v in data.values() if not isinstance(v, list | Mapping)]
    return any(len(v) > LISTING for v in lists) or (len(lists) == 1 and len(scalars) < 3)


def _fields(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _fields(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner, key)
    elif isinstance(value, str) and value.strip() and _is_telling(key, value):
        yield key, value.strip()


def _is_telling(key: str, value: str) -> bool:
    return bool(_IDLIKE.search(key)) or next(identifiers(value), None) is not None
