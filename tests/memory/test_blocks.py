"""What may come in as content, as what text it reads, what it weighs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.memory.blocks import (
    IMPORT_BLOCKS,
    Block,
    ContentError,
    clean,
    countable,
    to_blocks,
    to_text,
    upper_estimate,
)
from perdure.model.tokens import count_blocks

PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 10_000},
}


def test_a_string_becomes_one_text_block() -> None:
    assert to_blocks("hello") == [{"type": "text", "text": "hello"}]


def test_blank_blocks_cache_marks_and_nulls_are_left_out() -> None:
    marked = {
        "type": "text",
        "text": "hi",
        "cache_control": {"type": "ephemeral"},
        "citations": None,
    }
    given_blocks = [{"type": "text", "text": " \n"}, marked]
    assert to_blocks(given_blocks) == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "empty"),
        ("  \n\t", "empty"),
        ([], "empty"),
        ([{"type": "text", "text": ""}], "empty"),
        (7, "not int"),
        (None, "not NoneType"),
        (["hello"], "must be an object"),
        ([{"type": "sound"}], "unknown block type 'sound'"),
        ([{"text": "hello"}], "unknown block type"),
        ([{"type": "text"}], "a text block needs 'text', a string"),
        ([{"type": "image", "source": "file"}], "an object"),
        ([{"type": "tool_result", "tool_use_id": "a"}], "unknown block type 'tool_result'"),
    ],
)
def test_content_that_is_no_message_is_refused_with_a_sentence(content: Any, sentence: str) -> None:
    with pytest.raises(ContentError, match=sentence):
        to_blocks(content)


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("x\ud83dy", "x\ufffdy"),
        ("\udc88", "\ufffd"),
        ("a\x00b", "a\ufffdb"),
        ("family 👨‍👩‍👧 stays", "family 👨‍👩‍👧 stays"),
        ({"k\x00": ["\ud800"]}, {"k\ufffd": ["\ufffd"]}),
    ],
)
def test_nul_and_lone_surrogates_are_replaced_and_their_neighbours_kept(
    dirty: Any, cleaned: Any
) -> None:
    assert clean(dirty) == cleaned


def test_a_picture_reads_as_a_note_and_weighs_little() -> None:
    text = to_text([PICTURE])
    assert text.startswith("[image: image/png, ")
    assert len(text) < 100
    assert upper_estimate([PICTURE]) < 2_000
    nested = {"type": "tool_result", "tool_use_id": "a", "content": [PICTURE]}
    assert "iVBORw0KGgo" not in to_text([nested]) + countable([nested])[0]
    assert upper_estimate([nested]) < 2_000


def test_tool_calls_and_results_read_as_text_and_thinking_does_not() -> None:
    blocks: list[Block] = [
        {"type": "thinking", "thinking": "hidden", "signature": "s"},
        {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "sky"}},
        {"type": "tool_result", "tool_use_id": "a", "content": "blue"},
        {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True},
    ]
    assert to_text(blocks) == '[calls look {"at":"sky"}]\n[result: blue]\n[error: no]'


def test_every_known_block_type_can_be_read() -> None:
    for kind in IMPORT_BLOCKS:
        assert isinstance(to_text([{"type": kind}]), str)


@given(st.text(max_size=500))
def test_the_estimate_of_any_text_is_at_least_half_the_count(text: str) -> None:
    blocks = [{"type": "text", "text": clean(text)}]
    assert upper_estimate(blocks) >= count_blocks(blocks) // 2


@pytest.mark.parametrize(
    "text", ["hello world " * 50, "数据压缩 " * 50, "สวัสดีครับ" * 50, "مرحبا " * 50]
)
def test_the_estimate_is_no_lower_than_the_count_in_any_script(text: str) -> None:
    blocks = [{"type": "text", "text": text}]
    assert upper_estimate(blocks) >= count_blocks(blocks)


def test_what_only_the_provider_can_read_is_not_part_of_a_text() -> None:
    page = {"type": "web_search_result", "title": "Ovens", "encrypted_content": "EqgfCioI" * 500}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [page]}
    assert to_text([found]) == (
        '[web_search_tool_result: {"content":[{"title":"Ovens","type":"web_search_result"}],'
        '"tool_use_id":"s","type":"web_search_tool_result"}]'
    )
