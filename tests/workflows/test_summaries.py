"""Summaries through the whole stack: real workflow, worker and SDK, and a scripted API."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import Client

from perdure.archive import Archive, ChainKey
from perdure.errors import Refused
from perdure.memory.observation import Observation
from perdure.model.graded import CALLS
from tests.support.answers import Answer, bad_request, overloaded, refusal, text
from tests.support.messages_api import (
    Body,
    MessagesApi,
    default_rule,
    is_summary,
    last_text,
    summary_of,
)
from tests.support.scripted import Script
from tests.support.talk import Talk, until
from tests.support.wired import wired

SMALL = {"message_budget": 1_000, "observe_at": 1.0, "keep_recent_messages": 2}
FIRST = "The code of the gate is QX-4711. Never mention prices."
LONG = ("We walked along the river and talked about boats and weather for hours. " * 6).strip()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def asked(client: Client, server_url: str) -> AsyncIterator[MessagesApi]:
    """A worker of this module's own queue, whose models are the scripted API."""
    async with wired(client, server_url, "summaries") as api:
        yield api


@pytest_asyncio.fixture(loop_scope="session")
async def api(asked: MessagesApi) -> AsyncIterator[MessagesApi]:
    """The scripted API, with nothing asked of it yet; what is sent must keep the API's rules."""
    asked.requests.clear()
    asked.rule = default_rule
    yield asked
    asked.check(window=200_000)


@pytest_asyncio.fixture(loop_scope="session")
async def talk(client: Client, api: MessagesApi) -> AsyncIterator[Talk]:
    talk = Talk(client, f"summaries-{uuid.uuid4().hex[:8]}", "summaries", Script())
    yield talk
    await talk.end()
    await talk.check_sound()


def summaries(answer: Callable[[Body], Answer]) -> Callable[[Body], Answer]:
    """A rule that changes only what the summariser says."""
    return lambda request: answer(request) if is_summary(request) else default_rule(request)


async def compacted(talk: Talk, policy: dict[str, Any] | None = None) -> dict[str, Any]:
    """Talk beyond the budget, and wait for the first compaction; gives its row."""
    await talk.start({"system": "Be brief.", "policy": {**SMALL, **(policy or {})}})
    await talk.ask(FIRST)
    for number in range(12):
        await talk.ask(f"{number}: {LONG}")
        if (await talk.status())["totals"]["compactions"]:
            break

    async def done() -> bool:
        return bool((await talk.status())["totals"]["compactions"])

    await until(done)
    await talk.check_tiling()
    await talk.check_context()
    row: dict[str, Any] = (await talk.query("compactions"))[0]
    return row


async def test_a_structured_summary_stands_as_text_and_gives_its_fields_back(
    talk: Talk, api: MessagesApi, server_url: str
) -> None:
    row = await compacted(talk)
    entry = Observation.model_validate(row["observation"])
    assert (entry.method, entry.prompt_version) == ("model", "observe-2")
    assert entry.notes is not None
    assert "The code of" in entry.notes.entries[0].text
    assert "QX-4711" in entry.body
    assert f"{entry.heading}\n{entry.content}" in await talk.query("context_text")
    status = await talk.status()
    key = ChainKey("default", talk.id, status["chain"])
    await talk.signal("compact")

    async def archived() -> bool:
        return bool((await talk.status())["archived"]["row"])

    await until(archived)
    async with await Archive.open(server_url) as archive:
        stored = await archive.observation(key, entry.id)
    assert stored is not None
    assert stored.notes == entry.notes


CUT = '{"gist": "Error generating summary'


@pytest.mark.parametrize(
    "bad",
    [
        text(CUT, stop_reason="max_tokens"),
        text("Error generating summary: they talked about a gate."),
        refusal("Error generating summary"),
        bad_request("prompt is too long: 208310 tokens > 200000 maximum"),
    ],
    ids=["cut off", "plain text", "refusal", "too long"],
)
async def test_a_summariser_that_never_gives_a_good_answer_holds_nothing_up(
    talk: Talk, api: MessagesApi, bad: Answer
) -> None:
    """O16, O17, O27: the entry is made without it, after so many calls and no more."""
    api.rule = summaries(lambda _: bad)
    row = await compacted(talk)
    assert row["observation"]["method"] == "extractive"
    context = await talk.query("context_text")
    assert "QX-4711" in context
    assert "Error generating" not in context
    status = await talk.status()
    assert status["totals"]["failed_compactions"] == status["totals"]["failed_turns"] == 0
    assert any("made without the model" in note["text"] for note in status["errors"])
    parts = len(await talk.query("compactions"))
    calls = sum(is_summary(request) for request in api.requests)
    assert 1 <= calls <= CALLS * parts


