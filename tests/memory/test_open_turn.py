"""What of a turn in progress may be compacted, and what the model still sees of it."""

from perdure.memory.apply import apply
from perdure.memory.blocks import Block
from perdure.memory.elide.decide import elide
from perdure.memory.elide.shorten import shorten
from perdure.memory.groups import cuts, with_unique_ids
from perdure.memory.message import Message, Role
from perdure.memory.pinning import unpin_fault
from perdure.memory.plan import Plan, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory, append, mark, pin, unpin, unpin_passing
from tests.support.conversations import START, summary, text_block
from tests.support.tools import call

_ROLES: tuple[Role, Role] = ("user", "assistant")
POLICY = MemoryPolicy(message_budget=1_000, keep_recent=200, keep_recent_messages=0)


def step(memory: Memory, number: int, size: int = 200) -> Memory:
    """A call and its result."""
    memory = append(memory, "assistant", [call(f"c{number}")], START, tokens=10)
    result: Block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "x"}
    return append(memory, "user", [result], START, tokens=size)


def turn(steps: int, before: int = 0, size: int = 200) -> tuple[Memory, int]:
    """A turn of so many steps, and its question's number."""
    memory = Memory()
    for number in range(before):
        memory = append(memory, _ROLES[number % 2], [text_block("word " * 50)], START, tokens=100)
    question = memory.next_seq
    memory = append(memory, "user", [text_block("How many are there?")], START, tokens=10)
    for number in range(steps):
        memory = step(memory, number, size)
    return memory, question


def applied(memory: Memory, plan: Plan, open_seq: int | None) -> Memory:
    for part in plan.parts:
        memory, _ = apply(memory, part, summary(part), START, open_seq=open_seq)
    return memory


def test_what_stands_before_the_turn_goes_first() -> None:
    memory, question = turn(4, before=8)
    plan = next_compaction(memory, POLICY, open_seq=question, step_seq=memory.next_seq - 2)
    assert plan is not None
    assert plan.parts[-1].last_seq == question - 1


def test_then_its_finished_steps_and_never_its_newest() -> None:
    for size in (200, 900):
        memory, question = turn(6, size=size)
        newest = memory.next_seq - 2
        assert next_compaction(memory, POLICY, open_seq=question) is None
        plan = next_compaction(memory, POLICY, open_seq=question, step_seq=newest)
        assert plan is not None
        assert plan.parts[0].first_seq == question
        assert plan.parts[-1].last_seq <= newest - 1
        after = applied(memory, plan, question)
        assert after.messages[-2].content[0]["id"] == "c5"


def test_the_question_stays_as_long_as_the_turn() -> None:
    memory, question = turn(6)
    plan = next_compaction(memory, POLICY, open_seq=question, step_seq=memory.next_seq - 2)
    assert plan is not None
    after = applied(memory, plan, question)
    assert [(p.text, p.seq, p.passing) for p in after.pins] == [
        ("user: How many are there?", question, True)
    ]
    assert unpin_passing(after).pins == []
    # One that was pinned anyway stays for good.
    pinned = applied(mark(memory, question, pinned=True), plan, question)
    assert [p.passing for p in unpin_passing(pinned).pins] == [False]
    # A pin that is taken back meanwhile leaves it there for as long as any other question.
    back = unpin(pinned, question, open_seq=question)
    assert back.pins == after.pins
    assert unpin(pinned, question).pins == []
    # When the turn has ended meanwhile, its question is like any other message.
    assert applied(memory, plan, None).pins == []


def test_only_what_is_pinned_is_taken_back() -> None:
    memory, question = turn(6)
    plan = next_compaction(memory, POLICY, open_seq=question, step_seq=memory.next_seq - 2)
    assert plan is not None
    memory = pin(applied(memory, plan, question), "1", START, 4)
    # Neither the question, which passes by itself, nor a message that is called like a note.
    for what in (question, 1, "How many are there?"):
        assert unpin(memory, what, open_seq=question) is memory
    assert unpin_fault(memory, question) == (
        "message 0 is not pinned; take back one of these, notes by all their text: '1'"
    )
    without = unpin(memory, "1", open_seq=question)
    assert [p.seq for p in without.pins] == [question]
    assert unpin_fault(without, "1") == "'1' is not pinned; nothing is"


