"""Replies through the real SDK: what is sent, what comes back."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from perdure.contract import Usage
from perdure.errors import ModelError, RequestRefused
from perdure.memory.blocks import Block
from perdure.memory.project import Context
from perdure.model import request
from perdure.model.anthropic import AnthropicProvider
from perdure.model.prices import Price, Priced
from perdure.model.provider import ModelReply, ReplyCall, Stopped
from tests.model.calls import MODEL, SYSTEM, assistant, context, reply_call, text_block, user
from tests.support.answers import Answer, bad_request, blocks, events, raw_events, refusal, text
from tests.support.messages_api import MessagesApi
from tests.support.requests import violations

MARK = {"type": "ephemeral"}
THINKING: Block = {"type": "thinking", "thinking": "A thought. " * 5, "signature": "c2lnbmVk"}
REDACTED: Block = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}


def nothing(_: str) -> None:
    pass


async def ask(provider: AnthropicProvider, *messages: dict[str, object]) -> ModelReply:
    return await provider.reply(reply_call(*messages), nothing)


def marked(body: request.Body) -> list[str]:
    places = [b["text"] for b in body.get("system", []) if "cache_control" in b]
    for message in body["messages"]:
        places += [b.get("text", b["type"]) for b in message["content"] if "cache_control" in b]
    return places


async def test_text_is_streamed_and_usage_booked(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    usage = {
        "input_tokens": 11,
        "output_tokens": 22,
        "cache_read_input_tokens": 33,
        "cache_creation_input_tokens": 44,
    }
    api.script(text("The starter is called Clementine.", usage=usage, model="claude-x-1"))
    heard: list[str] = []
    reply = await provider.reply(reply_call(user("Who is she?")), heard.append)
    assert reply == ModelReply(
        content=[text_block("The starter is called Clementine.")],
        stop_reason="end_turn",
        usage=Usage(input=11, output=22, cache_read=33, cache_write=44),
        model="claude-x-1",
    )
    assert "".join(heard) == "The starter is called Clementine."
    assert len([piece for piece in heard if piece]) > 1


async def test_the_request_is_the_context_and_nothing_else(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    await ask(provider, user("Hello."))
    assert api.requests == [
        {
            "model": MODEL,
            "max_tokens": 1_000,
            "stream": True,
            "system": [{**text_block(SYSTEM), "cache_control": MARK}],
            "messages": [
                {"role": "user", "content": [{**text_block("Hello."), "cache_control": MARK}]}
            ],
        }
    ]


async def test_every_event_is_a_sign_of_life(api: MessagesApi, provider: AnthropicProvider) -> None:
    """Also pings, and the thinking that the user does not see."""
    gate = asyncio.Event()
    api.script(blocks(THINKING, text_block("Done."), hold_at=2, held=gate))
    heard: list[str] = []
    pinged = asyncio.Event()

    def on_text(piece: str) -> None:
        heard.append(piece)
        if len(heard) == 2:
            pinged.set()

    replying = asyncio.create_task(provider.reply(reply_call(), on_text))
    await pinged.wait()
    assert heard == ["", ""]
    gate.set()
    await replying
    assert len(heard) > 6
    assert "".join(heard) == "Done."


@pytest.mark.parametrize(
    "answer",
    [
        blocks(THINKING, text_block("So."), stop_reason="end_turn"),
        blocks(THINKING, REDACTED, {"type": "tool_use", "id": "t", "name": "n", "input": {}}),
        blocks({"type": "tool_use", "id": "t", "name": "n", "input": {"a": [1, "x" * 60, None]}}),
        blocks({"type": "mcp_tool_use", "id": "t", "name": "n", "input": {"a": 1}}),
        blocks({"type": "hologram", "beam": {"colour": "blue"}}, text_block("See.")),
        blocks(text_block(""), {"type": "tool_use", "id": "t", "name": "n", "input": {}}),
        blocks(text_block("\n")),
    ],
)
async def test_blocks_come_back_as_they_were_sent(
    api: MessagesApi, provider: AnthropicProvider, answer: Answer
) -> None:
    api.script(answer)
    assert (await ask(provider)).content == list(answer.content)


async def test_null_fields_are_dropped_but_for_the_input_of_calls(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    page = {"type": "web_search_result", "url": "https://example.org", "page_age": None}
    call = {"type": "tool_use", "id": "t", "name": "n", "input": {"until": None}}
    api.script(
        blocks(
            {"type": "text", "text": "Found.", "citations": None},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [page]},
            call,
        )
    )
    found, searched, called = (await ask(provider)).content
    assert found == text_block("Found.")
    assert searched["content"] == [{k: v for k, v in page.items() if v is not None}]
    assert called == call


@pytest.mark.parametrize(
    "reason",
    ["max_tokens", "refusal", "pause_turn", "stop_sequence", "model_context_window_exceeded"],
)
async def test_stop_reasons_pass_through(
    api: MessagesApi, provider: AnthropicProvider, reason: str
) -> None:
    api.script(text("So far.", stop_reason=reason))
    reply = await ask(provider)
    assert (reply.stop_reason, reply.content) == (reason, [text_block("So far.")])


async def test_empty_content_passes_through(api: MessagesApi, provider: AnthropicProvider) -> None:
    api.script(blocks(), refusal().but(usage={"input_tokens": 7, "output_tokens": 0}))
    assert (await ask(provider)).content == []
    assert await ask(provider) == ModelReply(
        content=[], stop_reason="refusal", usage=Usage(input=7, output=0), model=MODEL
    )


async def test_a_call_that_max_tokens_cut_in_two_is_not_made(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    call: Block = {"type": "tool_use", "id": "t", "name": "n", "input": {"path": "x" * 100}}
    sent = events(blocks(text_block("I write."), call, stop_reason="max_tokens"), {})
    # Without the last two pieces of the input: the ones before its end, and the end of all.
    api.script(raw_events(*sent[:-5], *sent[-3:]))
    reply = await ask(provider)
    assert (reply.stop_reason, reply.content) == ("max_tokens", [text_block("I write.")])


async def test_halves_of_a_character_are_joined_and_lone_ones_replaced(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    api.script(text("x" * 23 + "\ud83d" + "\ude00 y \udc88", escapes=True))
    reply = await ask(provider)
    assert reply.content == [text_block("x" * 23 + "😀 y \ufffd")]
    json.dumps(reply.content, ensure_ascii=False).encode()


async def test_an_endpoint_that_does_not_stream_is_understood(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    whole = {
        "type": "message",
        "content": [text_block("All at once.")],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
        "model": "local",
    }
    api.script(Answer(raw=json.dumps(whole)))
    heard: list[str] = []
    reply = await provider.reply(reply_call(), heard.append)
    assert reply.content == [text_block("All at once.")]
    assert reply.usage == Usage(input=3, output=4)
    assert heard == ["All at once."]


async def test_pause_turn_is_sent_back_unchanged(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    search: Block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}}
    api.script(blocks(THINKING, text_block("I search. "), search, stop_reason="pause_turn"))
    paused = await ask(provider, user("Search."))
    assert paused.stop_reason == "pause_turn"
    await ask(provider, user("Search."), {"role": "assistant", "content": paused.content})
    sent = api.requests[1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant"]
    thought, said, searched = sent[1]["content"]
    assert (thought, searched) == (THINKING, search)
    assert said == {**text_block("I search. "), "cache_control": MARK}


def searched(id_: str) -> tuple[Block, Block]:
    call: Block = {"type": "server_tool_use", "id": id_, "name": "web_search", "input": {"q": 1}}
    return call, {"type": "web_search_tool_result", "tool_use_id": id_, "content": []}


class TestServerTools:
    def sent(self, *turns: dict[str, object]) -> list[list[str]]:
        body = request.reply_request(MODEL, context(*turns), 100)
        assert not violations(body)
        return [
            [b.get("id") or b.get("tool_use_id") or b["text"] for b in m["content"]]
            for m in body["messages"]
        ]

    def test_a_call_that_was_given_up_is_not_sent_once_the_user_has_spoken(self) -> None:
        whole, result = searched("a")
        left, _ = searched("b")
        turns = (user("one"), assistant("two", whole, result, left))
        assert self.sent(*turns) == [["one"], ["two", "a", "a", "b"]]
        assert self.sent(*turns, user("three")) == [["one"], ["two", "a", "a"], ["three"]]
        assert self.sent(user("one"), assistant(left), user("two")) == [["one"], ["two"]]

    def test_a_result_without_its_call_is_not_sent(self) -> None:
        call, result = searched("a")
        assert self.sent(user("one"), assistant(result, "two")) == [["one"], ["two"]]
        twice = assistant(call, result, result, "two")
        assert self.sent(user("one"), twice) == [["one"], ["a", "a", "two"]]

    def test_a_call_stays_open_while_it_waits_for_a_tool_of_the_client(self) -> None:
        call, result = searched("a")
        own: Block = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
        answer: Block = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
        loop = (user("one"), assistant(call, own), user(answer))
        assert self.sent(*loop) == [["one"], ["a", "t"], ["t"]]
        assert self.sent(*loop, assistant(result, "two"))[-1] == ["a", "two"]
        assert self.sent(user("one"), assistant(call, own), user(answer, "stop"))[1] == ["t"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, {}),
        ("", {}),
        ('{"page": 3}', {"page": 3}),
        ("page 3", {"input": "page 3"}),
        ([3], {"input": [3]}),
    ],
)
async def test_the_input_of_a_call_is_always_an_object(
    api: MessagesApi, provider: AnthropicProvider, given: object, meant: object
) -> None:
    """The API refuses any other, so that every later request would fail."""
    call = {"type": "tool_use", "id": "t", "name": "n", "input": given}
    whole = {"type": "message", "content": [call], "stop_reason": "tool_use", "usage": {}}
    api.script(Answer(raw=json.dumps(whole)))
    assert (await ask(provider)).content == [{**call, "input": meant}]


@pytest.mark.parametrize("broken", ['{"x": NaN}', '{"x": Infinity}', "[" * 100_000])
async def test_an_input_that_is_not_json_is_a_broken_answer(
    api: MessagesApi, provider: AnthropicProvider, broken: str
) -> None:
    start = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": broken}
    api.script(
        raw_events(
            {"type": "message_start", "message": {"usage": {}}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        )
    )
    with pytest.raises(ModelError) as failed:
        await ask(provider)
    assert (failed.value.kind, failed.value.retryable) == ("broken_answer", True)


class TestCacheMarks:
    def body(self, given: Context) -> request.Body:
        body = request.reply_request(MODEL, given, 100)
        assert not violations(body)
        return body

    def test_they_stand_after_system_memory_and_conversation(self) -> None:
        memory = ("[Summary 1]\nold", "[Summary 2]\nnewer")
        turns = (user("one"), assistant("two"), user("three", "four"))
        assert marked(self.body(context(*turns, memory=memory))) == [
            SYSTEM,
            "[Summary 2]\nnewer",
            "four",
        ]

    def test_those_of_others_are_stripped(self) -> None:
        own: Block = {**text_block("mine"), "cache_control": MARK}
        result: Block = {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [own, own],
            "cache_control": MARK,
        }
        call: Block = {"type": "tool_use", "id": "t", "name": "n", "input": {"cache_control": "no"}}
        body = self.body(
            context(user(own, own, own), assistant(call), user(result, own), assistant(own, own))
        )
        assert json.dumps(body).count('"cache_control": {') == 2
        assert body["messages"][1]["content"][0]["input"] == {"cache_control": "no"}

    def test_they_never_stand_on_empty_blocks_or_thinking(self) -> None:
        given = context(user("one"), assistant("two", THINKING), user("  ", ""))
        assert marked(self.body(given)) == [SYSTEM, "two"]

    def test_the_context_itself_is_not_changed(self) -> None:
        given = context(user("one"), memory=("[Summary 1]\nold",))
        before = given.model_dump_json()
        self.body(given)
        assert given.model_dump_json() == before

    def test_the_prefix_stays_while_the_conversation_grows(self) -> None:
        def plain(given: Context) -> str:
            body = self.body(given)
            return json.dumps([body["system"], body["messages"]]).replace(
                f', "cache_control": {json.dumps(MARK)}', ""
            )

        shorter = plain(context(user("one"), memory=("[Summary 1]\nold",)))
        longer = plain(
            context(user("one"), assistant("two"), user("three"), memory=("[Summary 1]\nold",))
        )
        assert longer.startswith(shorter.rstrip("]}"))


def test_blank_texts_never_reach_the_wire() -> None:
    empty: Block = {"type": "tool_result", "tool_use_id": "t", "content": [text_block("")]}
    call: Block = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    given = context(user("one"), assistant("", " ", call), user(empty), assistant("", "\n"))
    body = request.reply_request(MODEL, given, 100)
    assert not violations(body)
    assert [len(m["content"]) for m in body["messages"]] == [1, 1, 1]


def test_white_space_at_the_end_of_a_prefill_is_cut() -> None:
    body = request.reply_request(MODEL, context(user("one"), assistant("two. \n")), 100)
    assert body["messages"][-1]["content"][0]["text"] == "two."
    assert not violations(body)


def test_a_background_stands_behind_the_users_last_words() -> None:
    call: Block = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    result: Block = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
    asked = (user("one"), assistant("two"), user("three"))
    given = context(*asked, memory=("[Summary 1]\nold",))
    body = request.reply_request(MODEL, given, 100, background="by the way")
    assert [b["text"] for b in body["messages"][-1]["content"]] == ["three", "by the way"]
    # The next request is cached up to the words, whatever stands behind them by then.
    assert marked(body) == marked(request.reply_request(MODEL, given, 100))
    within = context(*asked, assistant(call), user(result))
    body = request.reply_request(MODEL, within, 100, background="by the way")
    assert [b["text"] for b in body["messages"][2]["content"]] == ["three", "by the way"]
    assert len(body["messages"][-1]["content"]) == 1
    assert not violations(body)
    silent = context(user(result), memory=("[Summary 1]\nold",))
    assert request.last_words(silent) == (None, "")
    assert request.reply_request(MODEL, silent, 100, background="by the way") == (
        request.reply_request(MODEL, silent, 100)
    )


def test_without_a_system_prompt_none_is_sent() -> None:
    assert "system" not in request.reply_request(MODEL, context(user("one"), system=" "), 100)


def test_tools_are_sent_as_they_are_given_and_cached_with_the_system_prompt() -> None:
    tools = [{"name": n, "description": n, "input_schema": {"type": "object"}} for n in "ab"]
    turns = (user("one"), assistant("two"), user("three"))
    given = context(*turns, memory=("[Summary 1]\nold",))
    body = request.reply_request(MODEL, given, 100, tools)
    assert body["tools"] == tools
    assert len(marked(body)) == 3
    bare = request.reply_request(MODEL, context(*turns, system=""), 100, tools)
    assert [tool.get("cache_control") for tool in bare["tools"]] == [None, MARK]
    assert tools[1].keys() == {"name", "description", "input_schema"}
    assert "tools" not in request.reply_request(MODEL, given, 100)


async def test_a_request_over_32_mb_is_not_sent(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    with pytest.raises(RequestRefused, match=r"32,\d{3},\d{3} bytes, more than") as refused:
        await ask(provider, user("x" * request.LARGEST))
    assert (refused.value.kind, refused.value.status) == ("request_too_large", 413)
    assert api.requests == []


async def test_a_cancelled_reply_closes_its_connection(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    api.script(text("Never heard.", delay=asyncio.Event()))
    replying = asyncio.create_task(ask(provider))
    await api.arrived(1)
    replying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await replying
    assert (await ask(provider)).stop_reason == "end_turn"


async def test_a_cancelled_reply_tells_what_was_booked_until_then(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    gate, heard = asyncio.Event(), asyncio.Event()
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 50_000}
    api.script(text("Once upon a time, long ago.", hold_at=4, held=gate, usage=usage))
    priced = Priced(provider, {MODEL: Price(input=2, output=10, cache_write=2.5, cache_read=0.2)})

    def on_text(piece: str) -> None:
        if piece:
            heard.set()

    replying = asyncio.create_task(priced.reply(reply_call(), on_text))
    await asyncio.wait_for(heard.wait(), 20)
    replying.cancel()
    with pytest.raises(Stopped) as stopped:
        await replying
    gate.set()
    booked = stopped.value.usage
    assert (booked.input, booked.cache_read) == (1_000, 50_000)
    assert booked.cost == 12_000 + 10 * booked.output


async def test_searches_of_the_server_are_booked(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    api.script(text("Found.", usage={"server_tool_use": {"web_search_requests": 3}}))
    assert (await ask(provider)).usage.searches == 3


@pytest.mark.parametrize("settings", [{}, {"ANTHROPIC_CONFIG_DIR": "/nonexistent"}])
async def test_without_a_key_there_is_one_clear_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: dict[str, str]
) -> None:
    for name in [n for n in os.environ if n.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(tmp_path), **settings}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY") as missing:
        AnthropicProvider()
    assert (missing.value.kind, missing.value.retryable) == ("no_key", False)


async def test_key_and_address_come_from_the_environment(
    api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-outside")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    provider = AnthropicProvider()
    await provider.reply(ReplyCall("any", context(user("Hello.")), 10), nothing)
    await provider.close()
    assert api.headers[0]["Authorization"] == "Bearer from-outside"


async def test_thinking_that_is_refused_is_left_out_whole(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    refused = "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be"
    api.script(bad_request(f"{refused} modified."), text("Here I am."))
    call: Block = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    result: Block = {"type": "tool_result", "tool_use_id": "a", "content": "seen"}
    reply = await ask(provider, user("Look!"), assistant(THINKING, REDACTED, call), user(result))
    assert reply.content == [text_block("Here I am.")]
    first, second = (r["messages"][1]["content"] for r in api.requests)
    assert [b["type"] for b in first] == ["thinking", "redacted_thinking", "tool_use"]
    assert [b["type"] for b in second] == ["tool_use"]


async def test_another_refusal_is_not_asked_again(
    api: MessagesApi, provider: AnthropicProvider
) -> None:
    api.script(bad_request("messages.1: nothing about thinking can be wrong here"))
    with pytest.raises(RequestRefused):
        await ask(provider, user("Hello?"))
    assert len(api.requests) == 1
