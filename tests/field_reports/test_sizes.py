"""What is too big, too much, or looks bigger than it is."""

import asyncio
import base64
from itertools import pairwise
from typing import Any

import pytest

from bench.words import passage
from perdure.memory.blocks import Block
from tests.field_reports.conftest import Wire
from tests.support.answers import Answer, bad_request
from tests.support.messages_api import Body, default_rule, is_summary, last_text

ROOMY = {"message_budget": 900_000, "context_window": 1_000_000}
# A PNG of 1,000 x 1,050 pixels, which is 1,400 tokens, and of 110 KB.
HEADER = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (1_000).to_bytes(4, "big") + (1_050).to_bytes(4, "big")
)
PIXELS = "QUJDQUJD"


def picture(number: int) -> Block:
    data = base64.b64encode(HEADER + b"%06d" % number).decode() + PIXELS * 18_000
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def look(number: int, content: Any) -> list[dict[str, Any]]:
    """A question, a call, its result and an answer, as they are imported."""
    call = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"n": number}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
    return [
        {"role": "user", "content": f"look at {number}"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"I have seen {number}."},
    ]


async def history_bytes(wire: Wire) -> int:
    description = await wire.talk.handle.describe()
    return int(description.raw_description.workflow_execution_info.history_size_bytes)


async def test_a_tool_result_of_two_megabytes(wire: Wire) -> None:
    """O8: head and tail reach the model with a notice, and the whole is kept."""
    await wire.talk.start({"system": "s"})
    body = f"START {'a page of prose. ' * 58_000} MIDDLE {'a page of prose. ' * 58_000} END"
    await wire.talk.facade.import_messages(look(1, body))
    before = await history_bytes(wire)
    for number in range(2):
        await wire.talk.ask(f"what is in it, {number}?")
    sent = str(wire.replies[-1]["messages"])
    assert len(sent) < 20_000
    assert "START" in sent
    assert "END" in sent
    assert "left out here" in sent
    assert "MIDDLE" not in sent
    assert await history_bytes(wire) - before < 20_000


async def test_history_grows_by_what_is_said_and_not_by_what_was(wire: Wire) -> None:
    """O10: a turn of 5 KB costs the same at the end as at the beginning."""
    await wire.talk.start({"system": "s", "policy": ROOMY})
    sizes = [await history_bytes(wire)]
    for number in range(40):
        await wire.talk.ask(f"Page {number}: " + f"line {number} of the ledger. " * 200)
        if number % 10 == 9:
            sizes.append(await history_bytes(wire))
    growth = [after - before for before, after in pairwise(sizes)]
    assert max(growth) < 1.1 * min(growth)
    assert len(str(wire.replies[-1])) > 10 * len(str(wire.replies[1]))


@pytest.mark.parametrize("run", ["a", "=", PIXELS])
async def test_a_million_characters_without_a_space(wire: Wire, run: str) -> None:
    """O12: counted beside the workflow, which goes on answering queries."""
    await wire.talk.start({"system": "s", "policy": ROOMY})
    asking = asyncio.ensure_future(wire.talk.ask(run * (1_000_000 // len(run))))
    answered = 0
    while not asking.done():
        await wire.talk.status()
        answered += 1
        await asyncio.wait({asking}, timeout=0.1)
    await asking
    assert answered > 0
    assert (await wire.talk.ask("hello")).text == "Reply to: hello"


async def test_pictures_weigh_their_pixels_and_no_summariser_sees_them(wire: Wire) -> None:
    """O14: one hardly counts, twenty are compacted in time; half of them stand in results."""
    talk = wire.talk
    await talk.start({"system": "s", "policy": {"message_budget": 10_000, "observe_at": 1.0}})
    await talk.ask([picture(0), {"type": "text", "text": "hi"}])
    assert PIXELS in str(wire.replies[-1])
    memory = await talk.query("memory")
    assert memory["levels"] == []
    assert 1_400 <= memory["messages"]["tokens"] <= 1_600
    for number in range(10):
        await talk.facade.import_messages(look(number, [picture(2 * number)]))
        await talk.ask([picture(2 * number + 1), {"type": "text", "text": f"and {number}?"}])
    memory = await talk.check_tiling()
    assert memory["levels"] != []
    assert memory["context_tokens"] < 12_000
    assert wire.summaries
    assert not any(PIXELS in str(request) for request in wire.summaries)
    assert "[image: image/png" in str(wire.summaries)


async def test_a_backlog_is_summarised_within_the_summarisers_window(wire: Wire) -> None:
    """O27: what would be too long in one piece is never sent in one."""

    def rule(request: Body) -> Answer:
        if is_summary(request) and len(last_text(request)) > 40_000:
            return bad_request("prompt is too long")
        return default_rule(request)

    wire.api.rule = rule
    await wire.talk.start({"system": "s", "policy": {"message_budget": 10_000}})
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n}: {passage(f'part {n}', 1_300)}"}
        for n in range(80)
    ]
    await wire.talk.facade.import_messages(said)
    await wire.talk.ask("what now?")
    assert (await wire.talk.check_tiling())["context_tokens"] < 20_000
    assert (await wire.talk.status())["totals"]["failed_compactions"] == 0