def test_messages_that_joined_the_turn_stay_too() -> None:
    memory, question = turn(2)
    memory = append(memory, "user", [text_block("And the lamp?")], START, tokens=10)
    for number in range(2, 6):
        memory = step(memory, number)
    plan = next_compaction(memory, POLICY, open_seq=question, step_seq=memory.next_seq - 2)
    assert plan is not None
    after = applied(memory, plan, question)
    assert [p.text for p in after.pins] == ["user: How many are there?", "user: And the lamp?"]


def test_a_question_that_has_left_the_tail_does_not_hold_it_up() -> None:
    memory, question = turn(8)
    for number in range(8, 30):
        newest = memory.next_seq - 2
        plan = next_compaction(memory, POLICY, open_seq=question, step_seq=newest)
        if plan is not None:
            memory = applied(memory, plan, question)
        memory = elide(memory, POLICY, open_seq=question, step_seq=newest)
        memory = step(memory, number)
    assert [p.seq for p in memory.pins] == [question]
    assert memory.message_tokens < 1_500


def test_of_the_turn_only_tool_results_are_elided() -> None:
    memory, question = turn(8, size=150)
    memory = append(memory, "user", [text_block("ok")], START, tokens=5)
    memory = step(memory, 8)
    lighter = elide(memory, POLICY, open_seq=question, step_seq=memory.next_seq - 2)
    assert lighter.elided
    held = {m.seq: m for m in memory.messages}
    assert all(held[seq].content[0]["type"] == "tool_result" for seq in lighter.elided)
    assert elide(memory, POLICY, open_seq=question).elided == {}


def test_results_that_do_not_fit_are_told_in_a_line_largest_first() -> None:
    sizes = (100, 9_000, 4_000, 50)
    memory = append(Memory(), "user", [text_block("Look.")], START, tokens=5)
    memory = append(memory, "assistant", [call(f"c{n}") for n in range(4)], START, tokens=40)
    given: list[Block] = [
        {"type": "tool_result", "tool_use_id": f"c{n}", "content": "word " * size}
        for n, size in enumerate(sizes)
    ]
    memory = append(memory, "user", given, START, tokens=sum(sizes))
    shorter = shorten(memory, 1, 2_000)
    assert list(shorter.elided[2].blocks) == [1]
    assert shorter.message_tokens <= memory.message_tokens - 2_000
    assert list(shorten(memory, 1, 10**6).elided[2].blocks) == [1, 2, 0, 3]
    assert shorten(memory, 1, 0) == memory


def test_an_id_is_used_once() -> None:
    content = [
        call("a"),
        call("a"),
        call("b"),
        text_block("a"),
        call("a-2"),
        {**call(""), "id": ""},
    ]
    named = with_unique_ids(content, ["b", "call"])
    assert [b["id"] for b in named if "id" in b] == ["a", "a-2", "b-2", "a-2-2", "call-2"]
    assert with_unique_ids(named, []) == named


def test_a_cut_does_not_part_what_the_server_has_paused() -> None:
    use: Block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found: Block = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    said = [
        ("user", [text_block("Search.")]),
        ("assistant", [use]),
        ("assistant", [found, text_block("Here.")]),
        ("user", [text_block("Again.")]),
        ("assistant", [use]),
        # Given up by the server: no later message can answer it.
        ("user", [text_block("Never mind.")]),
    ]
    messages = [
        Message.model_validate({"seq": n, "role": role, "content": content, "at": START})
        for n, (role, content) in enumerate(said)
    ]
    assert cuts(messages) == [0, 1, 3, 4, 6]
