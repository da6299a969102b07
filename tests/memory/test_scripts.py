"""The same text in six scripts: the memory is compacted at the same content, or the same window.

XQuAD (google-deepmind/xquad, CC BY-SA 4.0) is read from the data beside the project, see
bench/README.md; without it these tests are skipped. A paragraph takes up to 4.5 times as many
tokens in one script as in another, and a budget is a number of tokens, so under one budget the
first compaction comes at the same *fill*, not at the same paragraph.
"""

import json
from collections.abc import Callable

import pytest

from bench.data import DATA
from perdure.memory.blocks import upper_estimate
from perdure.memory.plan import next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory, append
from perdure.model.tokens import count
from tests.support.conversations import START, text_block

SCRIPTS = ("en", "zh", "ar", "hi", "ru", "th")
POLICY = MemoryPolicy(message_budget=3_000)
TOO_LITTLE = 1.08

pytestmark = pytest.mark.skipif(not (DATA / "xquad10.en.json").exists(), reason="no XQuAD here")


def paragraphs(script: str) -> list[str]:
    """50 paragraphs of 10 articles, the same ones in every script."""
    articles = json.loads((DATA / f"xquad10.{script}.json").read_text(encoding="utf-8"))["data"]
    return [p["context"] for article in articles for p in article["paragraphs"]]


def first_compaction(script: str, policy: MemoryPolicy, weigh: Callable[[str], int]) -> int:
    """The number of the paragraph after which the first compaction is due."""
    memory = Memory()
    for number, text in enumerate(paragraphs(script), start=1):
        memory = append(memory, "user", [text_block(text)], START, tokens=weigh(text))
        if next_compaction(memory, policy) is not None:
            return number
    raise AssertionError("it never comes")


def total(script: str, weigh: Callable[[str], int]) -> int:
    return sum(weigh(text) for text in paragraphs(script))


def estimate(text: str) -> int:
    return upper_estimate([text_block(text)])


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_first_compaction_comes_when_the_window_is_as_full_in_every_script(script: str) -> None:
    number = first_compaction(script, POLICY, count)
    texts = paragraphs(script)
    due = POLICY.observe_at * POLICY.message_budget
    assert sum(count(t) for t in texts[: number + 1]) >= due
    assert sum(count(t) + 4 for t in texts[: number - 1]) < due


@pytest.mark.parametrize("script", SCRIPTS)
def test_with_a_budget_for_as_much_content_it_comes_at_the_same_paragraph(script: str) -> None:
    """Give or take one: counted tokens are as even over a text in one script as in another."""
    budget = POLICY.message_budget * total(script, count) // total("en", count)
    scaled = POLICY.model_copy(update={"message_budget": budget})
    expected = first_compaction("en", POLICY, count)
    assert abs(first_compaction(script, scaled, count) - expected) <= 1


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_is_not_counted_yet_is_compacted_early_and_hardly_ever_late(script: str) -> None:
    """Bytes / 2 is up to 3 times too much; 2 of 50 Chinese paragraphs weigh 7 % more than that."""
    assert all(count(text) <= estimate(text) * TOO_LITTLE for text in paragraphs(script))
    assert first_compaction(script, POLICY, estimate) <= first_compaction(script, POLICY, count)
