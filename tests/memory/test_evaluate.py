"""Where the expected answers of queries are found."""

from datetime import timedelta

import pytest

from perdure.memory.apply import Compacted, apply
from perdure.memory.evaluate import Query, evaluate, judged
from perdure.memory.message import Message
from perdure.memory.plan import next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory, append, pin
from tests.support.conversations import START, text_block

SAID = ["The oven is HM-48213.", "The rent is 1,150 euros.", "Piotr delivers at seven.", "Thanks."]


def compacted() -> tuple[Memory, list[Message]]:
    """Three messages in one entry that keeps the first of them, and one word for word."""
    memory = Memory()
    for number, text in enumerate(SAID):
        at = START + timedelta(minutes=number)
        memory = append(memory, "user", [text_block(text)], at, tokens=200)
    originals = list(memory.messages)
    policy = MemoryPolicy(message_budget=700, keep_recent=210, keep_recent_messages=0)
    plan = next_compaction(memory, policy, now=True)
    assert plan is not None
    result = Compacted(
        content="user: The oven is HM-48213.", tokens=12, method="model", model="m",
        prompt_version="1", identity="",
    )  # fmt: skip
    memory, _ = apply(memory, plan.parts[0], result, START)
    return pin(memory, "Never before ten.", START, 5), originals


def query(answer: str) -> Query:
    return Query(question="?", expected_answer=answer)


def test_context_first_then_archive_then_nowhere() -> None:
    memory, originals = compacted()
    answers = ("hm-48213", "thanks", "never before 10", "1150 euros", "Saturn")
    found = evaluate(memory, originals, [query(answer) for answer in answers])
    assert [(f.found, f.place) for f in found.queries] == [
        ("context", "L1.0-2"),
        ("context", "message 3"),
        ("context", "pinned"),
        ("archive", "message 1"),
        ("nowhere", ""),
    ]
    assert found.recall_score == 0.6
    assert found.original_length == memory.raw_tokens
    assert found.compression_ratio == round(found.original_length / found.summary_length, 2)


def test_an_answer_does_not_lie_across_two_parts() -> None:
    memory, originals = compacted()
    (found,) = evaluate(memory, originals, [query("seven thanks")]).queries
    assert found.found == "nowhere"


def test_without_queries_there_is_nothing_to_judge() -> None:
    with pytest.raises(ValueError, match="no queries"):
        evaluate(Memory(), [], [])


@pytest.mark.parametrize(
    ("context", "originals", "same"),
    [
        ("It is HM-48213.", "hm 48213", True),
        ("I do not know.", "I do not know", True),
        ("I do not know.", "HM-48213", False),
        ("HM-48213", "I do not know.", False),
        ("Red.", "Blue.", False),
    ],
)
def test_the_same_answer(context: str, originals: str, same: bool) -> None:
    memory, messages = compacted()
    found = evaluate(memory, messages, [query("HM-48213")])
    told = judged(found, [(context, originals)])
    assert told.same_answers == (1.0 if same else 0.0)
    assert told.queries[0].answers is not None
    assert told.queries[0].answers.same is same
