"""The activity `call_tool`: tools that raise, hang, and return what nobody should."""

import asyncio
import base64
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.tools import CallingTools
from perdure.archive import Archive
from perdure.archive.claims import claim, unclaim
from perdure.contract import INLINE_BYTES, CallRef, Held, MaterialPage, Resumed, ToolResult
from perdure.entrance import size_of
from perdure.memory.blocks import to_text
from perdure.memory.state import Memory, append, pin
from perdure.memory.stored import cut, is_stored
from perdure.model.pool import Pool
from perdure.tools import Image, Tool, ToolContext, ToolError, tool
from perdure.tools.registry import worker_tools
from tests.support.conversations import START

REF = CallRef(turn=3, step=2, tool_use_id="toolu_1")
Call = Callable[..., Awaitable[ToolResult]]


class Workflow:
    """The only thing that the activity asks of Temporal: queries and signals of its workflow."""

    def __init__(self, material: object, held: Held | None = None) -> None:
        self._material = material
        self._held = held
        self.signals: list[tuple[str, Any]] = []

    def get_workflow_handle(self, id_: str, run_id: str | None = None) -> "Workflow":
        return self

    async def query(self, name: str, query: Any, result_type: type) -> MaterialPage:
        held = "held" in query.of and self._held
        text = held.model_dump_json() if held else json.dumps(self._material)
        return MaterialPage(text=text, size=len(text))

    async def signal(self, name: str, payload: Any) -> None:
        self.signals.append((name, payload))


@pytest.fixture(scope="module")
async def archive(server_url: str) -> AsyncIterator[Archive]:
    async with await Archive.open(server_url) as opened:
        yield opened


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[Pool]:
    async with Pool() as made:
        yield made


def environment(workflow: Workflow, **info: Any) -> ActivityEnvironment:
    made = ActivityEnvironment(cast("Client", workflow))
    made.info = replace(made.info, workflow_id="desk", **info)
    return made


@pytest.fixture
def call(archive: Archive, pool: Pool) -> Call:
    """Calls a tool once, in its first attempt unless told otherwise."""

    async def called(
        each: Tool,
        ref: CallRef = REF,
        archive: Archive = archive,
        held: Held | None = None,
        workflow: Workflow | None = None,
        attempt: int = 1,
        **given: object,
    ) -> ToolResult:
        workflow = workflow or Workflow({"name": each.name, "input": given, "chain": "c"}, held)
        calling = CallingTools({each.name: each}, pool, archive)
        return await environment(workflow, attempt=attempt).run(calling.call_tool, ref)

    return called


def text_of(result: ToolResult) -> str:
    return to_text(result.content)


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@tool
async def add_slowly(a: int) -> int:
    """Add."""
    await asyncio.sleep(0)
    return a + 1


async def test_a_call_gives_what_the_function_returns_and_what_it_weighs(call: Call) -> None:
    result = await call(add, a=2)
    assert result.content == [{"type": "text", "text": "3"}]
    assert not result.is_error
    assert result.tokens is not None
    assert 10 < result.tokens < 60
    assert text_of(await call(add_slowly, a=2)) == "3"


async def test_wrong_arguments_and_unknown_tools_are_told_to_the_model(
    call: Call, archive: Archive, pool: Pool
) -> None:
    result = await call(add, a="many")
    assert result.is_error
    assert text_of(result).startswith("add was not called: the argument a: input should be a valid")
    gone = Workflow({"name": "subtract", "input": {}, "chain": "c"})
    result = await environment(gone).run(CallingTools({"add": add}, pool, archive).call_tool, REF)
    assert result.is_error
    assert text_of(result) == "there is no tool 'subtract'; there are add"


async def test_a_call_of_a_turn_that_is_over_is_not_made(call: Call) -> None:
    with pytest.raises(ApplicationError, match="the turn of this call is over") as refused:
        await call(add, workflow=Workflow(None))
    assert refused.value.non_retryable


@tool
def breaks(how: str) -> str:
    """Break."""
    if how == "exit":
        sys.exit(3)
    if how == "told":
        raise ToolError("the order 7\0 is closed")
    raise RuntimeError(f"line one\nline two \udc88 {'x' * 2_000}")


async def test_an_exception_fails_the_attempt_in_one_short_line(call: Call) -> None:
    with pytest.raises(ApplicationError) as failed:
        await call(breaks, how="loud")
    assert failed.value.message.startswith(
        "breaks failed with RuntimeError: line one line two \ufffd"
    )
    assert len(failed.value.message) < 600
    assert (failed.value.type, failed.value.non_retryable) == ("RuntimeError", False)
    assert failed.value.__cause__ is None


async def test_a_tool_that_leaves_the_program_fails_like_any_other(call: Call) -> None:
    @tool
    async def leaves() -> None:
        """Leave."""
        sys.exit(3)

    with pytest.raises(ApplicationError, match=r"SystemExit\(3\)"):
        await call(breaks, how="exit")
    with pytest.raises(ApplicationError, match="leaves failed with SystemExit: 3"):
        await call(leaves)


