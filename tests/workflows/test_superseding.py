"""Another text in the place of an entry: when it is taken in, and what is refused."""

import asyncio
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError

from perdure.contract import INLINE_BYTES, Supersede
from tests.support.talk import Talk, until
from tests.workflows.test_compaction import compacted, fill

TIGHT = {
    "message_budget": 1_000,
    "observe_chunk": 400,
    "observation_budget": 4_000,
    "keep_recent_messages": 2,
}


def better(entry: dict[str, Any], **other: Any) -> dict[str, Any]:
    """What the stock CLI would send: an entry of the query `compactions`, and a text for it."""
    return {
        "id": entry["id"],
        "identity": entry["identity"],
        "content": "They counted.",
        "model": "by hand",
        "prompt_version": "hand-1",
        **other,
    }


async def newest(talk: Talk) -> dict[str, Any]:
    entry: dict[str, Any] = (await talk.query("memory"))["observations"][-1]
    return entry


async def test_it_is_taken_in_between_turns_and_once(talk: Talk) -> None:
    await talk.start({"policy": TIGHT})
    await fill(talk, 9)
    await compacted(talk)
    entry = await newest(talk)
    talk.script.reply_gate.clear()
    talk.script.reply_asked.clear()
    asking = asyncio.ensure_future(talk.ask("while the model is asked"))
    await talk.script.reply_asked.wait()
    before = await talk.query("context")
    twice = [asyncio.ensure_future(talk.update("supersede", better(entry))) for _ in range(2)]
    await talk.queued(1)
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await talk.update("supersede", better(entry, content="They counted on."))
    assert "another text waits" in str(caught.value.__cause__)
    assert await talk.query("context") == before
    talk.script.reply_gate.set()
    await asking
    assert await asyncio.gather(*twice) == 2 * [{"id": f"{entry['id']}~2"}]
    assert "They counted." in await talk.query("context_text")
    row = (await talk.query("compactions"))[-1]
    assert row["supersedes"] == entry["id"]
    assert (row["method"], row["model"]) == ("model", "by hand")
    # A text of one's own can be replaced too, and brings its own weight.
    now = await newest(talk)
    done = await talk.update("supersede", better(now, content="They counted on.", tokens=5))
    assert done == {"id": f"{entry['id']}~3"}
    assert (await newest(talk))["compressed_tokens"] == 5
    await talk.check_tiling()
    await talk.check_context()


async def test_it_is_carried_to_the_next_run_and_counts_once(talk: Talk) -> None:
    await talk.start({"policy": TIGHT, "turns_per_run": 10})
    await fill(talk, 9)
    await compacted(talk)
    entry = await newest(talk)
    talk.script.reply_gate.clear()
    talk.script.reply_asked.clear()
    asking = asyncio.ensure_future(talk.ask("the last one of this run"))
    await talk.script.reply_asked.wait()
    made = Supersede.model_validate(better(entry, content="They counted. " * 40))
    sending = asyncio.ensure_future(talk.facade.supersede(made))
    await talk.queued(1)
    talk.script.reply_gate.set()
    await asking
    assert await sending == f"{entry['id']}~2"
    assert (await talk.status())["totals"]["runs"] == 2
    assert sum(row["supersedes"] is not None for row in await talk.query("compactions")) == 1
    await talk.check_tiling()


async def test_a_reflection_in_flight_is_never_of_another_text_than_its_source(talk: Talk) -> None:
    await talk.start({"policy": TIGHT})
    talk.script.summarise = lambda ref, _: "Notes. " * (20 if ref.part.level == 1 else 1)
    await fill(talk, 12)
    await compacted(talk, 2)
    talk.script.summary_gate.clear()
    talk.script.summary_asked.clear()
    await talk.update("configure", {"policy": {"observation_budget": 100}})
    await talk.script.summary_asked.wait()
    flight = talk.script.parts[-1].part
    assert flight.level == 2
    entries = (await talk.query("memory"))["observations"]
    source = next(e for e in entries if e["first_seq"] == flight.first_seq)
    sending = asyncio.ensure_future(talk.update("supersede", better(source)))

    async def waits() -> bool:
        return bool((await talk.status())["running"] == "supersede")

    await until(waits)
    talk.script.summary_gate.set()
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await sending
    assert f"{source['id']} does not stand in the context any more" in str(caught.value.__cause__)
    rows = await talk.query("compactions")
    assert not any(row["supersedes"] for row in rows)
    await talk.check_tiling()


async def test_what_cannot_supersede_is_refused(talk: Talk) -> None:
    await talk.start({"policy": TIGHT})
    await fill(talk, 9)
    await compacted(talk)
    entry = await newest(talk)
    refusals: list[tuple[Any, str]] = [
        (None, "supersede takes an object, not NoneType"),
        ("L1.0-4", "supersede takes an object, not str"),
        ({"id": entry["id"]}, "supersede identity: field required"),
        (better(entry, text="x"), "supersede has no field 'text'; known are id, identity"),
        (better(entry, tokens="many"), "supersede tokens: input should be a valid integer"),
        (better(entry, facts="a fact"), "supersede facts: input should be a valid list"),
        (better(entry, method="magic"), "supersede method: input should be 'model' or"),
        (better(entry, content=""), "supersede content: string should have at least 1"),
        (better(entry, content=" \n"), "the text is blank"),
        (better(entry, content="x" * (INLINE_BYTES + 1)), "an entry of the memory may have 200,"),
        (better(entry, content="word " * 2_000), "the text weighs 5,025 tokens, and the messages"),
        (better(entry, id="L1.7-9999"), "L1.7-9999 does not stand in the context any more"),
        (better(entry, identity="0" * 32), f"{entry['id']} is another compaction than the one"),
    ]
    for payload, sentence in refusals:
        with pytest.raises(WorkflowUpdateFailedError) as caught:
            await talk.update("supersede", *([] if payload is None else [payload]))
        assert sentence in str(caught.value.__cause__), payload
    assert (await talk.ask("hello")).text == "I heard: hello"
