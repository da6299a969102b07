"""Messages that were spoken elsewhere: taken in whole or not at all."""

from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError

from perdure.contract import ImportReceipt
from perdure.errors import Refused
from tests.support.requests import violations
from tests.support.scripted import lasting
from tests.support.talk import Talk, texts

CALL = {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "sky"}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "blue"}
POLICY = {"message_budget": 1_000, "observe_chunk": 300}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


async def test_messages_are_appended_with_their_times_and_no_reply(talk: Talk) -> None:
    await talk.start()
    receipt = await talk.facade.import_messages(
        [
            user("hi", at="2023-05-08T13:56:00"),
            assistant("hello", at="2023-05-08T15:57:00+02:00"),
            user("look"),
            assistant([CALL]),
            user([RESULT]),
            assistant("blue it is"),
        ]
    )
    assert receipt == ImportReceipt(first_seq=0, last_seq=5)
    assert talk.script.requests == []
    transcript = await talk.query("transcript")
    times = [datetime.fromisoformat(m["at"]) for m in transcript]
    assert times[:2] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2023, 5, 8, 13, 57, tzinfo=UTC),
    ]
    assert times[2].year > 2023
    assert all(m["tokens"] > 0 for m in transcript)
    await talk.check_context()
    assert (await talk.ask("and now?")).turn == 1
    assert not violations({"system": "-", "messages": talk.script.requests[-1]["messages"]})


async def test_an_import_over_the_budgets_is_compacted_before_it_is_confirmed(
    talk: Talk,
) -> None:
    await talk.start({"policy": POLICY})
    spoken = []
    for number in range(60):
        at = f"2023-05-{number // 3 + 1:02}T09:{number % 3:02}:00"
        spoken.append(user(f"number {number}: " + "word " * 30, at=at))
        spoken.append(assistant(f"reply {number}:" + " word" * 20, at=at))
    progress: list[int] = []
    receipt = await talk.facade.import_messages(spoken, progress=progress.append)
    assert (receipt.first_seq, receipt.last_seq) == (0, 119)
    assert sum(progress) == 120
    memory = await talk.check_tiling()
    assert memory["messages"]["tokens"] <= 1_000
    entries = memory["observations"]
    assert entries[0]["start_time"].startswith("2023-05-01T09:00:00")
    assert entries[0]["end_time"] < "2023-05-21"
    shown = await talk.query("context_text")
    assert shown.startswith("[Summary 2023-05-01 09:00 - ")
    await talk.check_context()


async def test_the_same_batch_counts_once(talk: Talk) -> None:
    await talk.start()
    batch = {"messages": [user("hi"), assistant("hello")], "id": "batch"}
    first = await talk.update("import_messages", batch)
    assert await talk.update("import_messages", batch) == first
    assert (await talk.query("memory"))["next_seq"] == 2
    assert await talk.facade.import_messages(batch["messages"], id="other") == ImportReceipt(
        first_seq=2, last_seq=3
    )


FAULTY: list[tuple[list[Any], str]] = [
    ([user("hi"), {"role": "system", "content": "x"}], "message 2: unknown role 'system'"),
    ([user("hi"), {"content": "x"}], "message 2: unknown role None"),
    ([user([{"type": "video", "url": "x"}])], "message 1: unknown block type 'video'"),
    ([user("hi"), assistant(" ")], "message 2: the message is empty"),
    ([user("hi", at="yesterday")], "message 1: 'yesterday' is not an ISO 8601 time"),
    ([user("hi", time="2023")], "message 1: an imported message has no field 'time'"),
    ([user("hi"), user([RESULT])], "message 2: the tool result 'a' has no tool call"),
    ([assistant([CALL])], "the tool call 'a' has no result"),
    ([assistant([CALL]), user("so?")], "message 2: the tool call 'a' has no result"),
    ([user("x" * 1_900_001)], "message 1: the message has"),
    (["hi"], "message 1: an imported message takes an object, not str"),
]


async def test_an_import_with_a_fault_leaves_nothing_behind(talk: Talk) -> None:
    await talk.start()
    for messages, words in FAULTY:
        with pytest.raises(Refused) as caught:
            await talk.facade.import_messages(messages)
        assert words in str(caught.value)
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await talk.update("import_messages", {"messages": messages})
        assert words in str(failed.value.cause)
        assert "\n" not in str(failed.value.cause)
    assert (await talk.query("memory"))["next_seq"] == 0
    await talk.ask("hello")


