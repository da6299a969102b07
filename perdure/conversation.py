"""`Conversation`: a durable conversation from Python."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
)

from perdure.archive import Piece
from perdure.archive.claims import unclaim
from perdure.archive.moments import Moment, moment
from perdure.contract import (
    AWAITING_APPROVAL,
    SUPERSEDE,
    TASK_QUEUE,
    ConversationConfig,
    Fork,
    Held,
    ImportReceipt,
    Receipt,
    Supersede,
    Superseded,
)
from perdure.errors import (
    ArchiveMissing,
    ConversationExists,
    ConversationNotFound,
    Refused,
)
from perdure.evaluating import Ask, evaluated
from perdure.forking import begun, check_turn, start_fork
from perdure.handle import Handle, new_id
from perdure.memory.blocks import Block, to_text
from perdure.memory.difference import Difference, difference
from perdure.memory.evaluate import Evaluation, Query
from perdure.memory.message import Message, Role
from perdure.outgoing import import_batches, user_message
from perdure.past import PAGE_ROWS, SHOWN_MESSAGES, Past, Shown, archived_past
from perdure.recall import LIMIT_TOKENS, Recalled, recall
from perdure.reply import Reply
from perdure.starting import DETAILS, start, start_with
from perdure.watching import Heard, Order, until

if TYPE_CHECKING:
    from perdure.archive import Archive

_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0
_READY_SECONDS = 10.0
# A fork may have to read and write a long past before it begins.
_READY_FORK_SECONDS = 60.0


class Conversation:
    """One conversation, which lives in Temporal and not in this object."""

    def __init__(
        self,
        client: Client,
        id: str,  # noqa: A002
        task_queue: str = TASK_QUEUE,
        archive: "Archive | None" = None,
    ) -> None:
        self.id = id
        self.resumed = False
        """Whether `open` found it ended and started it again."""
        self._archive = archive
        self._handle = Handle(client, id, task_queue)

    @classmethod
    async def open(
        cls,
        client: Client,
        id: str,  # noqa: A002
        config: ConversationConfig | None = None,
        *,
        task_queue: str = TASK_QUEUE,
        archive: "Archive | None" = None,
    ) -> Self:
        """The conversation of this id, started if it does not exist or has ended.

        One that was closed goes on with the memory that the archive has of it, and with its
        configuration unless `config` brings another. One that ended without being closed starts
        without a memory, and its `status` says so. Raises ConversationExists if it runs and a
        `config` was given, which only a start can use.
        """
        conversation = cls(client, id, task_queue=task_queue, archive=archive)
        status = await conversation._handle.status()
        if status == WorkflowExecutionStatus.RUNNING:
            if config is not None:
                raise ConversationExists(
                    f"the conversation {id!r} runs already; a configuration is for a new one"
                )
            return conversation
        conversation.resumed = status is not None
        await start(conversation._handle, config, again=conversation.resumed)
        return conversation

    @classmethod
    async def begin(
        cls,
        client: Client,
        id: str,  # noqa: A002
        content: str | list[Block],
        config: ConversationConfig | None = None,
        *,
        task_queue: str = TASK_QUEUE,
        archive: "Archive | None" = None,
    ) -> tuple[Self, Reply]:
        """A conversation started with its first message, in one call, and the reply to it.

        Nothing is started by a message that is refused. An ended one of this id starts again,
        like with `open`. Raises ConversationExists if it runs, and what `ask` raises.
        """
        conversation = cls(client, id, task_queue=task_queue, archive=archive)
        payload = await conversation._message(content, new_id(), pinned=False)
        receipt = await start_with(conversation._handle, config, payload)
        return conversation, await conversation._answer(payload, receipt)

    @classmethod
    async def get(
        cls,
        client: Client,
        id: str,  # noqa: A002
        *,
        task_queue: str = TASK_QUEUE,
        archive: "Archive | None" = None,
    ) -> Self:
        """The existing conversation of this id, running or ended.

        Raises ConversationNotFound.
        """
        conversation = cls(client, id, task_queue=task_queue, archive=archive)
        if await conversation._handle.status() is None:
            raise conversation._handle.missing()
        return conversation

    async def ready(self, seconds: float = _READY_SECONDS) -> bool:
        """Wait until the workflow knows its past, and no longer than told; gives whether it does.

        It asks the archive for an earlier life at its start; until then it seems to be new.
        """
        until = asyncio.get_running_loop().time() + seconds
        while True:
            status = await self.status()
            if status["chain"] and status["running"] != "open":
                return True
            if asyncio.get_running_loop().time() > until:
                return False
            await asyncio.sleep(_PAUSE_SECONDS)

    # Speaking

    async def send(
        self,
        content: str | list[Block],
        *,
        id: str | None = None,  # noqa: A002
        pinned: bool = False,
    ) -> str:
        """Send a user message and do not wait; gives its id. Sent twice, it counts once."""
        message_id = id or new_id()
        await self._handle.signal("user_message", await self._message(content, message_id, pinned))
        return message_id

    async def ask(
        self,
        content: str | list[Block],
        *,
        id: str | None = None,  # noqa: A002
        pinned: bool = False,
    ) -> Reply:
        """Send a user message and wait for the reply. Safe to repeat with the same id.

        When tool calls wait for an approval, they are what comes back; `approve` them, and ask
        again with the `message_id` of that Reply and the same content. Raises Refused when the
        message was not taken, TurnFailed when it has no reply.
        """
        payload = await self._message(content, id or new_id(), pinned)
        return await self._answer(payload, await self._handle.update("ask", payload, Receipt))

    async def _answer(self, payload: Any, receipt: Receipt) -> Reply:
        while receipt.stop_reason == "pending":
            receipt = await self._handle.update("ask", payload, Receipt)
        if receipt.stop_reason == AWAITING_APPROVAL:
            awaiting = (await self.status())["awaiting"]
            reply = Reply(
                turn=receipt.turn or 0,
                stop_reason=receipt.stop_reason,
                text="",
                content=[],
                awaiting=awaiting,
            )
        else:
            reply = await self.reply(receipt.turn)
        return reply.model_copy(update={"message_id": receipt.message_id})

    async def stream(
        self,
        content: str | list[Block],
        *,
        id: str | None = None,  # noqa: A002
        pinned: bool = False,
    ) -> AsyncIterator[Piece | Reply]:
        """Like `ask`: the words of the reply while they are said, and at last the Reply itself.

        A piece with `start` 0 begins another step of the turn, or begins a step again whose
        attempt was lost, as its `step` tells. What could not be heard meanwhile, without an
        archive all of it, comes as a last piece: the words of the last step are always whole.
        Leaving the loop early does not stop the turn.
        """
        payload = await self._message(content, id or new_id(), pinned)
        asking = asyncio.ensure_future(self._handle.update("ask", payload, Receipt))
        heard = Heard()
        try:
            if self._archive is not None:
                async for piece in until(asking, self._pieces(asking), payload["id"]):
                    heard.add(piece)
                    yield piece
            reply = await self._answer(payload, await asking)
            if (rest := heard.rest(reply)) is not None:
                yield rest
            yield reply
        finally:
            asking.cancel()

    async def watch(self) -> AsyncGenerator[Piece, None]:
        """What replies say, whoever has asked: the last one from its beginning, and so on for ever.

        Raises ArchiveMissing without an archive, ArchiveUnavailable when the connection is lost.
        """
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                yield piece

    async def _pieces(
        self, ended: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[Piece, None]:
        if self._archive is None:
            raise ArchiveMissing(
                "Replies are streamed through the archive, and this client has none; set "
                "PERDURE_DATABASE_URL."
            )
        order = Order()
        found = self._archive.pieces(self._handle.client.namespace, self.id, ended)
        async with aclosing(found) as pieces:
            async for piece in pieces:
                if order.takes(piece):
                    yield piece

    async def import_messages(
        self,
        messages: Sequence[Any],
        *,
        id: str | None = None,  # noqa: A002
        progress: Callable[[int], None] | None = None,
    ) -> ImportReceipt:
        """Append messages spoken elsewhere: `{"role", "content", "at"?}` each, no reply.

        All of them are checked before the first is sent. `progress` gets the number of
        messages that each batch has added. Raises Refused.
        """
        batches = await import_batches(self._handle, self._archive, messages)
        import_id = id or new_id()
        receipts = []
        for number, batch in enumerate(batches):
            payload = {"messages": batch, "id": f"{import_id}/{number}"}
            receipts.append(await self._handle.update("import_messages", payload, ImportReceipt))
            if progress is not None:
                progress(len(batch))
        return ImportReceipt(first_seq=receipts[0].first_seq, last_seq=receipts[-1].last_seq)

    async def compact(self, instructions: str | None = None) -> None:
        """Compact what stands before the newest messages, at the next turn boundary."""
        await self._handle.signal(
            "compact", {"instructions": instructions} if instructions else None
        )

    async def end_session(self) -> dict[str, Any]:
        """End a session or task and go on: compact everything, and tell what it came to.

        Gives what `sessions` will hold of it: `topic`, `goal`, `decisions`, `outcome`,
        `action_items`, `preferences`, counts and times (see `perdure.memory.session.Session`).
        """
        status = await self.status()
        await self._handle.signal("compact", {"session": True})
        pause = _PAUSE_SECONDS
        while (now := await self.status())["totals"]["sessions"] == status["totals"]["sessions"]:
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE_SECONDS, 2 * pause)
        ended: dict[str, Any] = (await self.sessions())[
            status["totals"]["sessions"] - now["totals"]["sessions"]
        ]
        return ended

    async def sessions(self) -> list[dict[str, Any]]:
        """The last sessions that ended, oldest first."""
        return await self._handle.query("sessions", None, list)

    async def interrupt(self) -> None:
        """Stop the turn in progress; what the model has said so far is kept."""
        await self._handle.signal("interrupt", None)

    async def approve(
        self,
        tool_use_id: str,
        approved: bool = True,
        *,
        note: str | None = None,
        always: bool = False,
    ) -> None:
        """Let a tool call that waits for it run, or deny it, with a note for the model.

        `always` lets later calls of the same tool run too. An answer to a call that does not
        wait is noted in `status`.
        """
        payload: dict[str, Any] = {"tool_use_id": tool_use_id, "approved": approved}
        if note is not None:
            payload["note"] = note
        if always:
            payload["always"] = True
        await self._handle.signal("approve", payload)

    async def pin(self, what: int | str) -> None:
        """Never compact a message, by its seq, or a note, by its text."""
        await self._handle.signal("pin", {"seq": what} if isinstance(what, int) else {"text": what})

    async def unpin(self, what: int | str) -> None:
        """Take a pin back: of a message, by its seq, or of a note, by its whole text.

        The message is compacted like any other from then on; one that was already is told by
        its summary alone, and a note leaves the context. What is not pinned is noted in `status`.
        """
        named = {"seq": what} if isinstance(what, int) else {"text": what}
        await self._handle.signal("pin", {**named, "pinned": False})

    async def configure(self, **changes: Any) -> ConversationConfig:
        """Change fields of the configuration; those of `policy` one by one. Raises Refused."""
        return await self._handle.update("configure", changes, ConversationConfig)

    async def supersede(self, made: Supersede) -> str:
        """Put another text in the place of an entry that stands, at the next turn boundary.

        Gives the id of the new entry. Safe to repeat. Raises Refused when the entry does not
        stand any more as it was, or the text is no gain.
        """
        payload = made.model_dump(mode="json")
        while True:
            found: dict[str, Any] = await self._handle.update(SUPERSEDE, payload, dict)
            if found.get("stop_reason") != "pending":
                return Superseded.model_validate(found).id

    async def close(self) -> dict[str, Any]:
        """End after all that was sent; gives the last session, as `end_session` does."""
        await self._handle.signal("close", None)
        result: dict[str, Any] = await self._handle.served(self._handle.workflow.result())
        return result

    async def _message(
        self, content: str | list[Block], message_id: str, pinned: bool
    ) -> dict[str, Any]:
        return await user_message(self._handle, self._archive, content, message_id, pinned=pinned)

    # Looking

    async def context(
        self, max_tokens: int | None = None, *, at: int | None = None, step: int | None = None
    ) -> dict[str, Any]:
        """What the model would be sent now: `{system, messages, tokens, sha256, turn}`.

        `at` asks for what it was sent in a turn, with `step` and `source`; see `moment`.
        """
        if at is not None:
            if max_tokens is not None:
                raise Refused("what was sent in a turn is told whole, without max_tokens")
            return (await self.moment(at, step)).as_json()
        payload = None if max_tokens is None else {"max_tokens": max_tokens}
        return await self._handle.query("context", payload, dict)

    async def moment(self, turn: int, step: int | None = None) -> Moment:
        """What a model was sent in a turn, in its last step or another, with its memory.

        Rebuilt from the archive and the workflow, and checked against the hash that was
        recorded when it was sent. Raises Refused when there was no such turn or step.
        """
        past = await self.past()
        if past.archive is None:
            raise ArchiveMissing(
                f"what {self.id} sent in turn {turn} stands in the archive of its worker; set "
                "PERDURE_DATABASE_URL"
            )
        turned = await past.turned(turn)
        if turned is None:
            raise Refused(f"{self.id}: {past.unknown(turn)}")
        return await moment(past, turned, step)

    async def diff(self, before: int, after: int) -> Difference:
        """What changed between the contexts that were sent in two turns; see `moment`."""
        was, now = await self.moment(before), await self.moment(after)
        return difference(was.memory, was.context, now.memory, now.context)

    async def fork(self, at: int, as_: str | None = None) -> "Conversation":
        """A new conversation that goes on from how a turn had left this one, which stays as it is.

        It shares the archived past and copies nothing. Its id is `as_`, by default this one's
        with the turn behind it. Raises ConversationExists when that is taken, Refused when there
        was no such turn, ConversationNotFound (without an archive Refused) when there is nobody.
        """
        if at < 1:
            raise Refused(f"there is no turn {at}; the first one is 1")
        made = Conversation(
            self._handle.client, as_ or f"{self.id}-{at}", self._handle.task_queue, self._archive
        )
        if self._archive is not None:
            await check_turn(await self.past(), at)
        wanted = Fork(conversation=self.id, turn=at)
        await start_fork(
            self._handle.client,
            wanted,
            id=made.id,
            task_queue=self._handle.task_queue,
            details=DETAILS,
        )
        await begun(made._handle.workflow, made.ready(_READY_FORK_SECONDS))
        return made

    async def context_text(self) -> str:
        """The same as readable text, without the system prompt."""
        return await self._handle.query("context_text", None, str)

    async def reply(self, turn: int | None = None) -> Reply:
        """The reply of a turn, by default the last, its big blocks as they were said.

        Raises Refused when there is none, ArchiveMissing when only the archive has it still.
        """
        payload = None if turn is None else {"turn": turn}
        try:
            found = await self._handle.query("reply", payload, dict)
        except Refused:
            past = await self.past()
            if not past.has_reply(turn):
                raise
            found = await past.reply(turn)
        if self._archive is not None:
            content = await unclaim(self._archive, found["content"])
            if content != found["content"]:
                found = {**found, "content": content, "text": to_text(content)}
        return Reply.model_validate(found)

    async def memory(self) -> dict[str, Any]:
        """Levels, ranges, token counts and pressure."""
        return await self._handle.query("memory", None, dict)

    async def compactions(
        self, before: int | None = None, *, limit: int = PAGE_ROWS
    ) -> list[dict[str, Any]]:
        """The last rows of the ledger with a number `n` under `before`, oldest first.

        Without an archive only those that the workflow keeps, and without texts that have left
        the context.
        """
        return await (await self.past()).compactions(before, limit)

    async def status(self) -> dict[str, Any]:
        """Turn, queue, running step, errors and totals."""
        return await self._handle.query("status", None, dict)

    async def transcript(
        self, first_seq: int = 0, last_seq: int | None = None, *, expand: bool = False
    ) -> AsyncIterator[Message]:
        """Every message of `first_seq..last_seq`, both included, in order.

        What was compacted comes from the archive; without one the messages begin with the first
        that the workflow still has, as its `seq` shows. `expand` puts big blocks back in full.
        """
        past = await self.past()
        async for message in past.messages(first_seq, last_seq, expand=expand):
            yield message

    async def show(self, observation_id: str, *, limit: int = SHOWN_MESSAGES) -> Shown:
        """An entry of the memory, the entries below it, and the first messages it covers.

        Raises Refused when there is no such entry.
        """
        return await (await self.past()).show(observation_id, limit=limit)

    async def recall(
        self,
        question: str,
        *,
        limit_tokens: int = LIMIT_TOKENS,
        role: Role | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        level: int = 0,
    ) -> Recalled:
        """What was said that fits a question, dated, word for word; see `perdure.recall`.

        Without an archive only in what the workflow still has.
        """
        past = await self.past()
        return await recall(
            past.archive,
            past.key,
            past.tail,
            question,
            limit_tokens=limit_tokens,
            role=role,
            since=since,
            until=until,
            level=level,
            before=past.tail_seq,
            entries=past.held.resumable.memory.observations,
        )

    async def held(self) -> Held:
        """Everything that the workflow holds at one moment."""
        return await self._handle.held()

    async def past(self) -> Past:
        """What can be read back; of a conversation that Temporal has forgotten too."""
        namespace = self._handle.client.namespace
        try:
            return Past(namespace, self.id, await self.held(), self._archive)
        except ConversationNotFound:
            past = self._archive and await archived_past(self._archive, namespace, self.id)
            if not past:
                raise
            return past

    async def evaluate(self, queries: Sequence[Query], ask: Ask | None = None) -> Evaluation:
        """Where the expected answers of some queries stand; see `perdure.evaluating.evaluated`."""
        return await evaluated(await self.past(), queries, ask)
