from datetime import date

from perdure.memory.notes import Entry, Notes, written
from perdure.model.extractive import LABEL, summarise_extractively
from perdure.model.guarded import extractively
from perdure.model.provider import SummaryCall
from perdure.model.tokens import count
from tests.model.calls import MODEL, message, observation, observe_call

FILLER = "The weather was mild and we talked for a while about this and that, as one does. "


def test_observation_keeps_facts_and_dates_within_the_target() -> None:
    call = observe_call(
        message(0, f"{FILLER} I work at Hallmoor. {FILLER}"),
        message(1, "Nice.", "assistant"),
        message(2, f"{FILLER} Never mention prices. {FILLER}"),
        target_tokens=60,
    )
    summary = summarise_extractively(call)
    assert "Never mention prices." in summary.content
    assert "2 March 2026" in summary.content
    assert count(summary.content) <= 60
    assert (summary.method, summary.model) == ("extractive", "extractive")
    assert (summary.prompt_version, summary.usage) == ("extractive-1", None)
    assert summarise_extractively(call) == summary


def test_failed_messages_and_offline_replies_are_left_out() -> None:
    summary = summarise_extractively(
        observe_call(
            message(0, "The code is RX-1."),
            message(1, f'{LABEL} You said: "The code is OLD-7."', "assistant"),
            message(2, "The other code is BAD-2.", failed=True),
        )
    )
    assert "RX-1" in summary.content
    assert "OLD-7" not in summary.content
    assert "BAD-2" not in summary.content


def test_nothing_but_offline_replies_still_gives_text() -> None:
    summary = summarise_extractively(observe_call(message(1, f"{LABEL} Noted.", "assistant")))
    assert summary.content


def test_reflection_keeps_dates_also_of_entries_without_date_lines() -> None:
    entries = [
        observation(0, "The cat Pixel is 7 years old."),
        observation(1, "The rent is 1,150."),
    ]
    summary = summarise_extractively(SummaryCall(MODEL, 2, 100, entries))
    assert "1 March 2026" in summary.content
    assert "2 March 2026" in summary.content
    assert "Pixel" in summary.content


def test_pictures_never_enter_as_base64() -> None:
    data = "QUJD" * 10_000
    source = {"type": "base64", "media_type": "image/png", "data": data}
    picture = message(0, [{"type": "image", "source": source}])
    summary = summarise_extractively(observe_call(picture, message(1, "That is my cat Pixel.")))
    assert "QUJD" not in summary.content


def test_reflection_reads_what_a_model_wrote_without_its_frame() -> None:
    """A fallback from one way of summarising to the other must not take headings for speech."""
    said = Entry(day=date(2026, 3, 1), speaker="user", text="The rent is 1,150 euros a month.")
    notes = Notes(
        gist="A shop is to be rented.",
        instructions=["Never mention prices without tax."],
        decisions=["The shop at 17 Tannery Lane is rented."],
        entries=[said],
    )
    entries = [observation(0, written(notes)), observation(1, written(notes))]
    made = extractively(SummaryCall("offline", 2, 90, entries))
    text = "\n".join([made.summary.content, *made.facts])
    for told in ("17 Tannery Lane", "1,150 euros a month", "without tax"):
        assert told in text
    for frame in ("Decisions", "Standing instructions", "- "):
        assert frame not in text


def test_sources_without_words_do_not_give_a_blank_entry() -> None:
    """It would be no progress, at every try."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    made = extractively(observe_call(message(0, [thought], "assistant")))
    assert made.summary.content == "Nothing was said in words."
