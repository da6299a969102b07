"""Thinking stays byte for byte while its tool loop is open, and leaves whole behind it."""

from perdure.memory.blocks import Block
from perdure.memory.message import Role
from perdure.memory.project import context_tokens, project
from perdure.memory.state import Memory, append
from perdure.memory.thinking import without_thinking
from tests.support.conversations import START, text_block

THINKING: Block = {"type": "thinking", "thinking": "Hm. " * 50, "signature": "c2lnbmVk"}
SILENT: Block = {"type": "thinking", "thinking": "", "signature": "b21pdHRlZA=="}
REDACTED: Block = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}


def call(id_: str) -> Block:
    return {"type": "tool_use", "id": id_, "name": "look", "input": {}}


def result(id_: str) -> Block:
    return {"type": "tool_result", "tool_use_id": id_, "content": "seen"}


def said(*turns: list[Block]) -> Memory:
    """The turns, the user's first."""
    memory = Memory()
    for number, content in enumerate(turns):
        role: Role = "assistant" if number % 2 else "user"
        memory = append(memory, role, content, START, tokens=200)
    return memory


def sent(memory: Memory) -> list[Block]:
    blocks: list[Block] = []
    for message in project(memory, "", 0).messages:
        content = message["content"]
        assert isinstance(content, list)
        blocks += content
    return blocks


ASKED, DONE = [text_block("Look!")], [text_block("I have looked.")]
LATEST = [SILENT, REDACTED, call("b")]
OPEN = said(ASKED, [THINKING, call("a")], [result("a")], LATEST, [result("b")])


def test_an_open_loop_keeps_all_of_its_thinking() -> None:
    assert without_thinking(OPEN) is OPEN
    assert [b for b in sent(OPEN) if "thinking" in b["type"]] == [THINKING, SILENT, REDACTED]


def test_an_ended_loop_keeps_none_and_the_message_stays_as_it_was_said() -> None:
    ended = append(OPEN, "assistant", [THINKING, *DONE], START, tokens=200)
    bare = without_thinking(ended)
    assert [b["type"] for b in sent(bare)] == [
        *("text", "tool_use", "tool_result", "tool_use", "tool_result", "text")
    ]
    assert bare.messages == ended.messages
    assert context_tokens(bare, 0) < context_tokens(ended, 0)
    assert without_thinking(bare) is bare


def test_what_came_before_an_open_loop_has_ended() -> None:
    memory = said(ASKED, [THINKING, *DONE], ASKED, [REDACTED, call("a")], [result("a")])
    kept = [b for b in sent(without_thinking(memory)) if "thinking" in b["type"]]
    assert kept == [REDACTED]


def test_a_loop_that_was_left_open_goes_on_with_the_next_message() -> None:
    memory = append(OPEN, "user", [text_block("And?")], START)
    assert without_thinking(memory) is memory


def test_a_message_of_nothing_but_thinking_leaves_no_empty_message() -> None:
    memory = without_thinking(said(ASKED, [THINKING], ASKED, DONE))
    roles = [m["role"] for m in project(memory, "", 0).messages]
    assert roles == ["user", "assistant"]
    assert all(m["content"] for m in project(memory, "", 0).messages)
