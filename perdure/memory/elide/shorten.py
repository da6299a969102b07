"""The last resort for results that do not fit the window: the largest are told in a line."""

from perdure.memory.blocks import upper_estimate
from perdure.memory.elide.decide import Stubs
from perdure.memory.elide.results import callers, result_stub
from perdure.memory.elision import elision
from perdure.memory.state import Memory


def shorten(memory: Memory, from_seq: int, surplus: int) -> Memory:
    """The memory with tool results from `from_seq` on elided, largest first, to save `surplus`.

    `surplus` is in tokens. Everything that can go does when it is not enough.
    """
    held = {m.seq: m for m in memory.messages if m.seq >= from_seq and not m.failed}
    called = callers(memory.messages)
    sizes = [
        (upper_estimate([block]), seq, i)
        for seq, message in held.items()
        for i, block in enumerate(message.content)
        if block.get("type") == "tool_result"
    ]
    stubs: dict[int, Stubs] = {}
    elided = dict(memory.elided)
    saved = 0
    for _, seq, i in sorted(sizes, key=lambda size: (-size[0], size[1:])):
        if saved >= surplus:
            break
        block = held[seq].content[i]
        stub = result_stub(seq, block, called.get((seq, str(block["tool_use_id"]))))
        stubs[seq] = {**stubs.get(seq, {}), i: stub}
        elided[seq] = elision(held[seq], stubs[seq])
        shorter = memory.model_copy(update={"elided": elided})
        saved = memory.message_tokens - shorter.message_tokens
    return memory.model_copy(update={"elided": {seq: elided[seq] for seq in sorted(elided)}})
