"""The pure steps of a recall: names, ranking, excerpts, and what fits."""

from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.archive.candidates import Document
from perdure.memory.terms import terms
from perdure.model.tokens import count
from perdure.recall.choose import chosen, rendered
from perdure.recall.days import Day, days
from perdure.recall.excerpt import excerpt
from perdure.recall.found import Excerpt
from perdure.recall.names import bearer, capitalised, role_named
from perdure.recall.rank import rank, weights
from tests.support.conversations import START, TEXTS


def documents(*texts: str) -> list[Document]:
    """A conversation of the two in turns."""
    roles = ("user", "assistant")
    return [Document(n, roles[n % 2], START, terms(text)) for n, text in enumerate(texts)]


def best(question: str, *texts: str, speaker: str | None = None) -> list[int]:
    made = documents(*texts)
    held = {t: sum(t in d.terms for d in made) for t in terms(question)}
    ranked = rank(made, weights(terms(question), held, len(made)), speaker=speaker)
    return [document.seq for _, document in ranked]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    said = ["bread and butter"] * 6 + ["x"] * 12 + ["bread", "rye"]
    assert best("rye bread", *said)[0] == 19


def test_an_answer_without_the_words_of_its_question_follows_them() -> None:
    said = ["x"] * 12 + ["Where is the oven from?", "From Hallmoor."] + ["x"] * 12
    assert best("oven", *said)[:2] == [12, 13]


def test_who_is_named_comes_first_and_newer_before_older() -> None:
    said = ["oven", "z", *["x"] * 20, "oven", "oven"]
    assert best("oven", *said)[0] in (22, 23)
    assert best("oven", *said, speaker="user")[0] == 22
    assert best("oven", *said, speaker="assistant")[0] == 23
    assert best("oven", "oven", *["x"] * 20, "oven")[0] == 21


def test_a_day_of_the_question_comes_before_others() -> None:
    said = documents("oven", *["x"] * 20, "oven")
    first, *_, last = said = [d._replace(at=d.at + timedelta(days=d.seq)) for d in said]
    heavy = {"oven": 1.0}
    assert rank(said, heavy)[0][1] == last
    assert rank(said, heavy, days=days("Which oven on 1 March 2026?"))[0][1] == first
    assert rank(said, heavy, days=days("Which oven on 1 March 2025?"))[0][1] == last


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What came on 16 August, 2023?", [Day(2023, 8, 16)]),
        ("On August 16th 2023 or Sept. 2021?", [Day(2023, 8, 16), Day(2021, 9, None)]),
        ("the 3rd of May, in Jun", [Day(None, 5, 3), Day(None, 6, None)]),
        ("since 2023-08-16, or 2023-09", [Day(2023, 8, 16), Day(2023, 9, None)]),
        ("2023年8月16日と9月", [Day(2023, 8, 16), Day(None, 9, None)]),
        ("may I march past 12 Mayors in 2023", []),
        ("99 May 0000-99-99 99月", [Day(None, 5, None)]),
    ],
)
def test_days_of_a_question(question: str, named: list[Day]) -> None:
    assert days(question) == named


def test_a_name_is_a_word_by_which_the_other_calls_one() -> None:
    calls = [("user", "Hey Maria!"), ("user", "Thanks, Maria. See you"), ("user", "Maria, look")]
    assert bearer("Maria", calls) == "assistant"
    assert bearer("Maria", [(role, text.lower()) for role, text in calls]) is None
    dog = [("user", "I walked Maria"), ("user", "Maria barks"), ("user", "My Maria sleeps")]
    assert bearer("Maria", dog) is None
    assert bearer("Maria", calls + [("assistant", "Maria") for _ in range(3)]) is None
    assert bearer("Maria", []) is None
    assert capitalised("What did Maria's dog eat, Maria?") == ["What", "Maria"]
    assert role_named("What did the user say?") == "user"
    assert role_named("What did the user ask the assistant?") is None


def test_an_excerpt_is_the_sentences_around_the_words() -> None:
    text = "It rained. " * 60 + "The oven is from Hallmoor. " + "It snowed. " * 60
    found = excerpt(text, {"oven": 1.0}, 20, count)
    assert "The oven is from Hallmoor." in found
    assert found.startswith("... ")
    assert found.endswith(" ...")
    assert count(found) <= 20
    assert excerpt("Short.", {}, 20, count) == "Short."


@settings(deadline=None)
@example("0:\x1e0:\x81\xcf\U00010000\U00010000\U00010000\U00010000\U000134ce" * 5, 30)
@given(TEXTS.map(lambda text: text * 5), st.integers(30, 80))
def test_an_excerpt_never_has_more_tokens_than_it_may(text: str, most: int) -> None:
    held = dict.fromkeys(terms(text)[-3:], 1.0)
    assert count(excerpt(text, held, most, count)) <= most


@pytest.mark.parametrize("text", ["x" * 5_000, "```\n" + "oven()\n" * 500 + "```", "面" * 3_000])
def test_one_that_no_sentence_divides_is_cut(text: str) -> None:
    found = excerpt(text, {"oven": 1.0, "面面": 1.0}, 40, count)
    assert 0 < count(found) <= 40
    assert "..." in found


def test_no_word_is_cut_in_two() -> None:
    words = [f"counter{n}" for n in range(900)]
    found = excerpt(" ".join(words), {"counter450": 1.0}, 60, count)
    assert "counter450" in found
    assert {*found.split()} <= {*words, "..."}


EXCERPTS = st.lists(
    st.builds(
        Excerpt,
        seq=st.integers(0, 500),
        role=st.sampled_from(["user", "assistant"]),
        at=st.integers(0, 9).map(lambda days: START + timedelta(days=days)),
        text=TEXTS,
        score=st.floats(0, 9),
    ),
    max_size=30,
    unique_by=lambda e: e.seq,
)


@settings(deadline=None)
@given(EXCERPTS, st.integers(50, 500))
def test_what_is_chosen_fits(ranked: list[Excerpt], limit: int) -> None:
    found = chosen(ranked, limit, count)
    assert count(rendered(found)) <= limit
    assert [e for e in ranked if e in found] == found


def test_it_reads_in_the_order_of_the_conversation_under_its_days() -> None:
    said = [
        Excerpt(seq=9, role="assistant", at=START + timedelta(days=1), text="Two.", score=3),
        Excerpt(seq=1, role="user", at=START, text="One.", score=2),
        Excerpt(seq=0, role="level 1", at=START, text="All.", score=1, entry="L1.0-5"),
    ]
    assert rendered(said) == (
        "1 March 2026:\nL1.0-5 level 1: All.\n#1 user: One.\n2 March 2026:\n#9 assistant: Two."
    )
