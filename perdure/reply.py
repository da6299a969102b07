"""`Reply`: what came of a message."""

from typing import Any

from pydantic import BaseModel

from perdure.memory.blocks import Block


class Reply(BaseModel):
    """What the model said in a turn, in its model call `step`. `text` is for people to read.

    With the stop reason `awaiting_approval` nothing was said yet: the tool calls in `awaiting`,
    `{tool_use_id, name, input, since}` each, wait to be approved.
    """

    turn: int
    step: int = 0
    stop_reason: str
    text: str
    content: list[Block]
    message_id: str = ""
    awaiting: list[dict[str, Any]] = []