async def test_a_search_that_finds_nothing_fails_like_any_other(call: Call) -> None:
    @tool
    def first() -> str:
        """Find the first."""
        return next(iter(()))

    with pytest.raises(ApplicationError, match=r"first failed with RuntimeError: StopIteration"):
        await asyncio.wait_for(call(first), 20)


async def test_what_a_tool_generates_is_gathered_away_from_the_loop(call: Call) -> None:
    threads: list[threading.Thread] = []

    @tool
    def lines() -> Iterator[int]:
        """Generate."""
        threads.append(threading.current_thread())
        yield from (1, 2)

    @tool
    async def pages() -> AsyncIterator[str]:
        """Generate."""
        yield "a"
        await asyncio.sleep(0)
        yield "b"

    assert text_of(await call(lines)) == "[1,2]"
    assert threads != [threading.current_thread()]
    assert text_of(await call(pages)) == '["a","b"]'


async def test_a_tool_error_is_the_result_and_nothing_is_tried_again(call: Call) -> None:
    result = await call(breaks, how="told")
    assert result.is_error
    assert text_of(result) == "the order 7\ufffd is closed"


async def test_output_that_is_not_json_is_told_to_the_model(call: Call) -> None:
    @tool
    def strange() -> object:
        """Be strange."""
        return {"made": object()}

    result = await call(strange)
    assert result.is_error
    assert text_of(result).startswith("strange ended, but its result, dict, is not JSON")


async def test_nul_and_lone_surrogates_are_cleaned(call: Call) -> None:
    @tool
    def dirty() -> str:
        """Be dirty."""
        return "a\0b\ud83d 👩‍🍳"

    assert text_of(await call(dirty)) == "a\ufffdb\ufffd 👩‍🍳"


@tool
def large() -> str:
    """Two million characters."""
    half = "flour " * 166_666
    return f"MARK-START {half} MARK-MIDDLE {half} MARK-END"


async def test_two_megabytes_are_shown_by_head_and_tail_and_kept_whole(
    call: Call, archive: Archive
) -> None:
    result = await call(large)
    (block,) = result.content
    assert is_stored(block)
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "toolu_1")
    assert size_of(result.content) < 5_000
    shown = str(cut(block)["content"])
    assert "MARK-START" in shown
    assert "MARK-END" in shown
    assert "MARK-MIDDLE" not in shown
    assert "left out here" in shown
    assert "kept in the archive" in shown
    assert result.tokens is not None
    assert result.tokens < 10_000
    (whole,) = await unclaim(archive, result.content)
    assert "MARK-MIDDLE" in to_text([whole])


async def test_two_megabytes_are_cut_with_a_notice_while_the_archive_is_away(call: Call) -> None:
    async with await Archive.open("postgresql://nobody@127.0.0.1:1/none") as away:
        result = await call(large, archive=away)
        small = await call(add, archive=away, a=1)
    assert size_of(result.content) < INLINE_BYTES
    shown = text_of(result)
    assert "MARK-START" in shown
    assert "MARK-END" in shown
    assert "which are lost, since the archive did not answer" in shown
    assert text_of(small) == "2"


async def test_a_picture_weighs_its_pixels_wherever_it_stands(call: Call) -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (750).to_bytes(4) + (1_000).to_bytes(4)

    @tool
    def photograph(kilobytes: int) -> list[object]:
        """Take a picture."""
        return ["Here it is.", Image(png + os.urandom(1_000 * kilobytes))]

    small, big = await call(photograph, kilobytes=1), await call(photograph, kilobytes=150)
    assert [block["type"] for block in small.content] == ["text", "image"]
    assert [block["type"] for block in big.content] == ["tool_result"]
    for result in (small, big):
        assert result.tokens is not None
        assert 1_000 < result.tokens < 1_150
    assert base64.b64encode(png[:12]).decode() not in json.dumps(big.content)


async def test_arguments_that_were_too_big_come_from_the_archive(
    call: Call, archive: Archive
) -> None:
    @tool
    def measure(text: str) -> int:
        """Measure."""
        return len(text)

    block = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "measure",
        "input": {"text": "x" * 50_000},
    }
    data = json.dumps(block).encode()
    blob = await archive.put_blob("default", "desk", data, "application/json")
    for sha256, said in ((blob.sha256, "50000"), ("0" * 64, "its arguments were stored")):
        material = {"name": "measure", "stored": {"sha256": sha256}, "chain": "c"}
        assert said in text_of(await call(measure, workflow=Workflow(material)))


async def test_a_null_among_arguments_that_are_stored_stays_one(archive: Archive) -> None:
    given = {"text": "x" * 50_000, "parent": None, "at": [{"day": None}]}
    block = {"type": "tool_use", "id": "toolu_1", "name": "measure", "input": given}
    claimed = await claim(archive, "default", "desk", [block])
    assert is_stored(claimed[0])
    assert await unclaim(archive, claimed) == [block]


