"""No call can stop a conversation: whatever comes in, it goes on and `status` tells."""

from typing import Any

import pytest
from temporalio.client import WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from tests.support.talk import Talk, raw

BAD_SIGNALS: list[tuple[str, list[Any], str]] = [
    ("user_message", [], "a message needs text"),
    ("user_message", [None], "a message needs text"),
    ("user_message", ["one", "two"], "takes one argument, got 2"),
    ("user_message", [5], "takes an object, not int"),
    ("user_message", [["a", "list"]], "takes an object, not list"),
    ("user_message", [{"text": "hello"}], "has no field 'text'"),
    ("user_message", [{"content": None}], "content must be a string or a list"),
    ("user_message", [{"content": {"text": "hello"}}], "content must be a string or a list"),
    ("user_message", [{"content": ["hello"]}], "a content block must be an object"),
    ("user_message", [{"content": [{"type": "text"}]}], "a text block needs 'text'"),
    ("user_message", [{"content": [{"type": "text", "text": 5}]}], "a text block needs 'text'"),
    ("user_message", [{"content": [{"type": "tool_result"}]}], "unknown block type"),
    ("user_message", [{"content": [{"text": "hello"}]}], "unknown block type"),
    ("user_message", [{"content": "hello", "id": 5}], "id must be a string"),
    ("user_message", [{"content": "hello", "id": ""}], "id must be a string"),
    ("user_message", [{"content": "hello", "pinned": "yes"}], "pinned must be true or false"),
    ("user_message", [raw(b"\x00\xff", "binary/plain")], "binary/plain; it must be JSON"),
    ("compact", ["shorter please"], "compact takes an object, not str"),
    ("compact", [{"instructions": 5}], "instructions must be a string"),
    ("compact", [{"instruction": "short"}], "has no field 'instruction'"),
    ("compact", [None, None], "takes one argument, got 2"),
    ("close", [{"now": True}], "close takes no argument"),
    ("close", ["please"], "close takes no argument"),
    ("user_mesage", ["hello"], "signal user_mesage: unknown"),
    ("user_mesage", [], "signal user_mesage: unknown"),
    ("user_mesage", ["one", "two"], "signal user_mesage: unknown"),
    ("ask", ["hello"], "signal ask: unknown"),
]

