"""What the workflow has archived: nothing leaves it before its original is safe."""

from collections.abc import Iterator
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from perdure.contract import (
    ARCHIVE,
    ARCHIVE_CONFLICT,
    CLAIM,
    INLINE_BYTES,
    OPEN,
    REFUSED,
    ArchiveRef,
    Claimed,
    ClaimRef,
    ConversationConfig,
    Fork,
    Marks,
    OpenRef,
    OpenResult,
    Parent,
)
from perdure.entrance import size_of
from perdure.memory.blocks import Block, ContentError
from perdure.memory.plan import Plan
from perdure.memory.state import unpin_passing
from perdure.memory.stored import big_blocks
from workflows.calls import without_open_calls
from workflows.failure import kind, reason, refusal
from workflows.heartbeat import HEARTBEAT
from workflows.state import ConversationState, SessionStart

_ATTEMPT = timedelta(seconds=30)
# A fork may have to read and write a long past.
_OPENING = timedelta(minutes=5)
# A database that is down is noticed within seconds; the workflow then tries again later.
_RETRIES = RetryPolicy(maximum_attempts=2)
_LONGEST_PAUSE_SECONDS = 10


def _pauses() -> Iterator[timedelta]:
    seconds = 1
    while True:
        yield timedelta(seconds=seconds)
        seconds = min(_LONGEST_PAUSE_SECONDS, 2 * seconds)


def leaving(state: ConversationState, plan: Plan) -> Marks:
    """The marks up to which must be archived before the sources of `plan` may leave."""
    observed = [part.last_seq + 1 for part in plan.parts if part.level == 1]
    now = state.archivable
    return now.model_copy(update={"seq": max([state.archived.seq, *observed])})


async def archive(state: ConversationState, end: Marks, *, closing: bool = False) -> None:
    """Have everything up to `end` archived. Raises ActivityError."""
    await workflow.execute_activity(
        ARCHIVE,
        ArchiveRef(
            chain=state.chain, start=state.archived, end=end, parent=state.parent, closing=closing
        ),
        start_to_close_timeout=_ATTEMPT,
        retry_policy=_RETRIES,
        summary=f"before message {end.seq}",
    )


def archive_fault(state: ConversationState, error: BaseException) -> str:
    """Why archiving failed. After a conflict the conversation goes on as another chain.

    A conflict means that this history was reset: what it archives from here on shares the
    other chain's past, and leaves what that one did afterwards as it is.
    """
    if not isinstance(error, ActivityError):
        return "it was cancelled"
    if kind(error) == ARCHIVE_CONFLICT:
        state.parent = Parent(chain=state.chain, until=state.archived)
        state.chain = str(workflow.uuid4())
    return f"the originals could not be archived: {reason(error)}"


async def archive_at_last(state: ConversationState) -> None:
    """Archive everything and close the chain, however long the database is away."""
    for pause in _pauses():
        end = state.archivable
        try:
            await archive(state, end, closing=True)
        except ActivityError as error:
            state.note(workflow.now(), f"closing waits: {archive_fault(state, error)}")
            await workflow.sleep(pause)
        else:
            state.archived, state.parent = end, None
            return


async def claimed(accepted: str, contents: list[list[Block]]) -> list[list[Block]]:
    """`contents`, accepted under an id, with their big blocks stored in the archive.

    With the archive away they stay as they are, if they are small enough for that. Raises
    ContentError if not.
    """
    if not any(big_blocks(content) for content in contents):
        return contents
    try:
        result: Claimed = await workflow.execute_activity(
            CLAIM,
            ClaimRef(accepted=accepted),
            result_type=Claimed,
            start_to_close_timeout=_ATTEMPT,
            retry_policy=_RETRIES,
            summary=f"big blocks of {accepted}",
        )
    except ActivityError as error:
        if sum(size_of(content) for content in contents) <= INLINE_BYTES:
            return contents
        raise ContentError(
            f"it is too big to be kept without the archive: {reason(error)}; send it again later"
        ) from error
    return result.contents


async def open_chain(state: ConversationState, fork: Fork | None) -> None:
    """Go on from what `fork` names, or from the closed conversation of this id, if there is one.

    Waits for the database: a conversation that has a past must not start without it. Raises
    ApplicationError, which ends the workflow, when there is nothing to fork like that.
    """
    # Not the run's own id, which a reset changes: what was archived stays this chain's.
    state.chain = workflow.info().first_execution_run_id
    for pause in _pauses():
        try:
            opened: OpenResult = await workflow.execute_activity(
                OPEN,
                OpenRef(chain=state.chain, fork=fork),
                result_type=OpenResult,
                start_to_close_timeout=_OPENING,
                heartbeat_timeout=HEARTBEAT,
                retry_policy=_RETRIES,
                summary="look for an earlier life",
            )
            break
        except ActivityError as error:
            if kind(error) == REFUSED:
                raise refusal(reason(error)) from error
            state.note(workflow.now(), f"starting waits for the archive: {reason(error)}")
            await workflow.sleep(pause)
    if opened.note is not None:
        state.note(workflow.now(), opened.note)
    if (before := opened.resumed) is not None:
        unpinned = unpin_passing(before.memory)
        state.memory, state.turns = without_open_calls(unpinned, workflow.now()), before.turns
        state.totals.compactions = before.rows
        state.totals.reply_usage = before.reply_usage
        state.totals.compaction_usage = before.compaction_usage
        state.calibration = before.calibration
        state.archived = before.marks
        if unpinned is not before.memory:
            state.record(unpinned=True)
        state.session = SessionStart(
            seq=before.memory.next_seq,
            turn=before.turns,
            row=before.rows,
            tokens=before.memory.raw_tokens,
        )
        if before.config is not None and state.config == ConversationConfig():
            state.config = before.config
    if state.config != ((before and before.config) or ConversationConfig()):
        state.record(config=state.config.model_dump(mode="json", exclude_defaults=True))
