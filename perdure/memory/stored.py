"""Blocks too big for the workflow: a reference stands in the state, the bytes in the archive.

A stored block keeps its type and its ids, so that calls and results still pair; the field
`stored` takes the place of everything else.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from perdure.memory.blocks import Block, to_text, upper_estimate
from perdure.memory.wire import canonical_json

# Above this a block is stored beside the history, which every replay reads in full.
STORE_BYTES = 32_000
# A stored block of more tokens, as estimated, is shown by its head and tail only.
FULL_TOKENS = 100_000
HEAD_CHARS = 2_000
TAIL_CHARS = 1_000
_IDS = ("id", "tool_use_id")
_KEPT = ("type", "name", "is_error", *_IDS)


def big_blocks(content: Sequence[Block]) -> list[int]:
    """Indices of the blocks to store: over 32,000 bytes of JSON, less where many add up."""
    sizes = [0 if is_stored(b) else len(canonical_json(b).encode()) for b in content]
    limit = STORE_BYTES if sum(sizes) <= 4 * STORE_BYTES else STORE_BYTES // 16
    return [i for i, size in enumerate(sizes) if size > limit]


def reference(block: Block, sha256: str, size: int) -> Block:
    """What stands in the state for `block`; `sha256` and `size` are of its canonical JSON.

    It weighs what the whole block is estimated to weigh, or what its head and tail weigh at
    most, when the whole is never shown.
    """
    text = to_text([block])
    tokens = upper_estimate([block])
    full = tokens <= FULL_TOKENS
    stored = {
        "sha256": sha256,
        "size": size,
        "tokens": tokens if full else (HEAD_CHARS + TAIL_CHARS) * 2,
        "full": full,
        "head": text[:HEAD_CHARS],
        "tail": text[HEAD_CHARS:][-TAIL_CHARS:],
    }
    return {**{k: block[k] for k in _KEPT if k in block}, "stored": stored}


def is_stored(block: Mapping[str, Any]) -> bool:
    """Whether a block is a reference."""
    return isinstance(block.get("stored"), Mapping)


def hashes(contents: Sequence[Sequence[Block]], *, full: bool) -> list[str]:
    """The hashes of all references, of those shown whole only with `full`, each once."""
    found = [
        str(block["stored"]["sha256"])
        for content in contents
        for block in content
        if is_stored(block) and (block["stored"]["full"] or not full)
    ]
    return list(dict.fromkeys(found))


def cut(block: Block) -> Block:
    """A reference as a block that the API takes: head, a notice of what is left out, tail."""
    text = to_text([block])
    if block["type"] == "tool_use":
        shown = {k: v for k, v in block.items() if k != "stored"}
        return {**shown, "input": {"left_out": text}}
    if block["type"] == "tool_result":
        return {**{k: v for k, v in block.items() if k != "stored"}, "content": text}
    return {"type": "text", "text": text}


def expanded(content: Sequence[Block], originals: Mapping[str, Block]) -> list[Block]:
    """`content` with each reference replaced by its original, or cut where there is none.

    The ids are those of the reference: they may have been made unique since it was stored.
    """
    return [_whole(block, originals) if is_stored(block) else block for block in content]


def _whole(block: Block, originals: Mapping[str, Block]) -> Block:
    original = originals.get(str(block["stored"]["sha256"]))
    if original is None:
        return cut(block)
    return {**original, **{k: block[k] for k in _IDS if k in block and k in original}}
