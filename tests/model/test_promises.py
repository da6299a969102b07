"""What importance promises, kept over four levels by the summariser that needs no model."""

from collections.abc import Sequence

from perdure.memory.facts.guard import SHARE
from perdure.memory.message import Message
from perdure.memory.observation import Observation, body
from perdure.model.guarded import FACTS_ONLY, extractively, facts_alone
from perdure.model.provider import SummaryCall
from perdure.model.tokens import count
from tests.model.calls import MODEL, message, observation

RULES = (
    "Never quote prices without tax.",
    "Please don't call it a venture.",
    "From now on, answer in German.",
)
FILLER = (
    "The walk along the river was long and the weather was mild, as it often is in spring.",
    "We talked for a while about this and that, and nobody was in a hurry to get home.",
    "There was a market in the square, with cheese and flowers and somebody playing music.",
)
SMALL_TALK = ("Thanks so much!", "Sounds great.", "How are you today?")


def talk(*telling: str, filler: int = 40) -> list[Message]:
    """The telling sentences among filler and small talk."""
    said = [*telling, *SMALL_TALK]
    said += [f"{FILLER[n % 3]} That was walk {n}." for n in range(filler)]
    return [message(n, text) for n, text in enumerate(said)]


def levels(messages: list[Message], target: int, number: int = 4) -> list[str]:
    """The bodies of an entry of each level, each made from the one before."""
    sources: list[Message] | list[Observation] = messages
    bodies: list[str] = []
    for level in range(1, number + 1):
        made = extractively(SummaryCall(MODEL, level, target, sources))
        bodies.append(body(made.summary.content, made.facts))
        entry = observation(0, made.summary.content)
        sources = [entry.model_copy(update={"facts": made.facts, "level": level})]
        target = target * 3 // 4
    return bodies


def test_what_the_user_demands_stays_word_for_word_at_every_level() -> None:
    for text in levels(talk(*RULES), 300):
        assert all(rule.rstrip(".") in text for rule in RULES), text


def test_demands_have_a_budget_and_the_summary_the_rest() -> None:
    many = [f"Never mention the client {name}." for name in _names(60)]
    made = extractively(SummaryCall(MODEL, 1, 400, talk(*many)))
    assert made.tokens <= 400
    assert count(body("", made.facts)) <= max(
        400 * SHARE // 1000, 400 - count(made.summary.content)
    )


def test_low_signal_goes_first() -> None:
    for target in (400, 200, 100, 60):
        text = levels(talk("The oven is HM-48213 and costs 11,900 euros."), target, 1)[0]
        assert "HM-48213" in text
        assert not any(small in text for small in SMALL_TALK)


def test_a_correction_supersedes_what_it_corrects() -> None:
    told = (
        "My last day at the hospital is March 27.",
        "A correction: my last day at the hospital is April 10, not March 27.",
    )
    assert all("hospital is April 10, not March 27" in text for text in levels(talk(*told), 200))
    made = facts_alone(SummaryCall(MODEL, 4, 120, _entries(*told)))
    assert "April 10" in str(made.facts)
    assert "hospital is March 27" not in str(made.facts)


def test_facts_alone_are_the_facts_and_no_more() -> None:
    call = SummaryCall(MODEL, 4, 120, _entries(*RULES, "The reservation code is QX7R2M.", *FILLER))
    made = facts_alone(call)
    assert made.summary.content == FACTS_ONLY
    assert all(rule.rstrip(".") in str(made.facts) for rule in RULES)
    assert "QX7R2M" in str(made.facts)
    assert "weather" not in str(made.facts)
    assert made.tokens <= 120
    assert facts_alone(call) == made


def test_where_there_are_no_facts_it_says_so() -> None:
    made = facts_alone(SummaryCall(MODEL, 4, 60, _entries("Nice.", "It was nice.")))
    assert (made.summary.content, made.facts) == (FACTS_ONLY, [])


def _entries(*texts: str) -> list[Observation]:
    return [observation(n, f"1 March 2026:\nuser: {text}") for n, text in enumerate(texts)]


def _names(number: int) -> Sequence[str]:
    return [f"{chr(65 + n // 26)}{chr(97 + n % 26)}rkson" for n in range(number)]
