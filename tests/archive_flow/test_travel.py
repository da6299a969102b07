"""Back in time: what was sent in a turn, what changed since, and another way from there."""

from typing import Any

import pytest
from temporalio.client import Client

import worker
from perdure.archive import Archive
from perdure.archive.moments import Moment
from perdure.contract import WORKFLOW, ReplyResult
from perdure.conversation import Conversation
from perdure.errors import (
    ArchiveError,
    ConversationClosed,
    ConversationExists,
    ConversationNotFound,
    PerdureError,
    Refused,
    TurnFailed,
)
from perdure.transfer import export
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.support.recorded import check_contexts, forget, sent_hashes
from tests.support.scripted import QUEUE, refused
from tests.support.talk import Talk, soon
from tests.support.tools import FakeTool, call
from tests.workflows.test_approvals import approve, waiting
from tests.workflows.test_elision import loop

# So that turns lie in several runs.
CONFIG = TIGHT_CONFIG.model_copy(update={"turns_per_run": 6})
LINES = [line["content"] for line in diary(20)]


async def told(conversation: Conversation, turns: int = 14) -> Conversation:
    """A conversation with everything in it that can change what a model is sent."""
    for number in range(turns):
        await conversation.ask(LINES[number], pinned=number == 1)
        if number == 3:
            await conversation.pin("The oven is never left alone.")
            await conversation.pin(6)
        if number == 9:
            await conversation.configure(system="You are a patient baker.")
    return conversation


async def at(conversation: Conversation, turn: int) -> tuple[Moment, Moment | None]:
    """What a turn was sent, by the archive and by the history."""
    past = await conversation.past()
    return (
        await conversation.moment(turn),
        await worker.sent(conversation._handle.client, past.conversation, turn),
    )


async def test_every_context_is_rebuilt_from_both_sources(client: Client, opening: Opening) -> None:
    conversation = await told(await opening(CONFIG))
    hashes = await sent_hashes(client, conversation.id)
    assert len(hashes) == 14
    for turn, sha256 in hashes.items():
        archived, replayed = await at(conversation, turn)
        assert replayed is not None
        assert (archived.source, replayed.source) == ("archive", "history")
        assert archived.context == replayed.context
        assert archived.context.sha256 == sha256
    texts = [p.text for p in archived.memory.pins]
    assert [text.split(" the oven")[0] for text in sorted(texts)] == [
        "The oven is never left alone.",
        "user: On day 1",
        "user: On day 3",
    ]
    found = await conversation.context(at=14, step=1)
    assert found == archived.as_json()
    assert found["system"] == "You are a patient baker."
    assert (await conversation.context(at=10))["system"] == CONFIG.system


async def test_steps_failures_and_stubs_are_part_of_it(
    client: Client, archive: Archive, talk: Talk
) -> None:
    window = {"context_window": 12_000, "reserve_output": 500, "message_budget": 8_000}
    await talk.start({"policy": {**window, "observe_at": 1.0}})
    conversation = Conversation(client, talk.id, QUEUE, archive)
    await conversation.import_messages([m for n in range(18) for m in loop(n, 1_500)])
    for number in range(3):
        await talk.ask(f"and {number}?")
    assert (await talk.query("memory"))["messages"]["elided"] >= 2
    talk.script.replies.append(refused("messages.3: bad picture"))
    with pytest.raises(TurnFailed):
        await talk.ask("poison")
    talk.script.replies.append(ReplyResult(status="stale"))
    await talk.ask("once more")
    talk.script.replies.append(
        ReplyResult(status="over_window", counts={81: 9_000}, system_tokens=1)
    )
    await talk.ask("word " * 100)
    assert (await talk.query("compactions"))[0]["urgency"] == "emergency"
    assert await check_contexts(conversation, client) == 6
    # Neither the stale context nor the one that was too long was sent.
    assert [(await conversation.moment(turn)).step for turn in (4, 5, 6)] == [1, 2, 2]
    requests = [r["messages"] for r in talk.script.requests]
    sent = [(await conversation.moment(turn)).context.messages for turn in range(1, 7)]
    assert sent == [*requests[:4], requests[5], requests[7]]
    assert "poison" in str(sent[3])
    assert "poison" not in str(sent[4:])
    with pytest.raises(Refused, match="turn 6 has no step 1; a model was asked in step 2"):
        await conversation.moment(6, 1)


