"""The recorded histories run to the same contexts and summaries on today's code."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHistory

import worker
from perdure.archive import Archive
from perdure.replay import ReplayReport, _Collector, _sent_out, replay_histories
from tests.histories.record import STORIES, load
from tests.support.scripted import Scripted, serving
from tests.support.talk import Talk, until
from workflows.guard import GuardInterceptor

ROOT = Path(__file__).parents[1]
COMPACTED = ("compacted", "continued", "tools")
CONTINUED = ("continued", "tools")
# Prints what each recorded story replays to, in a process with another hash seed.
_REPLAY = """
import asyncio, os
from tests.histories.record import STORIES, load
from tests.test_replay import replayed

async def main():
    for name in STORIES:
        print(name, (await replayed(load(name))).model_dump_json(), flush=True)

asyncio.run(main())
# Python 3.11 may abort in its finalization while a thread of the replay worker still lives.
os._exit(0)
"""


async def replayed(histories: list[WorkflowHistory]) -> ReplayReport:
    return await replay_histories(histories, worker.WORKFLOWS, [GuardInterceptor()])


@pytest.mark.parametrize("name", STORIES)
async def test_a_recorded_history_replays_to_the_same_words(name: str) -> None:
    histories = load(name)
    report = await replayed(histories)
    assert not report.differences, report.differences
    assert report.identical
    assert report.runs == len(histories)
    assert report.contexts >= 3
    assert (report.summaries >= 3) is (name in COMPACTED)
    assert (report.runs >= 3) is (name in CONTINUED)


def test_hash_seeds_change_nothing() -> None:
    seeds = ("0", "1", "random")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _REPLAY],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in seeds
    ]
    printed = [process.communicate(timeout=100)[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    assert len({tuple(reports(text)) for text in printed}) == 1
    assert [name for name, _ in reports(printed[0])] == list(STORIES)
    for _, line in reports(printed[0]):
        assert ReplayReport.model_validate_json(line).identical


def reports(printed: str) -> list[tuple[str, str]]:
    """Story and report of each line, without what Temporal's core logs between them."""
    lines = [line.partition(" ") for line in printed.splitlines()]
    return [(name, report) for name, _, report in lines if name in STORIES]


def rewritten(
    histories: list[WorkflowHistory], change: Callable[[int, dict[str, Any]], None]
) -> list[WorkflowHistory]:
    """The histories after `change` was called with the run and every event, as JSON."""
    changed = []
    for number, history in enumerate(histories):
        events = json.loads(history.to_json())
        for event in events["events"]:
            change(number, event)
        changed.append(WorkflowHistory.from_json(history.workflow_id, events))
    return changed


