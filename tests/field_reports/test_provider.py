"""What the provider itself says or demands: pauses, thinking, limits, and what it books."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from temporalio.client import Client

from bench.words import passage
from perdure.conversation import Conversation
from perdure.memory.blocks import Block
from tests.cli.conftest import Cli, cli
from tests.field_reports.conftest import QUEUE, Wire, without_marks
from tests.model.test_recorded_exchanges import EXCHANGES, exchanges, without_nulls
from tests.support.answers import Answer, bad_request, blocks, rate_limited, text
from tests.support.messages_api import Body, default_rule, is_summary, last_text, tokens_of
from tests.support.talk import soon
from workflows.turn import FRUITLESS

__all__ = ["cli"]
RECORDED = pytest.mark.skipif(
    not EXCHANGES.is_file(), reason="no recorded exchanges at ../shared/data"
)
ALL: dict[str, Any] = {"system": "You are brief.", "tools": ["*"]}
ROOMY = {"message_budget": 150_000}


def recorded(stop_reason: str) -> Iterator[list[Block]]:
    """What real replies with thinking have held that ended so."""
    for exchange in exchanges():
        answer = exchange["response"]
        types = {block["type"] for block in answer["content"]}
        if answer["stop_reason"] == stop_reason and types & {"thinking", "redacted_thinking"}:
            yield without_nulls(answer["content"])


def thoughts(request: Body) -> list[Block]:
    kinds = ("thinking", "redacted_thinking")
    return [b for m in request["messages"] for b in m["content"] if b["type"] in kinds]


@RECORDED
async def test_real_thinking_stays_in_its_loop_and_leaves_whole(wire: Wire) -> None:
    """O21: byte for byte while the loop is open, and after it not at all."""
    await wire.talk.start(ALL)
    said = next(recorded("tool_use"))
    [thought] = [block for block in said if block["type"] == "thinking"]
    more: Block = {"type": "tool_use", "id": "m", "name": "look", "input": {"number": 1}}
    wire.api.script(blocks(*said), blocks(more))
    await wire.talk.ask("Think, and call.")
    _, second, third = wire.replies
    for request in (second, third):
        assert json.dumps(without_marks(request["messages"][1]["content"])) == json.dumps(said)
    assert thought["signature"]
    await wire.talk.ask("And now?")
    assert thoughts(wire.replies[-1]) == []

    wire.api.script(blocks({**said[0]}, more), bad_request("messages.5: invalid thinking block"))
    reply = await wire.talk.ask("Once more.")
    assert reply.stop_reason == "end_turn"
    refused, without = wire.replies[-2:]
    assert thoughts(refused) == [thought]
    assert thoughts(without) == []
    assert len(without["messages"]) == len(refused["messages"])


@RECORDED
async def test_a_real_pause_goes_on_where_it_was_and_not_for_ever(wire: Wire) -> None:
    """O22: also an end that nobody knows is not taken for a good one."""
    [paused] = recorded("pause_turn")
    assert len(paused) == 27
    await wire.talk.start({**ALL, "policy": ROOMY})
    pause = blocks(*paused, stop_reason="pause_turn")
    wire.api.script(pause, text("Found it."))
    reply = await wire.talk.ask("Search.")
    assert reply.text.endswith("Found it.")
    last = wire.replies[-1]["messages"][-1]
    assert last["role"] == "assistant"
    assert without_marks(last["content"]) == paused

    wire.api.script(text("So far", stop_reason="model_context_window_exceeded"))
    reply = await wire.talk.ask("How far?")
    assert (reply.text, reply.stop_reason) == ("So far", "model_context_window_exceeded")
    before = len(wire.replies)
    wire.api.rule = lambda _: text("one moment", stop_reason="pause_turn")
    assert (await wire.talk.ask("Wait.")).stop_reason == "pause_turn"
    assert len(wire.replies) - before == FRUITLESS + 1
    wire.api.rule = default_rule
    assert (await wire.talk.ask("Well?")).text == "Reply to: Well?"


async def test_a_message_beyond_the_summarisers_window_is_summarised_in_pieces(
    wire: Wire,
) -> None:
    """O27: a single one, which no cut between messages makes smaller."""

    def rule(request: Body) -> Answer:
        if is_summary(request) and len(last_text(request)) > 40_000:
            return bad_request("prompt is too long: 50000 tokens > 10000 maximum")
        return default_rule(request) if is_summary(request) else text("I see.")

    wire.api.rule = rule
    await wire.talk.start({**ALL, "policy": {"message_budget": 20_000}})
    await wire.talk.ask(passage("the long story", 150_000))
    for number in range(3):
        await wire.talk.ask(passage(f"after it {number}", 6_000))
    await wire.compacted()
    status = await wire.talk.status()
    assert status["totals"]["failed_compactions"] == 0
    assert status["context_tokens"] < 20_000
    assert len(wire.summaries) < 20


async def test_a_prompt_that_the_provider_finds_too_long_is_compacted_and_answered(
    wire: Wire,
) -> None:
    """The provider has the last word over what a request weighs, however far we are off."""
    talk = wire.talk
    await talk.start({**ALL, "policy": {**ROOMY, "keep_recent_messages": 2}})
    said = [
        {"role": ("user", "assistant")[n % 2], "content": passage(f"part {n}", 4_000)}
        for n in range(28)
    ]
    await talk.facade.import_messages(said)
    wire.api.script(bad_request("prompt is too long: 210000 tokens > 200000 maximum"))
    assert (await talk.ask("What now?")).text == "Reply to: What now?"
    refused, answered = wire.replies
    assert len(str(answered)) < len(str(refused))
    assert (await talk.status())["totals"]["compactions"] >= 1
    assert wire.api.counted == []


async def test_near_the_window_the_provider_is_asked_to_count(wire: Wire) -> None:
    """One that counts four for three of ours; what it counts as too much is compacted first."""

    def counting(body: Body) -> int:
        return tokens_of(body) * 4 // 3

    def rule(request: Body) -> Answer:
        return default_rule(request).but(usage={"input_tokens": counting(request)})

    wire.api.rule, wire.api.counting = rule, counting
    policy = {"context_window": 26_000, "message_budget": 15_500, "exact_counts": True}
    await wire.talk.start({**ALL, "policy": {**policy, "observe_at": 1.0, "light_at": 1.0}})
    number = 0
    while not wire.api.counted:
        said = passage(f"part {number}", 2_000)
        assert (await wire.talk.ask(said)).text == f"Reply to: {said}"
        number += 1
        assert number < 20
    assert set(wire.api.counted[0]) == {"model", "messages", "system", "tools"}
    assert (await wire.talk.status())["totals"]["compactions"] == 0

    wire.api.counting = lambda body: 3 * tokens_of(body)
    before = len(wire.replies)
    assert (await wire.talk.ask("And now?")).text == "Reply to: And now?"
    assert len(wire.replies) == before + 1
    assert len(str(wire.replies[-1])) < len(str(wire.replies[-2]))
    assert (await wire.talk.status())["totals"]["compactions"] >= 1


async def test_ten_conversations_that_are_slowed_down_delay_no_eleventh(
    client: Client, wire: Wire
) -> None:
    """A storm of 429: each waits as long as the provider wishes, in Temporal and not in a slot."""
    wire.api.rule = lambda request: (
        rate_limited("30") if request["model"] == "busy" else default_rule(request)
    )
    name = uuid.uuid4().hex[:8]
    busy = [Conversation(client, f"wire-{name}-{n}", QUEUE) for n in range(10)]
    asking = []
    for each in busy:
        await client.start_workflow(
            "ConversationWorkflow", {"model": "busy"}, id=each.id, task_queue=QUEUE
        )
        asking.append(asyncio.ensure_future(each.ask("Are you there?")))
    await soon(wire.api.arrived(10))
    await wire.talk.start(ALL)
    assert (await wire.talk.ask("And you?")).text == "Reply to: And you?"
    assert not any(each.done() for each in asking)
    for each, waits in zip(busy, asking, strict=True):
        waits.cancel()
        await client.get_workflow_handle(each.id).terminate()
    await asyncio.gather(*asking, return_exceptions=True)
    wire.api.requests[:] = [r for r in wire.api.requests if r["model"] != "busy"]


async def test_what_a_turn_has_cost_and_all_of_them(wire: Wire, cli: Cli) -> None:
    """Per turn, in all, and in the list; a model without a price is counted and not guessed."""
    talk = wire.talk
    await talk.start({**ALL, "model": "claude-sonnet-5"})
    look: Block = {"type": "tool_use", "id": "a", "name": "look", "input": {"number": 9}}
    booked = {"input_tokens": 1_000, "output_tokens": 100}
    wire.api.script(blocks(look, usage=booked), text("There.", usage=booked))
    reply = await talk.ask("Look.")
    usage = (await talk.query("reply", reply.turn))["usage"]
    # Two steps at 2 dollars for a million tokens in and 10 for a million out.
    assert (usage["input"], usage["output"], usage["cost"]) == (2_000, 200, 6_000)
    await talk.facade.configure(model="of-nobody-knows-whom")
    wire.api.script(text("Here.", usage=booked))
    await talk.ask("And there?")
    totals = (await talk.status())["totals"]["reply_usage"]
    assert (totals["input"], totals["cost"], totals["unpriced"]) == (3_000, 6_000, 1)
    listed = await cli("list", "--totals", "--json", PERDURE_TASK_QUEUE=QUEUE)
    [mine] = [each for each in listed.json if each["id"] == talk.id]
    assert (mine["turns"], mine["cost"], mine["unpriced"]) == (2, 0.006, 1)
