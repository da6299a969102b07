"""Answering by quotation."""

from perdure.memory.extract.answer import answer
from perdure.memory.extract.types import Remembered

MEMORY = [
    Remembered("4 March 2024:\nuser: I moved to Lisbon in spring. My cat is called Pixel.", "", ""),
    Remembered("What does the cat eat?", "6 March 2024", "assistant"),
    Remembered("Only salmon from the harbour market.", "6 March 2024", "user"),
    Remembered("我的狗叫小白。", "7 March 2024", "user"),
]


def test_it_quotes_with_date_and_speaker() -> None:
    best = answer("What is my cat called?", MEMORY)[0]
    assert (best.text, best.when, best.role) == (
        "My cat is called Pixel.",
        "4 March 2024",
        "user",
    )


def test_it_does_not_know_what_it_was_not_told() -> None:
    assert answer("Which bank holds the mortgage?", MEMORY) == []


def test_it_never_quotes_a_question() -> None:
    assert all("?" not in quote.text for quote in answer("What does the cat eat?", MEMORY))


def test_it_finds_writing_without_spaces() -> None:
    assert answer("我的狗叫什么？", MEMORY)[0].text == "我的狗叫小白。"


def test_limit_and_empty_memory() -> None:
    assert answer("cat", MEMORY, limit=0) == []
    assert len(answer("cat Lisbon salmon", MEMORY, limit=1)) <= 1
    assert answer("cat", []) == []
    assert answer("", MEMORY) == []
