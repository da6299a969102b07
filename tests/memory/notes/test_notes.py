"""Structured summaries: a text that can be read back, and rules for what stays."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from perdure.memory.notes import Action, Entry, Notes, Thing, merged, prose, read_notes, settled
from perdure.memory.notes import written as text_of
from perdure.memory.notes.schema import notes_schema
from tests.support.hash_seeds import outputs

NOTES = Notes(
    gist="A bakery is planned.",
    current_task="Sign the lease.",
    instructions=["Always quote prices with tax."],
    decisions=["Rent the shop, since it has a chimney."],
    open_questions=["Is the oven rebuilt?"],
    action_items=[Action(text="Call Piotr."), Action(text="Measure the door.", done=True)],
    errors=["HTTP 404: no such listing"],
    outcomes=["The search found one shop."],
    entities=[Thing(name="Clementine", note="the rye starter"), Thing(name="Piotr")],
    facts=["The reservation is HM-48213."],
    artifacts=[Thing(name="https://example.org/plan", note="read twice")],
    entries=[
        Entry(day=date(2026, 3, 2), speaker="assistant", text="It is booked.", importance=1),
        Entry(day=date(2026, 3, 1), speaker="user", text="I am allergic to nuts.", importance=3),
        Entry(day=date(2026, 3, 1), speaker="user", text="It rains."),
    ],
)
TEXT = """\
A bakery is planned.
Current task: Sign the lease.
Standing instructions:
- Always quote prices with tax.
Decisions:
- Rent the shop, since it has a chimney.
Open questions:
- Is the oven rebuilt?
To do:
- [ ] Call Piotr.
- [x] Measure the door.
Errors:
- HTTP 404: no such listing
Outcomes:
- The search found one shop.
People and things:
- Clementine: the rye starter
- Piotr
Word for word:
- The reservation is HM-48213.
Artifacts:
- https://example.org/plan: read twice
1 March 2026:
user: I am allergic to nuts. (important)
user: It rains.
2 March 2026:
assistant: It is booked. (minor)"""


def test_every_field_has_its_place_in_the_text() -> None:
    assert text_of(NOTES) == TEXT


def test_empty_sections_are_left_out() -> None:
    assert text_of(Notes(gist="They greeted each other.")) == "They greeted each other."


WORDS = st.text(max_size=12) | st.sampled_from(
    ["a: b", "a:", ": b", "- x", "[x] x", "Decisions:", "1 March 2026:", "user: x", "x (minor)",
     "Current task: x", "(important)", "Facts:", "\n", "\u2028", "x\r\ny", "::", "a:\u00a0b"]
)  # fmt: skip
THINGS = st.lists(st.builds(lambda n, t: {"name": n, "note": t}, WORDS, WORDS), max_size=3)
LINES = st.lists(WORDS, max_size=3)
ENTRIES = st.lists(
    st.builds(
        lambda day, speaker, text, weight: {
            "day": day, "speaker": speaker, "text": text, "importance": weight
        },
        st.dates(),
        st.sampled_from(["user", "assistant"]),
        WORDS,
        st.sampled_from([1, 2, 3]),
    ),
    max_size=4,
)  # fmt: skip
ACTIONS = st.lists(
    st.builds(lambda text, done: {"text": text, "done": done}, WORDS, st.booleans()), max_size=3
)
ANY = st.fixed_dictionaries(
    {
        "gist": WORDS,
        "current_task": WORDS,
        **dict.fromkeys(
            ("instructions", "decisions", "open_questions", "errors", "outcomes", "facts"), LINES
        ),
        "action_items": ACTIONS,
        "entities": THINGS,
        "artifacts": THINGS,
        "entries": ENTRIES,
    }
)


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_whatever_the_fields_hold_the_text_gives_them_back(fields: dict[str, Any]) -> None:
    """So the structure need not be kept beside the text."""
    try:
        notes = Notes.model_validate(fields)
    except ValidationError:
        assert not fields["gist"].split()
        return
    assert read_notes(text_of(notes)) == notes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 March 2026:\nuser: The cat is called Pixel.\nFacts:\nPixel is seven",
        "Goal: bread\n- no nuts",
        f"{TEXT}\n",
        f"{TEXT}\nFacts:\nThe rent is 1,150 euros",
        "They talked.\nDecisions:\n- one\nDecisions:\n- two",
        "They talked.\n31 February 2026:\nuser: Hello.",
    ],
)
def test_a_text_of_another_form_is_not_taken_for_notes(text: str) -> None:
    assert read_notes(text) is None


def test_what_is_merged_keeps_all_and_the_latest_state() -> None:
    later = Notes(
        gist="The lease is signed.",
        decisions=["Rent the shop, since it has a chimney.", "Paint it green."],
        action_items=[Action(text="Call Piotr.", done=True)],
        entities=[Thing(name="Clementine", note="eleven years old")],
        entries=[Entry(day=date(2026, 2, 1), speaker="user", text="It snowed.")],
    )
    whole = merged([NOTES, later])
    assert whole.gist == "A bakery is planned. The lease is signed."
    assert whole.current_task == "Sign the lease."
    assert whole.decisions == [*NOTES.decisions, "Paint it green."]
    assert [a.text for a in whole.action_items if not a.done] == []
    assert whole.entities == [Thing(name="Clementine", note="eleven years old"), NOTES.entities[1]]
    assert whole.entries[0].text == "It snowed."
    assert len(whole.entries) == 4


def test_of_older_notes_the_newest_task_stays_and_what_is_done_drops_out() -> None:
    made = Notes(gist="All.", current_task="Find a shop.", action_items=NOTES.action_items)
    newer = Notes(gist="b", current_task="Order flour.")
    kept = settled(made, [NOTES, newer, Notes(gist="c")])
    assert kept.current_task == "Order flour."
    assert [a.text for a in kept.action_items] == ["Call Piotr."]
    assert settled(made, []).current_task == "Find a shop."


def test_prose_leaves_out_the_frame() -> None:
    lines = prose(NOTES).split("\n")
    assert lines[0] == "Sign the lease."
    assert "Call Piotr." in lines
    assert lines[-4:] == [
        "user: I am allergic to nuts.", "user: It rains.", "2 March 2026:",
        "assistant: It is booked.",
    ]  # fmt: skip
    assert not [line for line in lines if line.startswith(("-", "Decisions"))]
    assert prose(Notes(gist="They talked.")) == "They talked."


def test_the_model_is_asked_for_every_field() -> None:
    schema = notes_schema()
    assert schema["required"] == list(Notes.model_fields)
    assert schema["$defs"]["Entry"]["required"] == ["day", "speaker", "text", "importance"]
    assert Notes.model_validate(NOTES.model_dump(mode="json")) == NOTES


def test_the_same_bytes_under_three_hash_seeds() -> None:
    code = (
        "from tests.memory.notes.test_notes import *\n"
        "print(text_of(merged([NOTES, NOTES])), notes_schema())"
    )
    seen = outputs(code)
    assert seen[0]
    assert seen == seen[:1] * 3
