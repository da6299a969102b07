"""A summariser that answers late, by halves or not at all; all ways at once are in tests/faults."""

import asyncio
from datetime import timedelta

from activities.failure import as_failure
from perdure.errors import ModelError
from tests.field_reports.conftest import Wire
from tests.support.answers import Answer, notes, text
from tests.support.messages_api import Body, default_rule, is_summary
from tests.support.talk import texts

POLICY = {"message_budget": 1_500, "observe_at": 0.3, "observe_chunk": 5_000}
ROUNDS = 6


def long(number: int | str) -> str:
    return f"number {number}: " + "word " * 60


def test_the_providers_wish_for_a_pause_is_temporals() -> None:
    """O16: Temporal waits as long as `retry-after` says; what can never succeed is not repeated."""
    limited = ModelError("slow down", kind="rate_limit_error", retryable=True, retry_after=20)
    failure = as_failure(limited)
    assert failure.next_retry_delay == timedelta(seconds=20)
    assert not failure.non_retryable
    refused = as_failure(ModelError("no", kind="invalid_request_error", retryable=False))
    assert refused.non_retryable


async def test_a_summary_that_was_cut_off_is_asked_for_again(wire: Wire) -> None:
    """O17: the half of it is nowhere, the whole of the second answer is."""
    await wire.talk.start({"system": "s", "policy": POLICY})
    whole = notes(gist="Maren wants to buy an oven from Hallmoor.")
    half = text('{"gist": "Maren wants to buy an ov', stop_reason="max_tokens")
    wire.api.script_summaries(half, whole)
    number = 0
    while not wire.summaries:
        await wire.talk.ask(long(number))
        number += 1
    await wire.compacted()
    shown = await wire.talk.query("context_text")
    assert shown.count("Maren wants to buy an ov") == 1
    assert "an oven from Hallmoor." in shown
    assert len(wire.summaries) == 2
    assert (await wire.talk.status())["totals"]["failed_compactions"] == 0


async def test_messages_that_arrive_while_a_summary_is_made(wire: Wire) -> None:
    """O20: a signal and an update, in every round, are answered once and in order."""
    gate, asked = asyncio.Event(), asyncio.Event()

    def rule(request: Body) -> Answer:
        if is_summary(request):
            asked.set()
            return default_rule(request).but(delay=gate)
        return default_rule(request)

    wire.api.rule = rule
    await wire.talk.start({"system": "s", "policy": POLICY})
    marks: list[str] = []
    for number in range(ROUNDS):
        gate.clear()
        asked.clear()
        turn = 0
        while not asked.is_set():
            await wire.talk.ask(long(f"{number}-{turn}"))
            turn += 1
        marks += [f"mark {number}a", f"mark {number}b"]
        await wire.talk.say(marks[-2])
        asking = asyncio.ensure_future(wire.talk.ask(marks[-1]))
        gate.set()
        await asking
    await wire.talk.turns(0)
    assert (await wire.talk.status())["totals"]["compactions"] >= ROUNDS - 1
    said = [texts(request["messages"])[-1] for request in wire.replies]
    assert [mark for mark in said if mark in marks] == marks
    for request in wire.replies:
        shown = texts(request["messages"])
        assert all(shown.count(mark) <= 1 for mark in marks)
    record = await wire.record()
    assert [line for line in record if line in marks] == marks
    await wire.talk.check_tiling()
