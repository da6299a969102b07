"""Big blocks into the archive and back: the claim check."""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perdure.memory.blocks import Block
from perdure.memory.stored import big_blocks, expanded, hashes, reference
from perdure.memory.wire import canonical_json, without_nulls

if TYPE_CHECKING:
    from perdure.archive.archive import Archive

JSON = "application/json"


async def claim(
    archive: "Archive", namespace: str, conversation: str, content: Sequence[Block]
) -> list[Block]:
    """`content` with its big blocks stored and replaced by their references."""
    claimed = list(content)
    for i in big_blocks(content):
        data = _written(content[i]).encode()
        blob = await archive.put_blob(namespace, conversation, data, JSON)
        claimed[i] = reference(content[i], blob.sha256, len(data))
    return claimed


def _written(block: Block) -> str:
    """Canonical JSON, but for the nulls among a call's arguments, which mean something."""
    if block.get("type") != "tool_use":
        return canonical_json(block)
    whole = {**without_nulls(block), "input": block.get("input")}
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


async def originals(
    archive: "Archive", contents: Sequence[Sequence[Block]], *, full: bool = False
) -> dict[str, Block]:
    """The blocks that references in `contents` stand for, by hash; unknown ones are missing.

    With `full` only those that are shown whole to the model.
    """
    found: dict[str, Block] = {}
    for sha256 in hashes(contents, full=full):
        blob = await archive.get_blob(sha256)
        if blob is not None and hashlib.sha256(blob.data).hexdigest() == sha256:
            found[sha256] = json.loads(blob.data)
    return found


async def whole(archive: "Archive", contents: Sequence[Sequence[Block]]) -> list[list[Block]]:
    """`contents` as a model is shown them: stored blocks put back, or head and tail if too long."""
    found = await originals(archive, contents, full=True)
    return [expanded(content, found) for content in contents]


async def unclaim(archive: "Archive", content: Sequence[Block]) -> list[Block]:
    """`content` with every reference replaced by the original that it stands for."""
    return expanded(content, await originals(archive, [content]))
