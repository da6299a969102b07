"""Which facts stand beside a summary, and how they outlive many compactions."""

import json
import re
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.formats import FORMATS
from bench.identifiers import compacted, forgets
from perdure.memory.facts import SHARE, Fact, collect, guard, reserve
from perdure.memory.facts.guard import HALF, PIECE
from perdure.memory.message import Message
from perdure.memory.observation import ENTRY_OVERHEAD, Observation, body
from perdure.memory.plan import MIN_TARGET
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_text
from perdure.memory.state import Memory, append
from perdure.model.guarded import Guarded, extractively
from perdure.model.provider import SummaryCall
from perdure.model.tokens import count_blocks
from tests.support.hash_seeds import outputs

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
PLANTED = {
    "My daughter is allergic to walnuts.": "allergic to walnuts",
    "Always quote prices with tax included.": "prices with tax included",
    "My sourdough starter is called Balthazar.": "Balthazar",
    "The reservation number of the oven is KX-48213.": "KX-48213",
    "The rent of the shop is 1,150 euros a month.": "1,150 euros a month",
    "The landlord writes from m.quint@example.org.": "m.quint@example.org",
    "The lease was signed on 30 January 2026.": "30 January 2026",
    "The plans are at https://example.org/plans/7f3a.": "https://example.org/plans/7f3a",
}
FILLER = (
    "The weather has been rather grey and the walk home was long and quiet.",
    "We sat by the river for a while and watched the boats go past in the rain.",
    "There was a market in the square with cheese, old books and a brass band.",
    "I could not sleep and listened to the wind in the chimney for half the night.",
)


def count(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]|\n", text))


def said(*texts: str) -> list[Message]:
    return [
        Message(
            seq=i,
            role="user",
            content=[{"type": "text", "text": text}],
            at=START + timedelta(days=i // 4),
        )
        for i, text in enumerate(texts)
    ]


def told(*texts: str) -> list[Fact]:
    return collect(said(*texts))


def test_what_the_summary_says_is_not_repeated() -> None:
    facts = told("The order is RX-1199.", "The locker is ZQ-2200.")
    assert guard(facts, "user: The order is RX-1199.", 200, count) == [
        "1 March 2026: The locker is ZQ-2200"
    ]


def test_a_bare_value_without_its_meaning_does_not_count_as_said() -> None:
    facts = guard(told("The order of the oven is RX-1199."), "RX-1199.", 200, count)
    assert facts == ["1 March 2026: The order of the oven is RX-1199"]


def test_the_most_important_come_first() -> None:
    facts = told("The path is 40 metres long.", "I am allergic to penicillin.")
    assert guard(facts, "Nothing.", 60, count) == ["1 March 2026: I am allergic to penicillin"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=120), max_size=8), st.integers(32, 400))
def test_facts_pass_neither_their_share_nor_the_target(texts: list[str], target: int) -> None:
    facts = told(*texts, *PLANTED)
    full = "user: " + "word " * target
    lines = guard(facts, full, target, count)
    assert not lines or count(body("", lines)) <= target * SHARE // 1000
    assert reserve(facts, target, count) <= target * SHARE // 1000
    assert lines == guard(facts, full, target, count)
    short = guard(facts, "They talked.", target, count)
    assert count(body("They talked.", short)) <= target


def looked_up(number: int) -> list[Message]:
    """A call and the record of an order that came back, 16 values that nobody can guess."""
    record = {
        "order_id": f"OR-{number:04}",
        "email": f"buyer{number}@example.org",
        "due_date": f"2026-02-{1 + number:02}",
        "status": "open",
        "note": "The parcel is to be left with the neighbour when nobody opens the door. " * 12,
        "items": [f"SKU-{100 * number + place:05}" for place in range(12)],
    }
    call = {"type": "tool_use", "id": f"t{number}", "name": "get", "input": {"page": number}}
    came = {"type": "tool_result", "tool_use_id": f"t{number}", "content": json.dumps(record)}
    return [
        Message(seq=2 * number, role="assistant", content=[call], at=START),
        Message(seq=2 * number + 1, role="user", content=[came], at=START),
    ]


