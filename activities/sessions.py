"""What is told of a session at its end."""

from temporalio import activity

from activities.heartbeat import heartbeating
from activities.material import fetch
from perdure.contract import SESSION, SessionRef
from perdure.memory.session import Told, told_in
from perdure.model.pool import Pool


class Sessions:
    """The activity `session`; it needs no model, since the session's entries were made by one."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @activity.defn(name=SESSION)
    async def session(self, ref: SessionRef) -> Told:
        """Topic, goal, decisions, outcome, what is to be done, and preferences."""
        async with heartbeating():
            found = await fetch(ref)
            return await self._pool.run(told_in, found["texts"], found["made"])
