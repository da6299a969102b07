"""One call of a tool."""

import hashlib
import json
import traceback
from collections.abc import Mapping
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeat import heartbeating
from activities.material import fetch
from activities.own import Own
from perdure.archive import Archive
from perdure.archive.claims import claim
from perdure.contract import CALL_TOOL, INLINE_BYTES, CallRef, ToolResult
from perdure.entrance import size_of
from perdure.errors import ArchiveError
from perdure.memory.blocks import Block, clean, to_text
from perdure.memory.stored import HEAD_CHARS, TAIL_CHARS, is_stored
from perdure.model.pool import Pool
from perdure.model.tokens import count_blocks
from perdure.tools import Tool, ToolContext, ToolError
from perdure.tools.output import OutputError, to_content
from perdure.tools.registry import Offered, no_such_tool
from perdure.tools.signature import ArgumentError

# Of an exception that nobody wrote for a model to read.
_ERROR_CHARS = 500


class CallingTools:
    """The activity `call_tool`; `tools` are those of the worker."""

    def __init__(self, tools: Mapping[str, Offered], pool: Pool, archive: Archive) -> None:
        self._tools = tools
        self._archive = archive
        self._pool = pool

    @activity.defn(name=CALL_TOOL)
    async def call_tool(self, ref: CallRef) -> ToolResult:
        """Carry out the call that `ref` names; what the model should read is the result.

        So is an unknown name, a wrong argument, a ToolError, and output that is not JSON. Any
        other exception of the tool fails the attempt with one sentence, to be tried again.
        """
        async with heartbeating():
            return await self._called(ref, await fetch(ref))

    async def _called(self, ref: CallRef, found: dict[str, Any] | None) -> ToolResult:
        if found is None:
            raise ApplicationError("the turn of this call is over", non_retryable=True)
        called = self._tools.get(found["name"])
        if not isinstance(called, Tool):
            return await self._error(ref, no_such_tool(found["name"], self._tools))
        try:
            arguments = called.arguments(await self._input(found))
            context = self._context(ref, found["chain"])
            content = to_content(await called.call(arguments, context))
        except ArgumentError as error:
            return await self._error(ref, f"{called.name} was not called: {error}")
        except ToolError as error:
            return await self._error(ref, str(error) or f"{called.name} failed")
        except OutputError as error:
            return await self._error(ref, f"{called.name} ended, but {error}")
        # The worker must not be ended by a tool that calls `sys.exit`.
        except (Exception, SystemExit) as error:
            # Its words may hold what no log can be written with.
            told = clean(traceback.format_exc())
            activity.logger.warning("tool %s failed\n%s", called.name, told)
            said = str(clean(" ".join(f"{type(error).__name__}: {error}".split())))
            raise ApplicationError(
                f"{called.name} failed with {said[:_ERROR_CHARS]}", type=type(error).__name__
            ) from None
        return await self._result(ref, content)

    async def _input(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, out of the archive if they were too big for the state."""
        if "stored" not in found:
            return dict(found.get("input") or {})
        blob = await self._archive.get_blob(found["stored"]["sha256"])
        if blob is None:
            raise ArgumentError("its arguments were stored, and the archive has lost them")
        return dict(json.loads(blob.data).get("input") or {})

    def _context(self, ref: CallRef, chain: str) -> ToolContext:
        info = activity.info()
        own = Own(info.namespace, info.workflow_id or "", self._archive)
        # With the chain: a new life of a conversation makes calls of its own.
        key = json.dumps([own.namespace, own.id, chain, ref.turn, ref.step, ref.tool_use_id])
        return ToolContext(
            conversation=own,
            turn=ref.turn,
            tool_use_id=ref.tool_use_id,
            idempotency_key=hashlib.sha256(key.encode()).hexdigest()[:32],
            attempt=info.attempt,
        )

    async def _error(self, ref: CallRef, text: str) -> ToolResult:
        return await self._result(ref, [{"type": "text", "text": clean(text)}], is_error=True)

    async def _result(
        self, ref: CallRef, content: list[Block], *, is_error: bool = False
    ) -> ToolResult:
        whole: Block = {"type": "tool_result", "tool_use_id": ref.tool_use_id, "content": content}
        if is_error:
            whole["is_error"] = True
        info = activity.info()
        try:
            (kept,) = await claim(self._archive, info.namespace, info.workflow_id or "", [whole])
        except ArchiveError:
            # The tool has done its work: to call it again for the sake of its words is worse.
            kept = whole if size_of([whole]) <= INLINE_BYTES else _shortened(whole)
        shown_whole = is_stored(kept) and kept["stored"]["full"]
        return ToolResult(
            content=[kept] if is_stored(kept) else kept["content"],
            is_error=is_error,
            tokens=await self._pool.run(count_blocks, [whole if shown_whole else kept]),
        )


def _shortened(result: Block) -> Block:
    """A result by head and tail, since the archive is away and the whole does not fit the state."""
    text = to_text(result["content"])
    notice = (
        f"[left out here: the rest of {size_of([result]):,} bytes, "
        "which are lost, since the archive did not answer]"
    )
    shown = "\n".join([text[:HEAD_CHARS], notice, text[HEAD_CHARS:][-TAIL_CHARS:]])
    return {**result, "content": [{"type": "text", "text": shown}]}