# None of these can be read: broken JSON, an encoding that only the sender knows, bytes that are
# not UTF-8, and JSON that is nested too deeply.
UNREADABLE = {
    "latin": raw(b'"caf\xe9"'),
    "broken": raw(b'{"content": '),
    "encoding": raw(b"hello", "binary/homemade"),
    "deep": raw(b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
}


async def test_a_signal_that_is_wrong_is_noted_and_the_next_one_served(talk: Talk) -> None:
    await talk.start()
    for name, args, words in BAD_SIGNALS:
        before = len(await talk.errors())
        await talk.signal(name, *args)
        await talk.noted(words)
        assert len(await talk.errors()) in (before + 1, 20), (name, args)
    reply = await talk.ask("hello")
    assert reply.text == "I heard: hello"
    # Of two arguments the first is used.
    assert "one" in await talk.user_texts()


async def test_a_signal_that_cannot_be_read_is_noted(talk: Talk) -> None:
    await talk.start()
    for number, payload in enumerate(UNREADABLE.values(), start=1):
        await talk.signal("user_message", payload)
        assert (await talk.ask(f"hello {number}")).turn == number
        assert len(await talk.errors()) == number


async def test_half_of_a_surrogate_pair_in_json_is_replaced(talk: Talk) -> None:
    """O13: the SDK's own converters drop such a signal without a word."""
    await talk.start(raw(b'{"system": "x\\ud83dy"}'))
    await talk.signal("user_message", raw(b'"x\\ud83dy"'))
    await talk.update("ask", raw(b'{"content": "\\udc88 and \\ud83d\\ude00", "id": "\\udc88"}'))
    await talk.turns(2)
    assert await talk.user_texts() == ["x\ufffdy", "\ufffd and 😀"]
    assert (await talk.check_context())["system"] == "x\ufffdy"


async def test_signals_that_are_wrong_do_not_stop_a_conversation_that_they_start(
    talk: Talk,
) -> None:
    for number, (name, args) in enumerate([("user_mesage", []), ("user_message", ["a", "b"])]):
        other = Talk(talk.client, f"{talk.id}-{number}", talk.queue, talk.script)
        await other.client.start_workflow(
            "ConversationWorkflow",
            id=other.id,
            task_queue=other.queue,
            start_signal=name,
            start_signal_args=args,
        )
        await other.noted(name)
        await other.ask("hello")
        await other.end()
        await other.check_sound()
    await talk.start()


BAD_UPDATES: list[tuple[str, list[Any], str]] = [
    ("ask", [], "a message needs text"),
    ("ask", ["one", "two"], "takes one argument, got 2"),
    ("ask", [5], "takes an object, not int"),
    ("ask", [{"text": "hello"}], "has no field 'text'"),
    ("ask", [{"content": "hello", "id": ["a"]}], "id must be a string"),
    ("ask", [raw(b"\x00", "binary/plain")], "binary/plain; it must be JSON"),
    ("import_messages", [], "an import takes an object, not NoneType"),
    ("import_messages", ["hello"], "an import takes an object, not str"),
    ("import_messages", [{"messages": []}], "a list that is not empty"),
    ("import_messages", [{"messages": "hello"}], "a list that is not empty"),
    ("import_messages", [{"messages": ["hello"]}], "message 1: an imported message takes"),
    ("import_messages", [{"message": []}], "an import has no field 'message'"),
    ("import_messages", [{"messages": []}, 2], "takes one argument, got 2"),
]


async def test_an_update_that_is_wrong_is_refused_with_one_sentence(talk: Talk) -> None:
    await talk.start()
    for name, args, words in BAD_UPDATES:
        with pytest.raises(WorkflowUpdateFailedError) as caught:
            await talk.update(name, *args)
        cause = caught.value.cause
        assert isinstance(cause, ApplicationError)
        assert cause.type == "Refused"
        assert words in cause.message
        assert "\n" not in cause.message
    assert (await talk.ask("hello")).text == "I heard: hello"


async def test_an_update_that_cannot_be_read_is_refused(talk: Talk) -> None:
    await talk.start()
    for payload in UNREADABLE.values():
        with pytest.raises(WorkflowUpdateFailedError):
            await talk.update("ask", payload)
    assert (await talk.ask("hello")).text == "I heard: hello"


async def test_an_unknown_update_is_refused(talk: Talk) -> None:
    await talk.start()
    with pytest.raises(WorkflowUpdateFailedError):
        await talk.update("aks", "hello")
    assert (await talk.ask("hello")).text == "I heard: hello"


BAD_QUERIES: list[tuple[str, list[Any], str | None]] = [
    ("context", ["many"], "max_tokens must be a whole number"),
    ("context", [{"max_tokens": "many"}], "max_tokens must be a whole number"),
    ("context", [{"max_tokens": True}], "max_tokens must be a whole number"),
    ("context", [{"max_tokens": 2.5}], "max_tokens must be a whole number"),
    ("context", [{"max_tokens": -1}], None),
    ("context", [1, 2, 3], None),
    ("context", [raw(b"\x00", "binary/plain")], "binary/plain; it must be JSON"),
    ("reply", [99], "the reply of turn 99 is not kept"),
    ("reply", [{"turn": "first"}], "turn must be a whole number"),
    ("reply", [0], "the reply of turn 0 is not kept"),
    ("reply", [None, None], None),
    ("memory", ["anything"], None),
    ("status", [{"x": 1}, 2], None),
    ("transcript", [5], None),
    ("material", [], ""),
    ("material", [{"of": {}}], ""),
    ("contexts", [], "contexts"),
]


async def test_a_query_that_is_wrong_says_why_and_changes_nothing(talk: Talk) -> None:
    await talk.start()
    await talk.ask("hello")
    before = await talk.query("context")
    for name, args, words in BAD_QUERIES:
        if words is None:
            await talk.query(name, *args)
            continue
        with pytest.raises(WorkflowQueryFailedError) as caught:
            await talk.query(name, *args)
        assert words in str(caught.value)
    assert await talk.query("context") == before
    assert await talk.errors() == []


async def test_the_reply_of_a_conversation_without_turns(talk: Talk) -> None:
    await talk.start()
    with pytest.raises(WorkflowQueryFailedError, match="there is no reply yet"):
        await talk.query("reply")


BAD_CONFIGS: dict[str, tuple[list[Any], str]] = {
    "string": (["be nice"], "config: input should be"),
    "list": ([[1, 2]], "config: input should be"),
    "number": ([7], "config: input should be"),
    "bytes": ([raw(b"\x00\x01", "binary/plain")], "binary/plain; it must be JSON"),
    "unknown field": ([{"sytem": "x"}], "config sytem: there is no such field"),
    "unknown budget": ([{"policy": {"budget": 5}}], "policy.budget: there is no such field"),
    "negative": ([{"policy": {"message_budget": -5}}], "policy.message_budget"),
    "tiny": ([{"policy": {"message_budget": 5}}], "policy.message_budget"),
    "text for a number": ([{"policy": {"message_budget": "big"}}], "policy.message_budget"),
    "over the window": ([{"policy": {"message_budget": 300_000}}], "must be smaller than"),
    "ratio below one": ([{"policy": {"target_ratio": 0.5}}], "policy.target_ratio"),
    "share over one": ([{"policy": {"observe_at": 85}}], "policy.observe_at"),
    "not a number": ([raw(b'{"policy": {"observe_at": NaN}}')], "NaN is not a JSON number"),
    "no turns per run": ([{"turns_per_run": 0}], "turns_per_run"),
    "wrong type": ([{"system": ["a"]}], "config system"),
    "blank model": ([{"model": ""}], "config model"),
    "long title": ([{"title": "x" * 201}], "config title"),
    "two arguments": ([{"system": "s"}, {"title": "t"}], "takes one argument, got 2"),
    "state of another kind": ([{"carried": "x"}], ""),
    "state with a fault": ([{"carried": {"turns": "many"}}], ""),
    "state without tiling": ([{"carried": {"memory": {"next_seq": 7}}}], ""),
    **{f"unreadable: {name}": ([payload], "") for name, payload in UNREADABLE.items()},
}


@pytest.mark.parametrize(("args", "words"), BAD_CONFIGS.values(), ids=BAD_CONFIGS)
async def test_a_bad_start_configuration_is_noted_and_the_conversation_runs(
    talk: Talk, args: list[Any], words: str
) -> None:
    await talk.start(*args)
    assert (await talk.ask("hello")).text == "I heard: hello"
    errors = await talk.errors()
    assert len(errors) == 1
    assert words in errors[0]
    assert "\n" not in errors[0]


@pytest.mark.parametrize("config", [[], [None], [{}], [{"system": None}]])
async def test_a_start_without_configuration_runs_on_defaults(
    talk: Talk, config: list[Any]
) -> None:
    await talk.start(*config)
    assert (await talk.ask("hello")).text == "I heard: hello"
    assert await talk.errors() == []


STORED = {
    "sha256": "0" * 64,
    "size": 50_000,
    "tokens": 10_000,
    "full": True,
    "head": "once",
    "tail": "after",
}
# Blocks that are objects of a known type and wrong inside.
ODD_BLOCKS: dict[str, dict[str, Any]] = {
    "document of strings": {
        "type": "document",
        "source": {"type": "content", "content": ["text", 5]},
    },
    "document of nothing": {"type": "document", "source": {}},
    "image of a number": {"type": "image", "source": {"type": "base64", "data": 5}},
    "image of no base64": {"type": "image", "source": {"type": "base64", "data": "%%%"}},
    "search result of strings": {"type": "search_result", "content": ["text"]},
    "call in the archive": {"type": "tool_use", "stored": STORED},
    "result in the archive": {"type": "tool_result", "stored": STORED},
    "text that the archive does not have": {"type": "text", "stored": STORED},
    "infinite score": {"type": "text", "text": "hello", "score": float("inf")},
}


@pytest.mark.parametrize("block", ODD_BLOCKS.values(), ids=ODD_BLOCKS)
async def test_a_block_that_is_wrong_inside_is_refused_or_carried(
    talk: Talk, block: dict[str, Any]
) -> None:
    await talk.start()
    for wild in (block, {**block, "type": "search_result"}):
        message = {"content": [{"type": "text", "text": "see this"}, wild], "pinned": True}
        await talk.signal("user_message", message)
    await talk.ask("hello")
    await talk.query("transcript")
    await talk.query("context_text")
    await talk.ask("word " * 400)
    await talk.signal("compact")
    await talk.ask("go on")
    assert (await talk.close())["turns"] >= 3


@pytest.mark.parametrize("depth", [90, 250, 900])
async def test_a_deep_value_is_refused_or_carried(talk: Talk, depth: int) -> None:
    await talk.start({"turns_per_run": 2})
    deep = b'{"content": [{"type": "text", "text": "deep", "more": %s%s}]}'
    await talk.signal("user_message", raw(deep % (b"[" * depth, b"]" * depth)))
    for number in range(3):
        await talk.ask(f"hello {number}")
    await talk.query("context")
    await talk.query("transcript")
