"""Old tool results and repetitions leave the context before a summary is due, and only there."""

from itertools import pairwise
from typing import Any

from temporalio.client import Client

from tests.support.talk import Talk, texts

POLICY = {"message_budget": 8_000, "observe_at": 1.0}


def loop(number: int, size: int) -> list[dict[str, Any]]:
    """A question, a call, its result, an answer."""
    id_ = f"call-{number}"
    call = {"type": "tool_use", "id": id_, "name": "look", "input": {"page": number}}
    result = {"type": "tool_result", "tool_use_id": id_, "content": f"page {number} " * (size // 7)}
    return [
        {"role": "user", "content": f"look at page {number}"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"I have seen page {number}."},
    ]


async def test_old_tool_results_are_told_in_a_line_and_stay_in_the_transcript(talk: Talk) -> None:
    await talk.start({"policy": POLICY, "turns_per_run": 2})
    await talk.facade.import_messages([m for n in range(18) for m in loop(n, 1_500)])
    await talk.ask("what now?")
    memory = await talk.check_tiling()
    assert memory["levels"] == []
    assert memory["messages"]["elided"] >= 2
    context = str((await talk.check_context())["messages"])
    assert '[look {"page":0} answered with 1,' in context
    assert "page 0 page 0 page 0 page 0 page 0 page 0 page 0 page 0 page 0 " not in context
    originals = await talk.query("transcript")
    assert originals[2]["text"].count("page 0") == 1_500 // 7
    assert "left out here" in await talk.query("context_text")


async def test_between_two_batches_the_context_only_grows_at_its_end(talk: Talk) -> None:
    await talk.start({"policy": POLICY, "turns_per_run": 3})
    await talk.facade.import_messages([m for n in range(18) for m in loop(n, 1_500)])
    for number in range(8):
        await talk.ask(f"and {number}?")
    assert (await talk.status())["totals"]["runs"] >= 3
    seen = [str(request["messages"])[:-1] for request in talk.script.requests]
    assert all(len(texts(r["messages"])) > 8 for r in talk.script.requests)
    for before, after in pairwise(seen):
        assert after.startswith(before)
    assert talk.script.parts == []


async def test_history_grows_by_what_is_new_however_large_the_context_is(
    talk: Talk, client: Client
) -> None:
    """O10: a hundred tool results of 5 KB are not recorded again with every model call."""

    async def history_bytes() -> int:
        description = await client.get_workflow_handle(talk.id).describe()
        return int(description.raw_description.workflow_execution_info.history_size_bytes)

    policy = {"message_budget": 400_000, "context_window": 1_000_000}
    await talk.start({"policy": policy})
    await talk.facade.import_messages([m for n in range(100) for m in loop(n, 5_000)])
    await talk.ask("ready?")
    assert (await talk.query("memory"))["context_tokens"] > 100_000
    sizes = [await history_bytes()]
    for number in range(6):
        await talk.ask(f"and {number}?")
        sizes.append(await history_bytes())
    growth = [after - before for before, after in pairwise(sizes)]
    assert max(growth) < 8_000