async def test_a_cut_off_summary_is_never_kept_and_a_whole_one_is(
    talk: Talk, api: MessagesApi
) -> None:
    """O17."""
    api.script_summaries(text(CUT, stop_reason="max_tokens"))
    row = await compacted(talk)
    assert row["observation"]["method"] == "model"
    assert "Error generating" not in await talk.query("context_text")
    assert row["usage"]["output"] > 0


async def test_a_source_beyond_the_summarisers_window_is_cut_and_merged(
    talk: Talk, api: MessagesApi
) -> None:
    """O27: the stub's window is smaller than what is to be summarised."""

    def narrow(request: Body) -> Answer:
        if len(last_text(request)) > 3_000:
            return bad_request("prompt is too long: 5343 messages")
        return text(summary_of(request))

    api.rule = summaries(narrow)
    row = await compacted(talk, {"observe_chunk": 2_000})
    assert row["observation"]["method"] == "model"
    taken = [r for r in api.requests if is_summary(r) and len(last_text(r)) <= 3_000]
    assert len(taken) >= 2
    assert "QX-4711" in await talk.query("context_text")


async def test_an_outage_at_the_whole_budget_costs_one_plan_and_then_no_more_waiting(
    talk: Talk, api: MessagesApi
) -> None:
    """O16: originals stay while it is waited out; then the entry is made without the model."""
    api.rule = summaries(lambda _: overloaded().but(headers={"retry-after": "0"}))
    row = await compacted(talk)
    assert row["observation"]["method"] == "extractive"
    status = await talk.status()
    assert status["totals"]["failed_compactions"] == 1
    assert "compaction put off" in status["errors"][0]["text"]
    assert "overloaded" not in await talk.query("context_text")


SCHEMA = {
    "type": "object",
    "required": ["goal", "constraints", "progress", "open_issues", "next_step"],
    "properties": {
        "goal": {"type": "string", "maxLength": 60},
        "constraints": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "string", "maxLength": 40},
        },
        "progress": {"type": "string", "maxLength": 80},
        "open_issues": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "next_step": {"type": "string", "maxLength": 60},
    },
    "additionalProperties": False,
}
TEMPLATE = """\
<system-info>
Goal: {goal}
Constraints:
{constraints}
Progress: {progress}
Open: {open_issues}
Next: {next_step}
</system-info>"""


async def test_a_schema_and_a_template_of_the_users_own(talk: Talk, api: MessagesApi) -> None:
    """Five fields with limits: what breaks one is asked again, what keeps to them is shown."""
    good = {
        "goal": "Open the gate",
        "constraints": ["Never mention prices"],
        "progress": "The code is known",
        "open_issues": [],
        "next_step": "Walk along the river",
    }
    answers = [{**good, "goal": "x" * 61}, good]
    api.script_summaries(*(text(json.dumps(answer)) for answer in answers))
    api.rule = summaries(lambda _: text(json.dumps(good)))
    row = await compacted(talk, {"summary_schema": SCHEMA, "summary_template": TEMPLATE})
    shown = (
        "<system-info>\nGoal: Open the gate\nConstraints:\n- Never mention prices\n"
        "Progress: The code is known\nNext: Walk along the river\n</system-info>"
    )
    assert row["observation"]["content"] == shown
    assert shown in await talk.query("context_text")
    first, second = [request for request in api.requests if is_summary(request)][:2]
    fields = first["output_config"]["format"]["schema"]["properties"]
    assert list(fields) == SCHEMA["required"]
    assert "maxLength: 60" in fields["goal"]["description"]
    assert "the field 'goal' does not keep to maxLength 60" in last_text(second)
    assert (await talk.status())["totals"]["failed_compactions"] == 0


async def test_a_wrong_schema_is_refused_at_the_door(talk: Talk) -> None:
    await talk.start({"system": "Be brief."})
    with pytest.raises(Refused, match='summary_schema: it must be of type "object"'):
        await talk.facade.configure(policy={"summary_schema": {"type": "array"}})
    with pytest.raises(Refused, match="summary_template: there is no field 'goal'"):
        await talk.facade.configure(policy={"summary_template": TEMPLATE})
    await talk.facade.configure(policy={"summary_schema": SCHEMA, "summary_template": TEMPLATE})
    assert (await talk.ask("Hello.")).text