async def test_a_pin_that_was_taken_back_is_in_the_contexts_from_before(
    client: Client, opening: Opening
) -> None:
    conversation = await opening(CONFIG)
    for number in range(14):
        await conversation.ask(LINES[number], pinned=number in (1, 11))
        if number == 3:
            await conversation.pin("The oven is never left alone.")
        elif number == 8:
            await conversation.unpin("The oven is never left alone.")
            await conversation.unpin(2)
        elif number == 11:
            await conversation.unpin(22)
    for turn, sha256 in (await sent_hashes(client, conversation.id)).items():
        archived, replayed = await at(conversation, turn)
        assert replayed is not None
        assert archived.context == replayed.context
        assert archived.context.sha256 == sha256
    # A message that comes right behind a signal may be served before it.
    held = {turn: (await conversation.moment(turn)).memory.pinned for turn in (4, 9, 11, 12, 14)}
    assert held == {4: [2], 9: ["The oven is never left alone.", 2], 11: [], 12: [22], 14: []}
    gone = (await conversation.diff(9, 14)).pins_gone
    assert [text[:12] for text in gone] == ["The oven is ", "user: On day"]
    assert not any([m.pinned async for m in conversation.transcript()])
    assert (await worker.replay(client, conversation.id)).identical
    # Another way from before it was taken back has it still.
    fork = await conversation.fork(9)
    assert (await fork.moment(9)).memory.pinned == held[9]
    await fork.ask("How many loaves on day 2?")
    assert "The oven is never left alone." in await fork.context_text()


async def test_a_question_whose_pin_is_taken_back_stays_as_long_as_its_turn(
    client: Client, archive: Archive, talk: Talk
) -> None:
    async def page(given: dict[str, Any]) -> str:
        return f"page {given['n']}: " + "word " * 700

    talk.script.tools.update(look=FakeTool(page), send=FakeTool(approval="ask"))
    small = {"message_budget": 3_000, "context_window": 8_000, "reserve_output": 1_000}
    await talk.start({"tools": ["look", "send"], "policy": {**small, "observe_chunk": 1_000}})
    talk.script.replies.extend([call(f"c{n}", "look", n=n)] for n in range(12))
    talk.script.replies.extend([[call("s", "send")], "Sent."])
    await talk.facade.send("Read all pages and send the last.", pinned=True)
    [asked] = await waiting(talk, 1)
    assert (await talk.check_tiling())["messages"]["first_seq"] > 0
    await talk.facade.unpin(0)
    await talk.facade.unpin(0)
    await talk.noted("message 0 is not pinned; nothing is")
    await approve(talk, asked["tool_use_id"])
    await talk.turns(1)
    assert "Read all pages" in str(talk.script.requests[-1]["messages"])
    assert "[Pinned" not in await talk.query("context_text")
    await talk.ask("thanks")
    assert await check_contexts(Conversation(client, talk.id, QUEUE, archive), client) == 2
    await talk.check_sound()


async def test_a_difference_tells_what_came_and_went(opening: Opening) -> None:
    conversation = await told(await opening(CONFIG))
    found = await conversation.diff(2, 14)
    assert found.messages_gone[0].first_seq == 0
    assert found.messages_gone[0].into in {e.id for e in found.entries_new}
    assert found.messages_new[-1].last_seq == 26
    assert found.messages_new[-1].into is None
    assert len(found.pins_new) == 3
    back = await conversation.diff(14, 2)
    assert [e.id for e in back.entries_gone] == [e.id for e in found.entries_new]
    same = await conversation.diff(5, 5)
    assert (same.entries_gone, same.messages_gone, same.messages_new) == ([], [], [])


async def test_a_fork_goes_its_own_way_and_the_original_stays(
    client: Client, archive: Archive, opening: Opening
) -> None:
    original = await told(await opening(CONFIG))
    handle = client.get_workflow_handle(original.id)
    before = (await handle.describe()).history_length, await original.context()

    for turn in (3, 14):
        fork = await original.fork(turn)
        assert fork.id == f"{original.id}-{turn}"
        past = [m async for m in original.transcript(0, 2 * turn - 1)]
        assert [m async for m in fork.transcript()] == past
        status = await fork.status()
        assert (status["turn"], status["title"], status["errors"]) == (turn, "the bakery", [])
        assert (await fork.moment(turn)).context == (await original.moment(turn)).context
        reply = await fork.ask("How many loaves on day 2?")
        assert reply.turn == turn + 1
        assert (await sent_hashes(client, fork.id))[turn + 1] == (
            await fork.moment(turn + 1)
        ).context.sha256
        assert (await worker.replay(client, fork.id)).identical
    assert await fork.context_text() != await original.context_text()
    again = await fork.fork(2, f"{original.id}-again")
    assert (await again.moment(2)).context == (await original.moment(2)).context

    assert ((await handle.describe()).history_length, await original.context()) == before
    # Nothing was copied: what a fork shares stands in the original's chain.
    own = (await archive.chains("default", again.id))[-1]
    assert own.parent_until_seq == 3
    ended = await soon(again.close())
    assert (ended["turns"], ended["messages"], ended["summary"]) == (0, 0, "")
    # What the forks needed was archived early; the original finds it in its place.
    await original.ask(LINES[15])
    await soon(original.close())
    assert (await original.status())["errors"] == []


