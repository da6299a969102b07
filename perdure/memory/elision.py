"""What a message shows once parts of it were elided; the message itself stays as it was said."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from perdure.memory.blocks import Block, upper_estimate
from perdure.memory.message import MESSAGE_OVERHEAD, Message

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


def elision(message: Message, stubs: dict[int, str]) -> Elision:
    """What `message` shows and weighs with stubs in the place of some of its blocks."""
    kept = [b for i, b in enumerate(message.content) if i not in stubs]
    replaced = [b for i, b in enumerate(message.content) if i in stubs]
    new = shown(
        replaced, Elision(blocks=dict(enumerate(stubs[i] for i in sorted(stubs))), tokens=0)
    )
    whole = message.weight - MESSAGE_OVERHEAD
    rest = min(whole, upper_estimate(kept)) if kept else 0
    return Elision(blocks=stubs, tokens=rest + (upper_estimate(new) if new else 0))
