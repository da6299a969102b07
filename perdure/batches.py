"""An import on its way: all of it checked, then cut into batches that Temporal can carry."""

from collections.abc import Sequence
from typing import Any

from perdure.contract import ImportedMessage
from perdure.entrance import parse_imported, size_of, time_fault
from perdure.errors import Refused
from perdure.memory.blocks import ContentError
from perdure.memory.groups import cuts, pairing_fault

# A batch stands in the history and, until it is taken in, in the workflow state.
BATCH_BYTES = 400_000
BATCH_MESSAGES = 400


def parse_import(messages: Sequence[Any], *, stored: bool) -> list[ImportedMessage]:
    """The messages of an import, checked and clean.

    `stored` says that big blocks are going to be stored, so that any size is possible. Raises
    Refused, naming the message, if any of them cannot be taken.
    """
    parsed = []
    for number, message in enumerate(messages, start=1):
        try:
            parsed.append(parse_imported(message, stored=stored))
        except ContentError as error:
            raise Refused(f"message {number}: {error}") from None
    if not parsed:
        raise Refused("there are no messages to import")
    if fault := pairing_fault(parsed) or time_fault(parsed):
        raise Refused(fault)
    return parsed


def split_import(messages: Sequence[ImportedMessage]) -> list[list[dict[str, Any]]]:
    """The batches of an import, each a payload's messages, with tool calls kept together."""
    batches: list[list[dict[str, Any]]] = [[]]
    size = start = 0
    for cut in cuts(messages)[1:]:
        group = messages[start:cut]
        weight = sum(size_of(m.content) for m in group)
        if batches[-1] and (
            size + weight > BATCH_BYTES or len(batches[-1]) + len(group) > BATCH_MESSAGES
        ):
            batches.append([])
            size = 0
        batches[-1] += [m.model_dump(mode="json") for m in group]
        size, start = size + weight, cut
    return batches
