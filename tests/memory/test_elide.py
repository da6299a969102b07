"""Light elision: what is told in a line, what never is, and how rarely the context changes."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.memory.apply import apply
from perdure.memory.blocks import Block
from perdure.memory.elide.decide import GOAL, elide, is_due
from perdure.memory.elide.results import result_stub
from perdure.memory.message import Role
from perdure.memory.plan import kept_from, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_text, context_tokens, project
from perdure.memory.sources import source_hash
from perdure.memory.state import Memory, append, check, mark, with_counts
from perdure.memory.stored import reference
from tests.support.conversations import (
    EXCHANGES,
    POLICIES,
    START,
    Said,
    say,
    spoken,
    summary,
    text_block,
)
from tests.support.requests import violations

POLICY = MemoryPolicy(message_budget=2_000, light_at=0.7)
LONG = " ".join(f"word{n} of a passage that is told here." for n in range(40))


def looked(memory: Memory, page: int, size: int = 1_500, *, error: bool = False) -> Memory:
    """A call and its result, with a reply."""
    result: Block = {
        "type": "tool_result",
        "tool_use_id": f"c{page}",
        "content": f"page {page}: " + chr(97 + page % 26) * size,
    }
    if error:
        result["is_error"] = True
    call = {"type": "tool_use", "id": f"c{page}", "name": "look", "input": {"page": page}}
    for role, content in (
        ("user", [text_block(f"look at {page}")]),
        ("assistant", [call]),
        ("user", [result]),
        ("assistant", [text_block(f"seen {page}")]),
    ):
        memory = append(memory, "user" if role == "user" else "assistant", content, START)
    return memory


def filled(memory: Memory, tokens: int = 3_000) -> Memory:
    """With enough behind it that nothing of it belongs to the newest messages."""
    for number in range(tokens // 300):
        text = f"{number} " + " ".join(f"{number}-{i}" for i in range(90))
        memory = append(memory, ("user", "assistant")[number % 2], [text_block(text)], START)
    return memory


def stubs(memory: Memory) -> dict[int, list[str]]:
    return {seq: list(elision.blocks.values()) for seq, elision in memory.elided.items()}


def test_nothing_is_elided_below_the_threshold_or_with_the_policy_off() -> None:
    memory = looked(looked(Memory(), 1, 500), 2, 500)
    assert elide(memory, POLICY) is memory
    off = POLICY.model_copy(update={"enabled": False})
    full = filled(looked(Memory(), 1))
    assert elide(full, off) is full


def test_an_old_tool_result_is_told_by_tool_size_outcome_and_number() -> None:
    memory = Memory()
    for page in range(8):
        memory = looked(memory, page, error=page == 1)
    after = elide(memory, POLICY)
    assert list(after.elided) == sorted(after.elided)
    assert next(iter(after.elided)) == 2
    (stub,) = stubs(after)[2]
    assert stub.startswith('[look {"page":0} answered with 1,510 bytes, left out here')
    assert "as message 2;" in stub
    assert "page 0: aaa" in stub
    assert "\n" not in stub
    assert "failed" in stubs(after)[6][0]
    results = [
        block
        for message in project(after, "s", 1).messages
        for block in message["content"]  # type: ignore[attr-defined]
        if block["type"] == "tool_result"
    ]
    assert [r["tool_use_id"] for r in results] == [f"c{page}" for page in range(8)]
    assert [r.get("is_error") for r in results].count(True) == 1
    # The newest results stay whole.
    assert all("left out" not in r["content"] for r in results[-3:])


def test_a_stub_names_what_a_later_call_may_need() -> None:
    record = {
        "user_id": "mia_li_3668",
        "address1": "975 Elm Street",
        "flights": [{"flight_number": "HAT136", "date": "2024-05-20"}],
        "file": "/srv/bread/rye.py",
        "note": "crust " * 200,
    }
    stub = result_stub(2, {"type": "tool_result", "content": json.dumps(record)}, None)
    assert stub.endswith("; they name HAT136, 2024-05-20, /srv/bread/rye.py]")
    assert "mia_li_3668" in stub
    many = " ".join(f"lot-{number}" for number in range(1_000))
    assert len(result_stub(2, {"type": "tool_result", "content": many}, None)) < 500


def test_only_as_much_is_elided_as_brings_the_messages_to_the_goal() -> None:
    memory = Memory()
    for page in range(12):
        memory = looked(memory, page, 500)
    policy = POLICY.model_copy(update={"message_budget": memory.message_tokens * 10 // 8})
    after = elide(memory, policy)
    goal = GOAL * policy.light_at * policy.message_budget
    assert after.message_tokens <= goal
    *_, last = after.elided
    fewer = after.model_copy(
        update={"elided": {s: e for s, e in after.elided.items() if s != last}}
    )
    assert fewer.message_tokens > goal
    assert list(after.elided) == [2 + 4 * i for i in range(len(after.elided))]


def test_a_stored_result_keeps_its_size_and_its_pairing() -> None:
    whole: Block = {"type": "tool_result", "tool_use_id": "big", "content": "z" * 90_000}
    call = {"type": "tool_use", "id": "big", "name": "read", "input": {"path": "/log"}}
    memory = spoken(("user", "read"), ("assistant", [call]))
    memory = append(memory, "user", [reference(whole, "ab" * 32, 90_052)], START)
    for page in range(4):
        memory = looked(memory, page)
    after = elide(memory, POLICY)
    assert '[read {"path":"/log"} answered with 90,052 bytes' in stubs(after)[2][0]
    assert "stored" not in json.dumps(project(after, "s", 1).messages)


def test_the_same_text_is_told_by_pointing_at_the_newest_copy() -> None:
    memory = filled(
        spoken(("user", LONG), ("assistant", "yes"), ("user", LONG), ("assistant", "a"))
    )
    after = elide(memory, POLICY)
    assert stubs(after)[0] == ["[message 0 said the same as message 2]"]
    assert json.dumps(project(after, "s", 1).messages).count("word17 of") == 1


def test_what_the_user_said_is_not_told_by_what_a_tool_or_the_assistant_repeats() -> None:
    memory = filled(spoken(("user", LONG), ("assistant", LONG), ("user", "a"), ("assistant", "b")))
    assert 0 not in elide(memory, POLICY).elided


def test_a_near_copy_keeps_what_only_it_says() -> None:
    older = LONG.replace("word7 of", "wordless of") + "\nNever mention prices."
    memory = filled(
        spoken(("user", older), ("assistant", "yes"), ("user", LONG), ("assistant", "a"))
    )
    (stub,) = stubs(elide(memory, POLICY))[0]
    assert stub.startswith("[message 0 said 9")
    assert (
        "only in message 0: wordless of a passage that is told here.\nNever mention prices." in stub
    )
    assert "word8 of" not in stub


def test_a_near_copy_of_a_result_keeps_the_values_that_only_it_has() -> None:
    def order(number: str, date: str) -> str:
        lines = [f"line {n} of a delivery that goes to the same door" for n in range(40)]
        return json.dumps({"order": number, "due": date, "lines": lines})

    memory = Memory()
    for number, date in (("OR-1177", "2026-04-02"), ("OR-2288", "2026-05-09")):
        call = {"type": "tool_use", "id": number, "name": "get", "input": {"n": len(number)}}
        came = {"type": "tool_result", "tool_use_id": number, "content": order(number, date)}
        memory = append(memory, "user", [text_block("Which one?")], START)
        memory = append(memory, "assistant", [call], START)
        memory = append(memory, "user", [came], START)
        memory = append(memory, "assistant", [text_block("This one.")], START)
    (stub,) = stubs(elide(filled(memory), POLICY))[2]
    assert stub.endswith("the same as message 6; only it names OR-1177, 2026-04-02]")


def test_what_differs_too_much_stays() -> None:
    other = " ".join(f"term{n} of a passage that is told here." for n in range(40))
    memory = filled(
        spoken(("user", other), ("assistant", "yes"), ("user", LONG), ("assistant", "a"))
    )
    assert 0 not in elide(memory, POLICY).elided


def test_debug_output_is_left_out_and_what_the_user_wrote_around_it_stays() -> None:
    log = "\n".join(f"2026-03-01 09:00:{n:02} DEBUG pool: slot {n} idle" for n in range(30))
    memory = filled(
        spoken(("user", f"Why is this slow?\n{log}\nDo not restart it."), ("assistant", "a"))
    )
    (text,) = stubs(elide(memory, POLICY))[0]
    assert text.split("\n") == [
        "Why is this slow?",
        "[30 lines of debug output left out; the record has message 0]",
        "Do not restart it.",
    ]


THANKS: Sequence[tuple[Role, str]] = [
    ("user", "Great, thank you so much!"),
    ("assistant", "You're welcome! Glad to help."),
    ("user", "Perfect. Thanks a lot!"),
    ("assistant", "No problem. Anytime!"),
]


def test_a_run_of_acknowledgements_becomes_one_line() -> None:
    memory = filled(spoken(("user", "hello"), ("assistant", "hi"), *THANKS))
    after = elide(memory, POLICY)
    assert stubs(after) == {
        2: ["[messages 2 to 5: acknowledged]"],
        3: [""],
        4: [""],
        5: [""],
    }
    context = project(after, "s", 1)
    assert violations({"system": "s", "messages": context.messages}) == []
    assert "thank you" not in context_text(after)


def test_an_answer_to_a_question_is_no_acknowledgement() -> None:
    memory = filled(spoken(("user", "hello"), ("assistant", "Shall I delete them?"), *THANKS))
    assert 2 not in elide(memory, POLICY).elided


def test_pinned_messages_and_the_newest_ones_stay() -> None:
    memory = Memory()
    for page in range(8):
        memory = looked(memory, page)
    memory = mark(memory, 2, pinned=True)
    after = elide(memory, POLICY)
    assert 2 not in after.elided
    kept = kept_from(memory.messages, POLICY, len(memory.messages))
    assert all(seq < memory.messages[kept].seq for seq in after.elided)
    assert 6 not in elide(memory, POLICY, open_seq=5).elided


def test_pinning_an_elided_message_brings_it_back() -> None:
    memory = Memory()
    for page in range(8):
        memory = looked(memory, page)
    after = elide(memory, POLICY)
    assert 2 in after.elided
    back = mark(after, 2, pinned=True)
    assert "a" * 1_500 in json.dumps(project(back, "s", 1).messages)


def test_text_beside_signed_thinking_is_left_alone() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "x"}
    said = [thinking, text_block(LONG)]
    memory = filled(spoken(("user", "a"), ("assistant", said), ("user", "b"), ("assistant", LONG)))
    assert 1 not in elide(memory, POLICY).elided


def test_observing_reads_the_originals() -> None:
    memory = Memory()
    for page in range(8):
        memory = looked(memory, page)
    plan = next_compaction(memory, POLICY, now=True)
    light = elide(memory, POLICY)
    assert plan is not None
    for part in plan.parts:
        assert source_hash(memory, part) == source_hash(light, part)
    lighter_plan = next_compaction(light, POLICY, now=True)
    assert lighter_plan is not None
    part = lighter_plan.parts[0]
    # What is aimed for is a share of what the context holds, not of what was once said.
    assert part.source_tokens < plan.parts[0].source_tokens
    after, entry = apply(light, part, summary(part), START)
    assert entry.original_tokens == sum(m.weight for m in light.messages[: part.last_seq + 1])
    assert all(seq > part.last_seq for seq in after.elided)
    check(after)


def test_a_batch_is_followed_by_a_pause() -> None:
    """The provider's cache breaks once for many elisions, not at every turn."""
    memory, decided, largest = Memory(), 0, 0
    for page in range(60):
        memory = looked(memory, page, 300)
        after = elide(memory, POLICY)
        decided += after is not memory
        memory = with_counts(after, {m.seq: 60 for m in after.messages})
        largest = max(largest, memory.message_tokens)
        if largest > POLICY.message_budget:
            break
    assert 1 <= decided <= 10