# Whatever is taken in must make a request that the API takes, or be refused.
TRICKY: dict[str, list[dict[str, Any]]] = {
    "the assistant begins": [assistant("Welcome!"), user("hi"), assistant("What can I do?")],
    "the user calls": [user([CALL]), assistant([RESULT]), user("hi")],
    "text before the result": [
        user("hi"),
        assistant([CALL]),
        user([{"type": "text", "text": "here it is"}, RESULT]),
        assistant("thanks"),
    ],
    "two calls with one id": [
        assistant([CALL, CALL]),
        user([RESULT]),
        assistant("thanks"),
    ],
    "one id in two calls": [
        user("hi"),
        assistant([CALL]),
        user([RESULT]),
        assistant([CALL]),
        user([RESULT]),
        assistant("thanks"),
    ],
    "a result twice": [user("hi"), assistant([CALL]), user([RESULT, RESULT]), assistant("ok")],
    "thinking unsigned": [user("hi"), assistant([{"type": "thinking", "thinking": "hm"}])],
    "blank text in a result": [
        user("hi"),
        assistant([CALL]),
        user([{**RESULT, "content": [{"type": "text", "text": ""}]}]),
        assistant("ok"),
    ],
    "users in a row": [user("one"), user("two"), user("three"), assistant("ok"), assistant("yes")],
}


@pytest.mark.parametrize("messages", TRICKY.values(), ids=TRICKY)
async def test_what_was_imported_makes_a_good_request(
    talk: Talk, messages: list[dict[str, Any]]
) -> None:
    await talk.start()
    try:
        await talk.facade.import_messages(messages)
    except Refused as error:
        assert "\n" not in str(error)  # noqa: PT017
    await talk.ask("hello")
    assert not violations({"system": "-", "messages": talk.script.requests[-1]["messages"]})


async def test_a_tool_call_of_an_earlier_import_may_come_again(talk: Talk) -> None:
    """Two transcripts with the same ids, one after the other."""
    await talk.start()
    spoken = [user("look"), assistant([CALL]), user([RESULT]), assistant("blue")]
    for _ in range(2):
        try:
            await talk.facade.import_messages(spoken)
        except Refused as error:
            assert "'a'" in str(error)  # noqa: PT017
    await talk.ask("hello")
    assert not violations({"system": "-", "messages": talk.script.requests[-1]["messages"]})


async def test_a_result_of_anything_but_blocks_is_refused_or_carried(talk: Talk) -> None:
    await talk.start()
    for content in ([5], ["text"], {"a": 1}, 7, None, [{"type": "text"}]):
        try:
            await talk.facade.import_messages(
                [user("look"), assistant([CALL]), user([{**RESULT, "content": content}])]
            )
        except Refused:
            continue
    await talk.query("transcript")
    await talk.query("context_text")
    await talk.ask("hello")
    await talk.close()


async def test_an_import_that_cannot_be_counted_does_not_end_the_conversation(
    talk: Talk,
) -> None:
    await talk.start()
    talk.script.counting.append(lasting("the counters are gone"))
    try:
        await talk.facade.import_messages([user("hi"), assistant("hello")])
    except Refused as error:
        assert "the counters are gone" in str(error)  # noqa: PT017
    assert (await talk.ask("still there?")).text == "I heard: still there?"
    assert "the counters are gone" in " ".join(await talk.errors())


async def test_a_big_import_keeps_calls_and_results_together(talk: Talk) -> None:
    await talk.start({"policy": {**POLICY, "observe_chunk": 5_000, "message_budget": 20_000}})
    spoken = []
    for number in range(150):
        id_ = f"call-{number}"
        spoken += [
            user(f"look {number}"),
            assistant([{**CALL, "id": id_}]),
            user([{**RESULT, "tool_use_id": id_, "content": "x" * 600}]),
            assistant(f"seen {number}"),
        ]
    receipt = await talk.facade.import_messages(spoken)
    assert (receipt.first_seq, receipt.last_seq) == (0, 599)
    await talk.check_tiling()
    await talk.check_context()
    assert texts((await talk.query("context"))["messages"])[-1] == "seen 149"
