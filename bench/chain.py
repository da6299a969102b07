"""What a workflow costs in history, over all the runs that continue each other."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from perdure.replay import fetch_chain


@dataclass(frozen=True)
class Extent:
    """The size of one run's history, as the server counts it."""

    run_id: str
    bytes: int
    events: int


async def extent(client: Client, id: str, run_id: str | None = None) -> Extent:  # noqa: A002
    """Of the given run, or of the last one."""
    description = await client.get_workflow_handle(id, run_id=run_id).describe()
    info = description.raw_description.workflow_execution_info
    return Extent(description.run_id, info.history_size_bytes, info.history_length)


@dataclass(frozen=True)
class Growth:
    """What was added to a chain since a moment; `started` counts the runs that began since."""

    bytes: int
    events: list[HistoryEvent]
    started: int


async def growth(client: Client, id: str, since: Extent) -> Growth:  # noqa: A002
    """What the chain holds beyond `since`; the run it names must still be kept."""
    histories, _ = await fetch_chain(client, id)
    run_ids = [
        h.events[0].workflow_execution_started_event_attributes.original_execution_run_id
        for h in histories
    ]
    first = run_ids.index(since.run_id)
    events = [e for e in histories[first].events if e.event_id > since.events]
    total = -since.bytes
    for history, run_id in zip(histories[first:], run_ids[first:], strict=True):
        total += (await extent(client, id, run_id)).bytes
        events += history.events if run_id != since.run_id else []
    return Growth(total, events, len(run_ids) - first - 1)


def by_type(events: list[HistoryEvent]) -> Iterator[tuple[str, int, int]]:
    """Type, number and bytes of events, the dearest first."""
    numbers: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for event in events:
        name = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_").lower()
        numbers[name] += 1
        sizes[name] += event.ByteSize()
    for name, size in sizes.most_common():
        yield name, numbers[name], size
