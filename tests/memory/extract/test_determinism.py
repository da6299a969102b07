"""The same bytes whatever the hash seed, for work in proportion to the text."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import FrameType

from perdure.memory.extract.observe import observe
from perdure.memory.extract.types import Turn
from tests.support.hash_seeds import outputs

PROGRAM = """
from datetime import datetime, timedelta, timezone
from perdure.memory.extract.answer import answer
from perdure.memory.extract.observe import observe
from perdure.memory.extract.reflect import reflect
from perdure.memory.extract.types import Remembered, Turn
start = datetime(2024, 1, 1, tzinfo=timezone.utc)
turns = [
    Turn(i, ("user", "assistant")[i % 2], start + timedelta(hours=7 * i),
         f"I sold {i} boats to Dealer{i % 9}, and the harbour master waved. How was port {i % 5}?")
    for i in range(120)
]
text = observe(turns, 300, lambda s: len(s.split()))
print(text)
print(reflect([text, text], 100, lambda s: len(s.split())))
print(answer("Who sold boats to Dealer3?", [Remembered(text, "", "")]))
"""


def test_three_hash_seeds_give_one_output() -> None:
    printed = outputs(PROGRAM)
    assert printed[0].strip()
    assert printed[0] == printed[1] == printed[2]


def said(turns: int) -> list[Turn]:
    """Talk in which names, figures and words come again, as they do, and questions are answered."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        Turn(
            i,
            ("user", "assistant")[i % 2],
            start + timedelta(hours=i),
            f"Dealer{i % 37} bought {i} boats in port {i % 11}, and paid {i * 7} euros for each. "
            f"The harbour master of {i % 5} waved at us{'?' if i % 3 else ', as he always does.'} "
            "We talked about the weather and went home.",
        )
        for i in range(turns)
    ]


def work(turns: Sequence[Turn]) -> int:
    """Calls that it takes to observe them a fifth as long, and characters that are counted."""
    done = 0

    def called(_: FrameType, event: str, __: object) -> None:
        nonlocal done
        done += event in ("call", "c_call")

    def count(text: str) -> int:
        nonlocal done
        done += len(text)
        return len(text) // 4 + 1

    tokens = sum(len(turn.text) // 4 for turn in turns)
    sys.setprofile(called)
    try:
        text = observe(turns, tokens // 5, count)
    finally:
        sys.setprofile(None)
    assert tokens // 7 <= len(text) // 4 + 1 <= tokens // 5
    return done


def test_four_times_the_text_is_no_more_than_six_times_the_work() -> None:
    # In proportion it would be four times, with the square of the text sixteen.
    assert work(said(400)) < 6 * work(said(100))
