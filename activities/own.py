"""What a tool can do with the conversation that called it."""

import re
from dataclasses import dataclass

from temporalio import activity

from activities.material import fetch
from perdure.archive import Archive
from perdure.contract import ConversationConfig, Held, HeldRef
from perdure.entrance import parse_pin
from perdure.errors import ArchiveUnavailable, PerdureError
from perdure.memory.blocks import ContentError, upper_estimate
from perdure.memory.pinning import pin_fault
from perdure.past import Past
from perdure.recall import recall
from perdure.tools import ToolError

# About 2,000 tokens: what is read again stays in every later request.
EXPAND_CHARS = 8_000
_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


@dataclass(frozen=True)
class Own:
    """The conversation of the activity in progress; see `OwnConversation`."""

    namespace: str
    id: str
    archive: Archive

    async def pin(self, text: str) -> None:
        """Never compact `text`. Repeated, it changes nothing. Raises ToolError."""
        try:
            pinned = str(parse_pin({"text": text}).what)
        except ContentError as error:
            raise ToolError(str(error)) from None
        known = Held.model_validate(await fetch(HeldRef())).resumable
        policy = (known.config or ConversationConfig()).policy.calibrated(known.calibration)
        tokens = upper_estimate([{"type": "text", "text": pinned}])
        if fault := pin_fault(known.memory, policy, tokens, pinned):
            raise ToolError(fault)
        handle = activity.client().get_workflow_handle(self.id)
        await handle.signal("pin", {"text": pinned})

    async def recall(self, question: str) -> str:
        """Excerpts from before the messages that the model sees anyway."""
        past = await self._past()
        if past.tail_seq == 0:
            return "Nothing has left the context yet: all that was said stands in it."
        key, before = past.key, past.tail_seq
        return (await recall(self.archive, key, [], question, before=before)).text

    async def expand(self, what: str) -> str:
        """The messages behind an entry or of a range, a line for each. Raises ToolError."""
        past = await self._past()
        end = past.held.resumable.memory.next_seq
        try:
            first, last = await self._range(past, what)
            if first >= end:
                raise ToolError(f"the messages are numbered 0 to {end - 1}")
            return await _lines(past, first, min(last, end - 1))
        except ArchiveUnavailable:
            raise
        except PerdureError as error:
            raise ToolError(str(error)) from None

    async def _past(self) -> Past:
        held = Held.model_validate(await fetch(HeldRef()))
        return Past(self.namespace, self.id, held, self.archive)

    async def _range(self, past: Past, what: str) -> tuple[int, int]:
        if found := _RANGE.fullmatch(what):
            first = int(found[1])
            return first, int(found[2] or first)
        entry = await past.entry(what.strip())
        if entry is None:
            raise ToolError(
                f"there is no summary {what[:60]!r}; give the id of one, or messages, like 12-20"
            )
        return entry.first_seq, entry.last_seq


async def _lines(past: Past, first: int, last: int) -> str:
    lines: list[str] = []
    room = EXPAND_CHARS
    async for message in past.messages(first, last):
        line = f"{message.seq} {message.role}, {message.at:%Y-%m-%d %H:%M}: {message.text}"
        if lines and len(line) > room:
            lines.append(f"[ask for {message.seq}-{last} to read on]")
            break
        if len(line) > room:
            line = f"{line[:room]} [... {len(line) - room:,} characters are left out]"
        lines.append(line)
        room -= len(line)
    return "\n".join(lines) or "there are no such messages"