def _payload(holder: dict[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = holder["payloads"][0]
    return payload


def _change_payload(holder: dict[str, Any], change: Callable[[Any], None]) -> None:
    payload = _payload(holder)
    value = json.loads(base64.b64decode(payload["data"]))
    change(value)
    payload["data"] = base64.b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize("name", COMPACTED)
async def test_another_word_in_a_recorded_summary_is_a_difference(name: str) -> None:
    done: list[str] = []

    def spoil(result: Any) -> None:
        compacted = result.get("compacted") if isinstance(result, dict) else None
        if compacted and not done:
            done.append(compacted["content"])
            compacted["content"] = compacted["content"].replace("e", "x", 1)

    def change(_: int, event: dict[str, Any]) -> None:
        completed = event.get("activityTaskCompletedEventAttributes", {}).get("result")
        if completed and "data" in _payload(completed):
            _change_payload(completed, spoil)

    report = await replayed(rewritten(load(name), change))
    assert len(done) == 1
    assert not report.identical


async def test_another_recorded_hash_of_a_context_is_a_difference() -> None:
    done: list[str] = []

    def change(_: int, event: dict[str, Any]) -> None:
        scheduled = event.get("activityTaskScheduledEventAttributes", {})
        if scheduled.get("activityType", {}).get("name") == "reply" and not done:
            done.append(event["eventId"])
            _change_payload(scheduled["input"], lambda ref: ref.update(sha256="0" * 64))

    report = await replayed(rewritten(load("plain"), change))
    assert len(done) == 1
    assert len(report.differences) == 1
    assert "reply" in report.differences[0]
    assert report.contexts == (await replayed(load("plain"))).contexts - 1


async def test_another_reply_is_a_difference_in_the_next_context() -> None:
    done: list[str] = []

    def spoil(result: Any) -> None:
        if isinstance(result, dict) and result.get("content") and not done:
            done.append("once")
            result["content"] = [{"type": "text", "text": "another reply"}]

    def change(_: int, event: dict[str, Any]) -> None:
        completed = event.get("activityTaskCompletedEventAttributes", {}).get("result")
        if completed and "data" in _payload(completed):
            _change_payload(completed, spoil)

    report = await replayed(rewritten(load("plain"), change))
    assert done
    assert not report.identical


async def test_another_state_at_the_start_of_a_run_is_a_difference() -> None:
    def change(number: int, event: dict[str, Any]) -> None:
        started = event.get("workflowExecutionStartedEventAttributes")
        if started and number == 1:
            _change_payload(started["input"], lambda value: value["carried"].update(turns=99))

    report = await replayed(rewritten(load("continued"), change))
    assert any("it got another state" in difference for difference in report.differences)


async def test_a_history_that_breaks_off_is_no_difference() -> None:
    """A conversation that runs is replayed up to where it stands."""
    histories = load("plain")
    events = json.loads(histories[0].to_json())["events"]
    starts = [n for n, e in enumerate(events) if "workflowTaskScheduledEventAttributes" in e]
    cut = WorkflowHistory.from_json("cut", {"events": events[: starts[-1]]})
    report = await replayed([cut])
    assert not report.differences, report.differences


async def test_without_a_cache_every_task_replays_the_run(client: Client, server_url: str) -> None:
    queue = f"uncached-{uuid.uuid4().hex[:8]}"
    scripted = Scripted()
    talk = Talk(client, f"on-{queue}", queue, scripted.script(f"on-{queue}"))
    async with (
        await Archive.open(server_url) as archive,
        serving(client, scripted, archive, queue, max_cached_workflows=0),
    ):
        policy = {"message_budget": 400, "observation_budget": 100, "observe_chunk": 200}
        await talk.start({"policy": policy, "turns_per_run": 5})
        for number in range(5):
            asked = talk.ask(f"number {number}: " + "word " * 60)
            await asyncio.gather(asked, talk.say(f"aside {number}"))

        async def all_asked() -> bool:
            return len(talk.script.requests) == 10

        # Not by queries: without a cache the SDK now and then drops a task beside one.
        await until(all_asked, seconds=60)
        await talk.turns(10, seconds=60)
        assert len(await talk.query("compactions")) >= 1
        await talk.check_tiling()
        await talk.check_context()
        # No step was stale: each model call got the context whose hash was recorded.
        assert len(talk.script.requests) == 10
        await talk.end()
        await talk.check_sound()
        assert (await talk.replay()).contexts == 10


async def test_what_was_cancelled_before_it_was_sent_makes_no_difference() -> None:
    """Scheduled, cancelled and scheduled again in one workflow task: one event tells of both."""

    def ended(*, cancelled: bool) -> Any:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel() if cancelled else future.set_result(None)
        return future

    archive, reply = ("archive", {"seq": 1}), ("reply", {"turn": 1})
    replayed = _Collector()
    replayed.run.scheduled = [archive, archive, reply, archive]
    replayed.handles = [ended(cancelled=c) for c in (True, False, False, True)]
    assert _sent_out([archive, reply], replayed) == [archive, reply]
    assert _sent_out([archive, archive, reply, archive], replayed) == replayed.run.scheduled
    replayed.handles[-1] = ended(cancelled=False)
    assert _sent_out([archive, reply], replayed) == [archive, reply, archive]
