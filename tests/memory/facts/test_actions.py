"""What tools were told, as lines of an extract."""

from datetime import UTC, datetime
from typing import Any

from perdure.memory.facts.actions import SOME, actions
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.model.guarded import extractively
from perdure.model.provider import SummaryCall

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def calling(*given: tuple[str, dict[str, Any]]) -> list[Message]:
    """A message for each call, and one for its empty result."""
    messages = []
    for number, (name, arguments) in enumerate(given):
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
        came = {"type": "tool_result", "tool_use_id": f"t{number}", "content": ""}
        messages += [
            Message(seq=2 * number, role="assistant", content=[call], at=START),
            Message(seq=2 * number + 1, role="user", content=[came], at=START),
        ]
    return messages


def test_a_record_has_one_line_and_stands_where_it_was_touched_last() -> None:
    assert actions(
        calling(
            ("read", {"path": "src/app/main.py", "lines": "1-40"}),
            ("edit", {"path": "src/app/main.py", "new": "version 2.1.0"}),
        )
    ) == {2: ["called edit: path src/app/main.py, lines 1-40, new version 2.1.0"]}


def test_records_of_one_field_share_a_line_a_tool() -> None:
    assert actions(calling(*(("get", {"id": f"order_{n}"}) for n in range(3)))) == {
        0: ["called get: id order_0, order_1, order_2"]
    }


def test_a_line_holds_the_strongest_values_of_a_call_with_many() -> None:
    many = {f"note_{n}": f"word{chr(97 + n)}" for n in range(SOME)}
    (line,) = actions(calling(("book", {**many, "payment": "card_9921"})))[0]
    assert "payment card_9921" in line
    assert line.count(",") == SOME - 1


def test_texts_and_bare_sums_are_left_out() -> None:
    assert actions(calling(("think", {"thought": "well " * 40}))) == {}
    assert actions(calling(("calculate", {"expression": "1000 + 2000 + 3000 * 4"}))) == {}


def test_calls_go_on_through_reflections() -> None:
    """A line about a call is chosen like a sentence, and read back as one from an entry."""
    messages = calling(("cancel", {"reservation": "QX7R2M", "reason": "strike"}))
    talk = "We spoke at length about the weather over the lake and about the boats. " * 12
    spoken = Message(seq=2, role="user", content=[{"type": "text", "text": talk}], at=START)
    made = extractively(SummaryCall("offline", 1, 80, [*messages, spoken]))
    assert "called cancel: reservation QX7R2M, reason strike" in made.summary.content.splitlines()
    entry = Observation(
        id="L1.0-2", level=1, content=made.summary.content, facts=made.facts, start_time=START,
        end_time=START, first_seq=0, last_seq=2, message_count=3, original_tokens=300,
        compressed_tokens=made.tokens, created_at=START, method="extractive", model="extractive",
        prompt_version="1", identity="",
    )  # fmt: skip
    again = extractively(SummaryCall("offline", 2, 40, [entry]))
    assert "QX7R2M" in "\n".join([again.summary.content, *again.facts])
