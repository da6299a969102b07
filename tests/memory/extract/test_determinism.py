"""The same bytes whatever the hash seed, and fast."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

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
LOCOMO = Path(__file__).parents[4] / "shared" / "data" / "locomo10.json"


def test_three_hash_seeds_give_one_output() -> None:
    printed = outputs(PROGRAM)
    assert printed[0].strip()
    assert printed[0] == printed[1] == printed[2]


@pytest.mark.skipif(not LOCOMO.exists(), reason="the LoCoMo data set is not on this machine")
def test_six_thousand_tokens_are_observed_within_a_second() -> None:
    conversation = json.loads(LOCOMO.read_text(encoding="utf-8"))[0]["conversation"]
    said = [turn for n in range(1, 9) for turn in conversation[f"session_{n}"]]
    start = datetime(2024, 1, 1, tzinfo=UTC)
    turns = [
        Turn(i, "user" if i % 2 else "assistant", start + timedelta(minutes=i), turn["text"])
        for i, turn in enumerate(said)
    ]
    before = time.process_time()
    text = observe(turns, 1200, lambda s: len(s) // 4 + 1)
    assert time.process_time() - before < 1
    assert 900 <= len(text) // 4 + 1 <= 1200
