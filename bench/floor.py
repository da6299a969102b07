"""Two designs to compare with: the least that an answered message costs, and the naive one.

Both keep their conversation only as far as they must, and answer with the passage of the turn.
"""

from datetime import timedelta
from typing import Any

from temporalio import activity, workflow

with workflow.unsafe.imports_passed_through():
    from bench.words import passage

TASK_QUEUE = "floor"
REPLY_LENGTH = 1_500
_TIMEOUT = timedelta(seconds=30)


def reply_of(turn: int) -> str:
    """The reply that every design gets."""
    return passage(f"reply {turn}", REPLY_LENGTH)


@activity.defn
async def answer(turn: int) -> str:
    """A model call that needs to be told nothing."""
    return reply_of(turn)


@activity.defn
async def answer_context(turn: int, messages: list[dict[str, Any]]) -> str:
    """A model call that is handed the whole context."""
    return reply_of(turn)


class _Turns:
    """Serves updates until the server suggests a new run."""

    def __init__(self) -> None:
        self._turns = 0

    async def _until_long(self) -> None:
        info = workflow.info()
        await workflow.wait_condition(
            lambda: info.is_continue_as_new_suggested() and workflow.all_handlers_finished()
        )


@workflow.defn
class Minimal(_Turns):
    """One update, one activity, nothing else."""

    @workflow.run
    async def run(self) -> None:
        """Answer until the run is long."""
        await self._until_long()
        workflow.continue_as_new()

    @workflow.update
    async def ask(self, text: str) -> int:
        """Answer; gives the turn's number."""
        self._turns += 1
        turn = self._turns
        await workflow.execute_activity(answer, turn, start_to_close_timeout=_TIMEOUT)
        return turn


@workflow.defn
class ContextAsArgument(_Turns):
    """Hands the newest `characters` of the conversation to each model call."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: list[dict[str, Any]] = []
        self._characters = 0

    @workflow.run
    async def run(self, characters: int, messages: list[dict[str, Any]]) -> None:
        """Answer until the run is long, then carry the conversation on."""
        self._characters, self._messages = characters, [*messages, *self._messages]
        await self._until_long()
        workflow.continue_as_new(args=[characters, self._messages])

    @workflow.update
    async def ask(self, text: str) -> int:
        """Answer; gives the turn's number."""
        self._turns += 1
        turn = self._turns
        self._say("user", text)
        reply = await workflow.execute_activity(
            answer_context, args=[turn, self._messages], start_to_close_timeout=_TIMEOUT
        )
        self._say("assistant", reply)
        return turn

    def _say(self, role: str, text: str) -> None:
        self._messages.append({"role": role, "content": [{"type": "text", "text": text}]})
        while sum(len(m["content"][0]["text"]) for m in self._messages) > self._characters:
            self._messages.pop(0)
