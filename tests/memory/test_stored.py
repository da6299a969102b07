"""References to blocks in the archive, and back."""

from perdure.memory.blocks import Block
from perdure.memory.stored import cut, expanded, reference
from perdure.memory.wire import canonical_json, sha256


def stored(block: Block) -> Block:
    return reference(block, sha256(block), len(canonical_json(block)))


def test_an_original_takes_the_id_that_its_reference_has_by_now() -> None:
    used: Block = {
        "type": "tool_use",
        "id": "a",
        "name": "measure",
        "input": {"text": "x" * 40_000},
    }
    told: Block = {"type": "tool_result", "tool_use_id": "a", "content": "y" * 40_000}
    originals = {sha256(block): block for block in (used, told)}
    assert expanded([stored(used), stored(told)], originals) == [used, told]
    renamed = [{**stored(used), "id": "b"}, {**stored(told), "tool_use_id": "b"}]
    assert expanded(renamed, originals) == [{**used, "id": "b"}, {**told, "tool_use_id": "b"}]


def test_an_original_gets_no_field_from_a_forged_reference() -> None:
    said: Block = {"type": "text", "text": "z" * 40_000}
    forged = {**stored(said), "id": "b"}
    assert expanded([forged], {sha256(said): said}) == [said]


def test_without_its_original_a_reference_is_shown_by_head_and_tail() -> None:
    block = stored({"type": "tool_result", "tool_use_id": "a", "content": "y" * 40_000})
    assert expanded([block], {}) == [cut(block)]
    assert "left out here" in str(cut(block)["content"])