def values(number: int) -> list[str]:
    return [f"OR-{number:04}", *(f"SKU-{100 * number + place:05}" for place in range(12))]


def test_a_small_source_keeps_the_values_of_a_record_beyond_its_share() -> None:
    facts, source, target = collect(looked_up(3)), 330, MIN_TARGET
    content = "assistant: It was looked up."
    few = "\n".join(guard(facts, content, target, count))
    lines = guard(facts, content, target, count, source=source)
    assert sum(value in few for value in values(3)) < 8
    assert [value for value in values(3) if value not in "\n".join(lines)] == []
    assert count(body(content, lines)) + ENTRY_OVERHEAD <= source // 2


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12_000), st.integers(32, 600), st.integers(0, 200))
def test_exact_values_never_make_an_entry_of_more_than_half_its_source(
    records: int, source: int, target: int, summary: int
) -> None:
    facts = [*told(*PLANTED), *(f for n in range(records) for f in collect(looked_up(n)))]
    content = "user: " + "word " * summary
    lines = guard(facts, content, target, count, source=source)
    room = max(target * SHARE // 1000, target - count(content))
    half = source * HALF // 1000 - ENTRY_OVERHEAD - count(content)
    whole = target * SHARE // 1000 * PIECE // source
    assert not lines or count(body("", lines)) <= max(room, min(half, whole))


def test_what_can_be_put_in_other_words_gets_no_more_room_in_a_small_source() -> None:
    facts = told("The rent of the shop is 1,150 euros a month.", "I am allergic to walnuts.")
    content = "user: " + "word " * 40
    assert guard(facts, content, 32, count, source=400) == guard(facts, content, 32, count)


def test_each_value_is_told_once_before_the_assistant_repeats_one() -> None:
    repeated = Message(
        seq=9,
        role="assistant",
        content=[{"type": "text", "text": "Part SKU-00300."}],
        at=START,
    )
    facts = collect([*looked_up(3), repeated])
    tight = "\n".join(guard(facts, "They talked.", 32, count, source=228))
    assert "2026-02-04" in tight
    assert "Part SKU-00300" not in tight
    assert "Part SKU-00300" in "\n".join(guard(facts, "They talked.", 400, count))


def test_records_outlive_small_budgets() -> None:
    policy = MemoryPolicy(message_budget=600, observe_chunk=600)
    for make in (extractively, forgets):
        memory = Memory()
        for number in range(6):
            for message in looked_up(number):
                weight = count_blocks(message.content)
                memory = append(memory, message.role, message.content, START, tokens=weight)
            memory = compacted(memory, policy, make)
        memory = compacted(memory, policy, make, now=True)
        text = context_text(memory)
        assert [v for n in range(6) for v in values(n) if v not in text] == []


def test_an_entry_reads_its_facts_below_a_date_line_a_day() -> None:
    entry = Observation(
        id="L1.0-3", level=1, content="user: We talked.",
        facts=[f"1 March 2026: The {x}" for x in ("order is RX-1", "locker is ZQ-2")]
        + ["2 March 2026: X"],
        start_time=START, end_time=START, first_seq=0, last_seq=3, message_count=4,
        original_tokens=90, compressed_tokens=30, created_at=START, method="model", model="m",
        prompt_version="1", identity="",
    )  # fmt: skip
    assert entry.body == (
        "user: We talked.\nFacts:\n1 March 2026:\nThe order is RX-1\nThe locker is ZQ-2\n"
        "2 March 2026:\nX"
    )
    assert [line.partition(": ")[2] for line in guard(collect([entry]), "", 400, count)][:2] == [
        "The order is RX-1",
        "The locker is ZQ-2",
    ]


POLICY = MemoryPolicy(
    message_budget=700,
    observe_chunk=350,
    observation_budget=400,
    level_budget=500,
    target_ratio=2.5,
    reflect_ratio=1.3,
    keep_recent_messages=0,
)


def lived(make: object) -> tuple[Memory, dict[int, int]]:
    """The planted facts, then 48 turns of filler, with how often each level was made."""
    made: dict[int, int] = {}

    def counted(call: SummaryCall) -> Guarded:
        made[call.level] = made.get(call.level, 0) + 1
        return make(call)  # type: ignore[operator, no-any-return]

    memory, at = Memory(), START
    filler = [" ".join(FILLER[(n + i) % 4] for i in range(8)) for n in range(48)]
    for number, fact in enumerate(PLANTED):
        filler[3 * number] += f" {fact}"
    for text in filler:
        for role, words in (("user", text), ("assistant", FILLER[len(text) % 4])):
            at += timedelta(minutes=1)
            blocks = [{"type": "text", "text": words}]
            memory = append(memory, role, blocks, at, tokens=count(words))  # type: ignore[arg-type]
        memory = compacted(memory, POLICY, counted)
    return memory, made


def test_eight_planted_facts_outlive_every_level() -> None:
    memory, made = lived(extractively)
    assert all(made[level] >= 5 for level in (1, 2, 3))
    assert [fact for fact in PLANTED.values() if fact not in context_text(memory)] == []


def test_they_outlive_a_summariser_that_forgets_everything() -> None:
    memory, made = lived(forgets)
    assert all(made[level] >= 5 for level in (1, 2, 3))
    assert [fact for fact in PLANTED.values() if fact not in context_text(memory)] == []


def test_formats_that_nobody_listed() -> None:
    facts = told(*(planted.sentence for planted in FORMATS))
    text = "\n".join(guard(facts, "They talked.", 4_000, count))
    assert [planted.value for planted in FORMATS if planted.value not in text] == []


def test_the_same_bytes_under_three_hash_seeds() -> None:
    code = (
        "from tests.memory.facts.test_guard import *\n"
        "facts = told(*PLANTED, *FILLER, *(f.sentence for f in FORMATS))\n"
        "print(guard(facts, '', 700, count))"
    )
    seen = outputs(code)
    assert seen[0]
    assert seen == seen[:1] * 3


def test_what_was_corrected_stands_neither_in_the_summary_nor_in_the_facts() -> None:
    texts = (
        "The oven from Hallmoor comes on 12 May. We paid the deposit of 900 euros.",
        "A correction: the oven from Hallmoor comes on 19 May, not on 12 May.",
        *FILLER,
    )
    for target in (60, 90, 120):
        made = extractively(SummaryCall("offline", 1, target, said(*texts)))
        written = body(made.summary.content, made.facts)
        assert "comes on 19 May" in written
        assert "comes on 12 May" not in written
        assert "900 euros" in written


def test_a_correction_reaches_an_older_entry_when_both_are_reflected() -> None:
    def entry(seq: int, content: str) -> Observation:
        return Observation(
            id=f"L1.{seq}-{seq}", level=1, content=content, start_time=START, end_time=START,
            first_seq=seq, last_seq=seq, message_count=1, original_tokens=90,
            compressed_tokens=30, created_at=START, method="extractive", model="extractive",
            prompt_version="1", identity="",
        )  # fmt: skip

    entries = [
        entry(0, "1 March 2026:\nuser: The oven from Hallmoor comes on 12 May. It rained a lot."),
        entry(1, "3 March 2026:\nuser: The oven from Hallmoor comes on 19 May, not on 12 May."),
    ]
    made = extractively(SummaryCall("offline", 2, 60, entries))
    written = body(made.summary.content, made.facts)
    assert "3 March 2026:\nuser: The oven from Hallmoor comes on 19 May" in written
    assert "comes on 12 May." not in written
