"""What changes a context beside messages and compactions, as numbered events.

With the messages and the compactions they are the whole story of a memory: whoever has all
three can tell what a model was sent at any time.
"""

from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, model_serializer
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from perdure.memory.elision import Elision
from perdure.memory.state import Pin


class Sent(NamedTuple):
    """A context that a model was sent, by projection `version`; `sha256` is its hash.

    It was made of the messages before `seq`, the compactions before `row` and the events
    before `event`.
    """

    step: int
    sha256: str
    seq: int
    row: int
    event: int
    tokens: int
    version: int


class TurnEnd(BaseModel):
    """A turn that has ended, well or not, with the messages before `seq` and what it had sent."""

    model_config = ConfigDict(frozen=True)

    turn: int
    seq: int
    sent: list[Sent] = []
    calibration: int = 1_000


class Event(BaseModel):
    """The `n`th change, made when the compactions before `row` had been taken in.

    One of these: `config` holds from here on, as JSON; a message is `pinned` or `failed`, which
    shows it whole again; a note is `noted`; a pin is `taken_back`, that of a message by its number
    and a note by its text; messages are `elided`, until `light_from` tokens no more of them;
    messages are `passing` that the next compaction takes or whose pin is taken back next, pinned
    until all such are `unpinned`; a turn has `turned`, which changes nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    row: int
    config: dict[str, Any] | None = None
    pinned: int | None = None
    failed: int | None = None
    noted: Pin | None = None
    taken_back: int | str | None = None
    elided: dict[int, Elision] | None = None
    light_from: int | None = None
    passing: list[int] | None = None
    unpinned: bool | None = None
    turned: TurnEnd | None = None

    @model_serializer(mode="wrap")
    def _without_nulls(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {k: v for k, v in written.items() if v is not None}
