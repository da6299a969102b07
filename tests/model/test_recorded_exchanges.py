"""Every recorded call to the real API, through our request and our response code."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from perdure.memory.project import Context
from perdure.model.anthropic import AnthropicProvider
from perdure.model.provider import ReplyCall
from perdure.model.request import reply_request
from tests.support.answers import Answer, blocks
from tests.support.messages_api import MessagesApi
from tests.support.requests import violations

EXCHANGES = Path(__file__).parents[3] / "shared" / "data" / "anthropic_exchanges.jsonl"
pytestmark = pytest.mark.skipif(
    not EXCHANGES.is_file(), reason="the recorded exchanges are not at ../shared/data"
)


def exchanges() -> list[dict[str, Any]]:
    if not EXCHANGES.is_file():
        return []
    lines = EXCHANGES.read_text(encoding="utf-8").splitlines()
    loaded: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [e for e in loaded if e["endpoint"] == "messages" and e["status"] == 200]


def without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def without_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [without_marks(v) for v in value] if isinstance(value, list) else value


def as_blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def context_of(request: dict[str, Any]) -> Context:
    system = as_blocks(request.get("system") or [])
    return Context(
        system="\n".join(block["text"] for block in system),
        messages=[
            {"role": m["role"], "content": as_blocks(m["content"])} for m in request["messages"]
        ],
        tokens=0,
    )


@pytest.fixture
async def server() -> AsyncIterator[MessagesApi]:
    """Unchecked: what was recorded need not have a system prompt."""
    async with MessagesApi() as made:
        yield made


def test_there_are_enough_of_them() -> None:
    assert len(exchanges()) > 280


async def test_every_reply_comes_back_as_recorded(server: MessagesApi) -> None:
    provider = AnthropicProvider(api_key="key", base_url=server.url)
    for exchange in exchanges():
        recorded = exchange["response"]
        request = exchange["request"]
        call = ReplyCall("any", context_of(request), request["max_tokens"])
        streamed = blocks(
            *recorded["content"],
            stop_reason=recorded["stop_reason"],
            usage=recorded["usage"],
            model=recorded["model"],
        )
        server.script(streamed, Answer(raw=json.dumps(recorded)))
        for _ in ("streamed", "in one piece"):
            heard: list[str] = []
            reply = await provider.reply(call, heard.append)
            assert reply.content == without_nulls(recorded["content"])
            assert (reply.stop_reason, reply.model) == (recorded["stop_reason"], recorded["model"])
            assert reply.usage.input == recorded["usage"]["input_tokens"]
            assert reply.usage.output == recorded["usage"]["output_tokens"]
            texts = [b["text"] for b in recorded["content"] if b["type"] == "text"]
            assert "".join(heard) == "".join(texts)
    await provider.close()


async def test_every_request_leaves_its_content_intact(server: MessagesApi) -> None:
    provider = AnthropicProvider(api_key="key", base_url=server.url)
    for exchange in exchanges():
        given = context_of(exchange["request"])
        await provider.reply(ReplyCall("any", given, 100), lambda _: None)
        sent = server.requests[-1]
        kept = [{**m, "content": m["content"]} for m in without_marks(sent["messages"])]
        assert kept == without_marks(given.messages)
        assert "".join(b["text"] for b in sent.get("system", [])) == given.system
    await provider.close()


# The API takes these today; other endpoints that speak its language need not.
TOLERATED = (
    "there is no system prompt",
    "has the role 'system'",
    "the first message is not the user's",
    "occurs 2 times",
    "which the message after does not answer",
    "which the message before does not call",
)


def test_the_checker_accepts_what_the_real_api_accepted() -> None:
    for exchange in exchanges():
        recorded = exchange["request"]
        for request in (recorded, reply_request("any", context_of(recorded), 100)):
            found = [v for v in violations(request) if not v.endswith(TOLERATED)]
            assert not found, (exchange["file"], exchange["i"], found)