async def test_what_cannot_be_is_refused(client: Client, opening: Opening) -> None:
    conversation = await opening(CONFIG)
    await conversation.ask("The gate code is 4711.")
    with pytest.raises(Refused, match="there is no turn 9; the last one was 1"):
        await conversation.context(at=9)
    with pytest.raises(Refused, match="turn 1 has no step 3; a model was asked in step 1"):
        await conversation.context(at=1, step=3)
    with pytest.raises(Refused, match="without max_tokens"):
        await conversation.context(100, at=1)
    with pytest.raises(Refused, match="there is no turn 0"):
        await conversation.fork(0)
    with pytest.raises(Refused, match="turn 1 has no step 3; a model was asked in step 1"):
        await worker.sent(client, conversation.id, 1, 3)
    with pytest.raises(Refused, match="forked at turn 9: there is no turn 9; the last one was 1"):
        await conversation.fork(9)
    with pytest.raises(Refused, match="forked at turn 1: there is no such conversation"):
        await Conversation(client, "nobody").fork(1)
    for taken in (conversation.id, (await conversation.fork(1)).id):
        with pytest.raises(ConversationExists, match="choose another id"):
            await conversation.fork(1, taken)
    # A fork that could not be made leaves nothing behind, or without an archive a free id.
    assert await Conversation(client, f"{conversation.id}-9")._handle.status() is None
    blind = Conversation(client, conversation.id)
    with pytest.raises(Refused, match="forked at turn 9: there is no turn 9; the last one was 1"):
        await blind.fork(9)
    assert (await conversation.fork(1, f"{conversation.id}-9")).id
    for start, says in (
        ({"fork": {"conversation": conversation.id}}, "fork turn: field required"),
        ({"fork": {"conversation": "", "turn": 1}}, "fork conversation"),
        ({"fork": 5}, "fork"),
    ):
        handle = await client.start_workflow(
            WORKFLOW, start, id=f"{conversation.id}-bad", task_queue="perdure"
        )
        with pytest.raises(Exception, match="Workflow execution failed") as caught:
            await soon(handle.result())
        assert says in str(caught.value.__cause__)
        with pytest.raises(ConversationClosed, match=f"has failed: .*{says}"):
            await Conversation(client, handle.id).send("Is anybody there?")


async def test_without_temporal_the_archive_still_knows(
    client: Client, archive: Archive, opening: Opening
) -> None:
    conversation = await told(await opening(CONFIG))
    hashes = await sent_hashes(client, conversation.id)
    await forget(client, conversation.id)
    assert await worker.sent(client, conversation.id, 5) is None
    past = await conversation.past()
    kept = past.held.archived.seq
    last = past.held.resumable.turns
    assert kept >= 16
    # In turn n it was sent the messages before 2n - 1.
    for turn in range(1, (kept + 1) // 2 + 1):
        assert (await conversation.moment(turn)).context.sha256 == hashes[turn]
    for turn in range((kept + 1) // 2 + 1, last + 1):
        with pytest.raises(PerdureError, match="not all of the"):
            await conversation.moment(turn)
    with pytest.raises(Refused, match=rf"turn 20 was not archived before .* that was is {last}"):
        await conversation.moment(20)
    with pytest.raises(ArchiveError, match="fork it at a turn"):
        _ = [line async for line in export(past)]
    fork = await conversation.fork(kept // 2)
    assert (await fork.ask("How many loaves on day 2?")).turn == kept // 2 + 1
    with pytest.raises(Refused, match="forked at turn 20: turn 20 was not archived before"):
        await conversation.fork(20)
    with pytest.raises(Refused, match="forked at turn 20: the archive does not know that turn"):
        await Conversation(client, conversation.id).fork(20)
    # What it was told to do is known as well, so that a shadow can be made of it.
    assert past.held.resumable.config == CONFIG.model_copy(
        update={"system": "You are a patient baker."}
    )
    nobody = Conversation(client, f"{conversation.id}-nobody", archive=archive)
    for asked in (nobody.moment(1), nobody.fork(1)):
        with pytest.raises(ConversationNotFound):
            await asked
