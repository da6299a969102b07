"""A new conversation that goes on from a turn of another, whose past it shares."""

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.material import read
from perdure.archive import Archive, Batch, ChainKey
from perdure.archive.moments import Archived, memory_before, moment, no_such_turn
from perdure.contract import (
    REFUSED,
    ConversationConfig,
    Fork,
    Held,
    HeldRef,
    Marks,
    OpenResult,
    Resumed,
)
from perdure.errors import ArchiveUnavailable, PerdureError, Refused
from perdure.memory.event import Event


async def share(archive: Archive, parent: ChainKey, child: ChainKey, until: Marks) -> None:
    """Make `child` a chain with the past of `parent` before some marks; repeated, it is the same.

    Raises ArchiveConflict when it has another parent.
    """
    await archive.fork(
        parent,
        child,
        until_seq=until.seq - 1,
        until_turn=until.turn - 1,
        until_row=until.row - 1,
        until_event=until.event - 1,
    )


async def forked(archive: Archive, key: ChainKey, fork: Fork) -> OpenResult:
    """What the chain `key` begins with; tried again, it begins with the same.

    What the other conversation has not archived of that past yet is archived for it, under its
    own numbers, where it will find it. Fails for good with the type `Refused`.
    """
    try:
        return await _forked(archive, key, fork)
    except ArchiveUnavailable:
        raise
    except PerdureError as error:
        raise ApplicationError(
            f"{fork.conversation} cannot be forked at turn {fork.turn}: {error}",
            type=REFUSED,
            non_retryable=True,
        ) from error


async def _forked(archive: Archive, key: ChainKey, fork: Fork) -> OpenResult:
    others = await archive.chains(key.namespace, key.conversation)
    if any(chain.key != key for chain in others) or fork.conversation == key.conversation:
        raise Refused(f"there is a conversation {key.conversation!r} already; choose another id")
    source, turned = await _whole_source(archive, key, fork)
    ended = turned.turned
    assert ended is not None
    records = Archived(archive, source)
    if ended.sent:
        # Shows that the records are right, before anything goes on from them.
        await moment(records, turned)
    memory, config = await memory_before(records, ended.seq, turned.row, turned.n + 1)
    resumed = Resumed(
        memory=memory,
        turns=ended.turn,
        rows=turned.row,
        events=turned.n + 1,
        config=ConversationConfig.model_validate(config),
        calibration=ended.calibration,
    )
    await share(archive, source, key, resumed.marks)
    return OpenResult(resumed=resumed)


async def _whole_source(archive: Archive, key: ChainKey, fork: Fork) -> tuple[ChainKey, Event]:
    """The chain to be shared, all of it up to the turn in the archive, and the turn's end."""
    held = await _held(fork.conversation)
    if held is None:
        latest = await archive.latest_chain(key.namespace, fork.conversation)
        if latest is None:
            raise Refused("there is no such conversation")
        turned = await archive.turned(latest.key, fork.turn)
        if turned is None:
            raise Refused("the archive does not know that turn")
        return latest.key, turned
    own = ChainKey(key.namespace, fork.conversation, held.chain)
    if held.parent is not None:
        parent = ChainKey(key.namespace, fork.conversation, held.parent.chain)
        await share(archive, parent, own, held.parent.until)
    waiting = (e for e in held.events if e.turned and e.turned.turn == fork.turn)
    turned = next(waiting, None)
    if turned is None:
        turned = await archive.turned(own, fork.turn)
        # After a reset the archive may know another future than the workflow's.
        if turned is None or turned.n >= held.archived.event:
            raise Refused(no_such_turn(held, fork.turn))
    await archive.save(_missing(own, held, turned))
    return own, turned


def _missing(own: ChainKey, held: Held, turned: Event) -> Batch:
    rows = [row for row in held.ledger if held.archived.row <= row.n < turned.row]
    seq, turn = (turned.turned.seq, turned.turned.turn) if turned.turned else (0, 0)
    return Batch(
        own,
        messages=[m for m in held.resumable.memory.messages if m.seq < seq],
        observations=[row.observation for row in rows],
        ledger={row.n: row for row in rows},
        replies={r["turn"]: r for r in held.replies if held.archived.turn <= r["turn"] <= turn},
        events=[e for e in held.events if e.n <= turned.n],
    )


async def _held(conversation: str) -> Held | None:
    """What a workflow holds; none when Temporal does not know it any more."""
    handle = activity.client().get_workflow_handle(conversation)
    found = None
    while found is None:
        try:
            found = await read(handle, HeldRef())
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return None
            raise
    return Held.model_validate(found)