async def test_the_idempotency_key_is_that_of_the_call(call: Call) -> None:
    seen: list[tuple[str, int]] = []

    @tool
    def pay(context: ToolContext) -> None:
        """Pay."""
        assert (context.turn, context.conversation.id) == (3, "desk")
        seen.append((context.idempotency_key, context.attempt))

    await call(pay)
    await call(pay, attempt=2)
    await call(pay, ref=REF.model_copy(update={"tool_use_id": "toolu_2"}))
    await call(pay, workflow=Workflow({"name": "pay", "input": {}, "chain": "another life"}))
    (first, one), (again, two), (other, _), (reborn, _) = seen
    assert first == again
    assert len({first, other, reborn}) == 3
    assert (one, two) == (1, 2)
    assert len(first) == 32
    assert int(first, 16)


async def test_a_cancelled_call_ends_at_once_also_while_its_thread_hangs(
    archive: Archive, pool: Pool
) -> None:
    begun, release = threading.Event(), threading.Event()

    @tool
    def hangs() -> None:
        """Hang."""
        begun.set()
        release.wait(60)

    cleaned: list[str] = []

    @tool
    async def waits() -> None:
        """Wait."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("up")

    for each in (hangs, waits):
        begun.clear()
        beats: list[object] = []
        running = environment(Workflow({"name": each.name, "input": {}, "chain": "c"}))
        running.on_heartbeat = lambda *details, beats=beats: beats.append(details)
        calling = CallingTools({each.name: each}, pool, archive)
        task = asyncio.ensure_future(running.run(calling.call_tool, REF))
        await asyncio.to_thread(begun.wait, 20)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)
        assert beats
    assert cleaned == ["up"]
    release.set()


async def test_thirty_calls_that_hang_hold_nobody_up(call: Call) -> None:
    barrier = threading.Barrier(30)

    @tool
    def meets() -> str:
        """Wait for all the others."""
        barrier.wait(30)
        return "met"

    results = await asyncio.gather(*(call(meets) for _ in range(30)))
    assert {text_of(result) for result in results} == {"met"}


# The tools that every worker has


def held(memory: Memory) -> Held:
    return Held(chain="c", resumable=Resumed(memory=memory, turns=1, rows=0))


def talk(count: int, size: int = 10) -> Memory:
    memory = Memory()
    for number in range(count):
        role: Any = "assistant" if number % 2 else "user"
        said = [{"type": "text", "text": f"message {number} {'x' * size}"}]
        memory = append(memory, role, said, START)
    return memory


async def test_now_tells_the_time_of_a_zone(call: Call) -> None:
    now = worker_tools(None)["now"]
    assert "+0000 (UTC)" in text_of(await call(now))
    assert "(Europe/Vienna)" in text_of(await call(now, zone="Europe/Vienna"))
    for zone in ("Mars/Olympus", "../etc/passwd", ""):
        result = await call(now, zone=zone)
        assert result.is_error
        assert "use a name like Europe/Vienna" in text_of(result)


async def test_remember_pins_a_text_once(call: Call) -> None:
    remember = worker_tools(None)["remember"]
    given = {"name": "remember", "input": {"text": "HM-48213"}, "chain": "c"}
    workflow = Workflow(given, held(Memory()))
    assert text_of(await call(remember, workflow=workflow)) == "kept"
    assert workflow.signals == [("pin", {"text": "HM-48213"})]
    once = pin(Memory(), "HM-48213", START, 4)
    assert pin(once, "HM-48213", START, 4) is once
    for text in (" ", "x" * 30_000):
        assert (await call(remember, text=text)).is_error
    full = pin(Memory(), "all that fits", START, 48_000)
    result = await call(remember, text="one more", held=held(full))
    assert result.is_error
    assert "a quarter of the window; 48,000 are taken, and this has" in text_of(result)
    assert text_of(await call(remember, text="all that fits", held=held(full))) == "kept"


async def test_expand_reads_the_messages_of_a_range_as_far_as_there_is_room(call: Call) -> None:
    expand = worker_tools(None)["expand"]
    result = await call(expand, held=held(talk(4)), what="1-2")
    assert text_of(result).splitlines() == [
        f"1 assistant, {START:%Y-%m-%d %H:%M}: message 1 {'x' * 10}",
        f"2 user, {START:%Y-%m-%d %H:%M}: message 2 {'x' * 10}",
    ]
    long = text_of(await call(expand, held=held(talk(10, 3_000)), what="0-9"))
    assert len(long) < 9_000
    assert long.endswith("[ask for 2-9 to read on]")
    huge = text_of(await call(expand, held=held(talk(1, 30_000)), what="0"))
    assert "characters are left out]" in huge
    assert len(huge) < 9_000


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("L1.0-3", "there is no summary 'L1.0-3'; give the id of one, or messages, like 12-20"),
        ("7", "the messages are numbered 0 to 3"),
        ("3-1", "there are no such messages"),
    ],
)
async def test_expand_says_what_is_not_there(call: Call, what: str, words: str) -> None:
    expand = worker_tools(None)["expand"]
    assert text_of(await call(expand, held=held(talk(4)), what=what)) == words
