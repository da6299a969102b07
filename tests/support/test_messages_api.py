"""The real SDK against the local server: whatever it is scripted to say arrives."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest
from aiohttp import ClientSession

from tests.support import answers
from tests.support.answers import blocks, text
from tests.support.messages_api import MessagesApi

HELLO: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 100,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "Hello."}],
}
CONTENT = (
    {"type": "thinking", "thinking": "A long thought, longer than a delta.", "signature": "c2ln"},
    {"type": "text", "text": "I look it up, and this is longer than a delta."},
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"for": ["x", 1, None]}},
)


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    async with MessagesApi() as server:
        yield server
        server.check()


@pytest.fixture
async def client(api: MessagesApi) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(api_key="key", base_url=api.url, max_retries=0) as made:
        yield made


async def test_by_default_it_repeats_what_it_is_told(
    api: MessagesApi, client: anthropic.AsyncAnthropic
) -> None:
    whole = await client.messages.create(**HELLO)
    assert whole.to_dict()["content"] == [{"type": "text", "text": "Reply to: Hello."}]
    assert whole.usage.input_tokens > 0
    async with client.messages.stream(**HELLO) as stream:
        assert await stream.get_final_text() == "Reply to: Hello."
    assert [r["messages"] for r in api.requests] == [HELLO["messages"]] * 2
    assert api.headers[0]["Authorization"] == "Bearer key"


async def test_blocks_arrive_whole_and_streamed(
    api: MessagesApi, client: anthropic.AsyncAnthropic
) -> None:
    api.script(*[blocks(*CONTENT, usage={"cache_read_input_tokens": 7})] * 2)
    whole = await client.messages.create(**HELLO)
    async with client.messages.stream(**HELLO) as stream:
        streamed = await stream.get_final_message()
    for message in (whole, streamed):
        assert [block.to_dict() for block in message.content] == list(CONTENT)
        assert message.stop_reason == "tool_use"
        assert message.usage.cache_read_input_tokens == 7


async def test_errors_are_the_ones_that_the_sdk_knows(
    api: MessagesApi, client: anthropic.AsyncAnthropic
) -> None:
    api.script(answers.rate_limited("20"), answers.overloaded(), answers.unknown_model("x"))
    with pytest.raises(anthropic.RateLimitError) as limited:
        await client.messages.create(**HELLO)
    assert limited.value.response.headers["retry-after"] == "20"
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        await client.messages.create(**HELLO)
    with pytest.raises(anthropic.NotFoundError, match="model: x"):
        await client.messages.create(**HELLO)
    api.script(text("Lost.", reset_after=0), answers.broken_json(), answers.html())
    with pytest.raises(anthropic.APIConnectionError):
        await client.messages.create(**HELLO)
    with pytest.raises(json.JSONDecodeError):
        await client.messages.create(**HELLO)
    assert str(await client.messages.create(**HELLO)).startswith("<!doctype html>")


async def test_count_tokens(client: anthropic.AsyncAnthropic) -> None:
    asked = {k: v for k, v in HELLO.items() if k != "max_tokens"}
    counted = await client.messages.count_tokens(**asked)
    assert counted.input_tokens > 0


async def test_a_delay_can_be_an_event(api: MessagesApi, client: anthropic.AsyncAnthropic) -> None:
    gate = asyncio.Event()
    api.script(text("At last.", delay=gate))
    waiting = asyncio.create_task(client.messages.create(**HELLO))
    await api.arrived(1)
    assert not waiting.done()
    gate.set()
    assert (await waiting).to_dict()["content"] == [{"type": "text", "text": "At last."}]


async def test_summaries_have_a_script_and_a_rule_of_their_own(
    api: MessagesApi, client: anthropic.AsyncAnthropic
) -> None:
    source = (
        '<message role="user" time="2026-03-01 09:00 Sun">\nMy cat is called Pixel.\n</message>'
    )
    asked = f"<sources>\n{source}\n</sources>\n\nWrite the notes, in at most 40 words."
    summary = {**HELLO, "messages": [{"role": "user", "content": asked}]}
    api.script(text("A reply."))
    api.script_summaries(text("A summary."))
    assert "A summary." in str(await client.messages.create(**summary))
    assert "My cat is called Pixel." in str(await client.messages.create(**summary))
    assert "A reply." in str(await client.messages.create(**HELLO))


async def test_check_names_the_request_and_the_rule() -> None:
    async with MessagesApi() as server:
        server.requests.append({**HELLO, "system": ""})
        with pytest.raises(AssertionError, match="request 0: there is no system prompt"):
            server.check()


async def test_it_runs_as_a_process() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.messages_api", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with anthropic.AsyncAnthropic(api_key="key", base_url=url) as client:
            assert "Reply to: Hello." in str(await client.messages.create(**HELLO))
        async with ClientSession() as session, session.get(f"{url}/requests") as recorded:
            assert [r["messages"] for r in await recorded.json()] == [HELLO["messages"]]
    finally:
        process.terminate()
        await process.wait()
