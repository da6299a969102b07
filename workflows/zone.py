"""The time zone of a conversation: looked up by an activity, so that a replay finds the same."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from perdure.contract import ZONE, ZoneFound, ZoneRef
from perdure.memory.blocks import ContentError
from perdure.memory.zone import UTC_ZONE, Zone
from workflows.failure import reason
from workflows.state import ConversationState

_ATTEMPT = timedelta(seconds=10)
_RETRIES = RetryPolicy(maximum_attempts=3)
# How long days are those of UTC when the zone cannot be looked up.
_AGAIN = timedelta(hours=1)


def is_known(state: ConversationState, name: str) -> bool:
    """Whether the table of a zone is at hand and not old."""
    return state.zone.name == name and workflow.now() < state.zone.until


async def look_up(name: str) -> Zone:
    """The table of a zone. Raises ContentError if there is none of that name, ActivityError."""
    if name == UTC_ZONE.name:
        return UTC_ZONE
    found: ZoneFound = await workflow.execute_activity(
        ZONE,
        ZoneRef(name=name, at=workflow.now()),
        result_type=ZoneFound,
        start_to_close_timeout=_ATTEMPT,
        retry_policy=_RETRIES,
        summary=name,
    )
    if found.zone is None:
        raise ContentError(
            found.fault or f"policy timezone: no time zones are known here, so not {name!r}"
        )
    return found.zone


async def know_zone(state: ConversationState) -> None:
    """Have the table of the policy's zone; where that cannot be had, days are those of UTC."""
    name = state.config.policy.timezone
    if is_known(state, name):
        return
    until = workflow.now() + _AGAIN
    try:
        state.zone = await look_up(name)
    except ContentError as error:
        state.note(workflow.now(), f"{error}; days are those of UTC")
        state.zone = UTC_ZONE.model_copy(update={"name": name})
    except ActivityError as error:
        state.note(workflow.now(), f"days are those of UTC for now: {reason(error)}")
        state.zone = UTC_ZONE.model_copy(update={"name": name, "until": until})
