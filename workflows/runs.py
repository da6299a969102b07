"""How long a run may get before the workflow is continued as new."""

from temporalio import workflow

from workflows.state import ConversationState

# A run ends long before the server's limits (51,200 events, 50 MB, 2,000 updates), so that
# a worker without the run in its cache replays little. Continuing stores the state twice,
# so a big state waits for a longer history: that is why the server's own suggestion, which
# comes at 4,096 events, is not followed.
FEWEST_EVENTS, MOST_EVENTS = 4_000, 20_000
STATE_BYTES_PER_EVENT = 4
RUN_BYTES = 20_000_000
# Temporal takes no payload over 2 MB. A step of many results can bring the state there for a
# while; the compaction that is due then makes it smaller.
CARRIED_BYTES = 1_900_000
# Queued messages are carried too; more than this is served before the run is continued.
CARRIED_QUEUE_BYTES = 500_000


def is_long(state: ConversationState, steps_here: int) -> bool:
    """Whether this run, which has taken so many steps, should end at this boundary."""
    info, config = workflow.info(), state.config
    if sum(len(str(q.content)) for q in state.inbox) > CARRIED_QUEUE_BYTES:
        return False
    if any(c.kind in ("import", "close") for c in state.controls):
        return False
    events, size = info.get_current_history_length(), info.get_current_history_size()
    asked = config.turns_per_run is not None and steps_here >= config.turns_per_run
    if not (asked or events > FEWEST_EVENTS or size > RUN_BYTES):
        return False
    state_bytes = len(state.model_dump_json().encode())
    due = size > RUN_BYTES or events > min(MOST_EVENTS, state_bytes // STATE_BYTES_PER_EVENT)
    return (asked or due) and state_bytes < CARRIED_BYTES