def test_a_batch_that_finds_nothing_is_not_tried_again_at_once() -> None:
    memory = filled(Memory(), 2_000)
    after = elide(memory, POLICY)
    assert after.elided == {}
    assert not is_due(after, POLICY)
    assert is_due(filled(after, 600), POLICY)


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_elided_messages_are_carried_along(role: Role) -> None:
    memory = filled(spoken((role, LONG), ("assistant", "yes"), (role, LONG), ("assistant", "a")))
    after = elide(memory, POLICY)
    assert after.elided
    again = Memory.model_validate_json(after.model_dump_json())
    assert again == after
    assert project(again, "s", 1).sha256 == project(after, "s", 1).sha256


@given(st.lists(EXCHANGES, min_size=1, max_size=20), POLICIES)
@settings(max_examples=40, deadline=None)
def test_an_elided_context_is_a_request_that_weighs_less(
    conversation: list[Said], policy: MemoryPolicy
) -> None:
    memory = Memory()
    for number, said in enumerate(conversation):
        memory = say(memory, said, number)
    memory = append(memory, "user", [text_block("and?")], START)
    light = elide(memory, policy)
    check(light)
    context = project(light, "s", 1)
    assert context.tokens == context_tokens(light, 1) <= context_tokens(memory, 1)
    assert violations({"system": "s", "messages": context.messages}) == []
    assert light.messages == memory.messages
