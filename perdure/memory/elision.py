"""What a message shows once parts of it were elided; the message itself stays as it was said."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from perdure.memory.blocks import Block

# What stays of a tool result: how it pairs with its call, and how that ended.
_PAIRING = ("type", "tool_use_id", "is_error")


class Elision(BaseModel):
    """The stubs of one message, by the index of the block that each replaces.

    An empty stub shows nothing: the block is told of in the message before. `tokens` is what
    the message weighs as it is shown, without its overhead, and never too little.
    """

    model_config = ConfigDict(frozen=True)

    blocks: dict[int, str]
    tokens: int


def stubbed(block: Block, stub: str) -> Block:
    """The block with a stub for its content; a tool result stays the answer to its call."""
    if block.get("type") == "tool_result":
        return {**{k: block[k] for k in _PAIRING if k in block}, "content": stub}
    return {"type": "text", "text": stub}


def shown(content: Sequence[Block], elision: Elision | None) -> list[Block]:
    """The blocks as they stand in the context."""
    if elision is None:
        return list(content)
    blocks = elision.blocks
    return [
        stubbed(block, blocks[i]) if i in blocks else block
        for i, block in enumerate(content)
        if blocks.get(i) != ""
    ]
