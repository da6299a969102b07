"""Old tool results: which there are, and the line that stands in for one."""

from collections.abc import Mapping, Sequence

from perdure.memory.blocks import Block, block_text
from perdure.memory.elide.names import names
from perdure.memory.message import Message
from perdure.memory.stored import is_stored
from perdure.memory.wire import canonical_json

# The newest results stay, tail or not: the model is likely still working with them.
KEPT = 3
# Characters of a call's input and of a result's beginning in a stub.
_SHOWN = 60


def old_results(messages: Sequence[Message]) -> list[Message]:
    """The messages with tool results, oldest first, without those that hold the newest ones."""
    holders = [m for m in messages if any(b.get("type") == "tool_result" for b in m.content)]
    newest = 0
    while holders and newest < KEPT:
        newest += sum(b.get("type") == "tool_result" for b in holders.pop().content)
    return holders


def callers(messages: Sequence[Message]) -> dict[tuple[int, str], Block]:
    """The tool call that each result answers, by the seq of the result's message and the id."""
    found: dict[tuple[int, str], Block] = {}
    waiting: dict[str, Block] = {}
    for message in messages:
        for block in message.content:
            if block.get("type") == "tool_use":
                waiting[str(block["id"])] = block
            elif block.get("type") == "tool_result":
                id_ = str(block["tool_use_id"])
                if id_ in waiting:
                    found[message.seq, id_] = waiting.pop(id_)
    return found


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def result_stub(seq: int, result: Block, call: Mapping[str, object] | None) -> str:
    """A sentence: tool, input, size, outcome, beginning, values, and where the whole is."""
    if is_stored(result):
        size, begins = int(result["stored"]["size"]), str(result["stored"]["head"])
    else:
        begins = block_text(result)
        size = len(canonical_json(result.get("content") or "").encode())
    name = "a tool" if call is None else str(call.get("name"))
    given = "" if call is None else _short(canonical_json(call.get("input") or {}))
    outcome = "failed" if result.get("is_error") else "answered"
    told = (
        f"[{name} {given} {outcome} with {size:,} bytes, left out here and whole in the record "
        f"as message {seq}; they begin: {_short(begins)}"
    )
    found = names(begins, told)
    return f"{told}; they name {', '.join(found)}]" if found else f"{told}]"
