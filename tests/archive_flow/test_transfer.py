"""Out of one namespace and into another; what is wrong with a file; and away for good."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.service import RPCError

import worker
from perdure.archive import Archive
from perdure.conversation import Conversation
from perdure.deleting import delete
from perdure.entrance import parse_imported
from perdure.errors import (
    ArchiveShared,
    ConversationExists,
    ConversationNotFound,
    ConversationRunning,
    Refused,
)
from perdure.memory.wire import canonical_json, sha256
from perdure.transfer import export, restore
from perdure.verifying import compare
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.support.talk import soon, until

LONG = "flour, water and salt; " * 3_000
SOURCE = [
    *diary(20),
    {"role": "user", "content": LONG, "at": "2026-03-05T09:00:00+00:00"},
    {"role": "assistant", "content": "Noted.", "at": "2026-03-05T09:01:00+00:00"},
]


async def written(conversation: Conversation, path: Path) -> Path:
    lines = [line async for line in export(await conversation.past())]
    return save(path, lines)


def save(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def saved(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest_asyncio.fixture
async def file(opening: Opening, tmp_path: Path) -> AsyncIterator[Path]:
    """An export of a conversation with several levels, a big block and a reply."""
    conversation = await opening(TIGHT_CONFIG)
    await conversation.import_messages(SOURCE)
    await conversation.ask("How many loaves on day 3?")
    yield await written(conversation, tmp_path / "talk.jsonl")


@pytest.mark.parametrize("closed", [False, True])
async def test_a_round_trip_is_identical(
    client: Client, archive: Archive, opening: Opening, fresh: str, tmp_path: Path, closed: bool
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    await conversation.import_messages(SOURCE)
    said = await conversation.ask("How many loaves on day 3?")
    if closed:
        await soon(conversation.close())
    context = await conversation.context()
    rows = await conversation.compactions()
    messages = [m async for m in conversation.transcript()]
    path = await written(conversation, tmp_path / "talk.jsonl")

    done = await restore(client, archive, path, id=f"{fresh}-copy")
    assert done.identical
    assert done.context_sha256 == context["sha256"]
    assert (done.messages, done.turns, done.blobs) == (24, 1, 1)
    copy = await opening(id=f"{fresh}-copy")
    assert await copy.context_text() == await conversation.context_text()
    assert [m async for m in copy.transcript()] == messages
    assert await copy.compactions() == rows
    assert (await copy.reply(1)).text == said.text
    source = [parse_imported(m) for m in SOURCE]
    verified = await compare(copy.transcript(expand=True), source)
    assert (verified.equal, verified.extra, verified.identical) == (22, 2, True)
    assert (await worker.replay(client, copy.id)).identical
    again = [line async for line in export(await copy.past())]
    # All but the header, which has the names.
    assert again[1:] == saved(path)[1:]
    assert (await copy.ask("And on day 4?")).turn == 2
    with pytest.raises(ConversationExists, match="already"):
        await restore(client, archive, path, id=f"{fresh}-copy")


def renumbered(lines: list[str]) -> list[str]:
    return [
        canonical_json({**json.loads(line), "line": number})
        for number, line in enumerate(lines, start=1)
    ]


def changed(line: str, **fields: object) -> str:
    found = json.loads(line)
    data = {**found["data"], **fields}
    return canonical_json({**found, "data": data, "sha256": sha256(data)})


def counts(lines: list[str]) -> dict[str, int]:
    found: dict[str, int] = json.loads(lines[-1])["data"]["counts"]
    return found


Damage = Callable[[list[str]], list[str]]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "a line is missing": (lambda x: x[:8] + x[9:], "line 9 says that it is line 10.* is missing"),
    "a line came twice": (lambda x: x[:9] + x[8:], "line 10 says that it is line 9.* was added"),
    "a word was changed": (
        lambda x: [line.replace("Piotr", "Pjotr") if i == 5 else line for i, line in enumerate(x)],
        "line 6 was changed",
    ),
    "it is cut off": (lambda x: x[:-3], "before its end"),
    "half a line": (lambda x: [*x[:6], x[6][:40]], "line 7 is not JSON"),
    "a message is missing": (
        lambda x: renumbered(x[:4] + x[5:]),
        "line 5: message 3 stands where 2 should",
    ),
    "a reply is missing": (
        lambda x: renumbered([line for line in x if '"kind":"reply"' not in line]),
        "it counts 1 lines of reply, not 0",
    ),
    "a blob is missing": (
        lambda x: renumbered(
            [
                *(line for line in x[:-1] if '"kind":"blob"' not in line),
                changed(
                    x[-1],
                    counts={k: v for k, v in counts(x).items() if k != "blob"},
                ),
            ]
        ),
        "line 23: its big block .* is missing",
    ),
    "it is newer": (lambda x: [changed(x[0], version=3), *x[1:]], "line 1: .* version 3"),
    "it is something else": (lambda x: ['{"role": "user"}'], "line 1 is not a line of an export"),
    "it is empty": (lambda x: [], "no conversation"),
}


async def test_a_damaged_export_is_refused_and_leaves_nothing(
    client: Client, archive: Archive, file: Path, fresh: str
) -> None:
    whole = saved(file)
    for name, (damage, says) in DAMAGES.items():
        lines = damage(whole)
        save(file, lines)
        with pytest.raises(Refused) as caught:
            await restore(client, archive, file, id=f"{fresh}-copy")
        assert re.search(says, str(caught.value)), (name, str(caught.value))
        assert await archive.chains("default", f"{fresh}-copy") == []
        with pytest.raises(ConversationNotFound):
            await Conversation.get(client, f"{fresh}-copy")


async def test_a_restore_that_fails_on_the_way_leaves_nothing(
    client: Client,
    archive: Archive,
    file: Path,
    fresh: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RPCError("away", 14, b"")  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Client, "start_workflow", broken)
        with pytest.raises(RPCError):
            await restore(client, archive, file, id=f"{fresh}-copy")
    assert await archive.chains("default", f"{fresh}-copy") == []
    assert (await restore(client, archive, file, id=f"{fresh}-copy")).identical


async def test_delete_removes_every_run_and_every_original(
    client: Client, archive: Archive, opening: Opening, fresh: str
) -> None:
    first = await opening(TIGHT_CONFIG.model_copy(update={"turns_per_run": 1}))
    own = [{"role": "user", "content": f"{fresh} {LONG}"}, SOURCE[-1]]
    await first.import_messages([*diary(20), *own])
    await first.ask("one")
    await soon(first.close())
    second = await opening()
    await second.ask("two")
    with pytest.raises(ConversationRunning, match="--force"):
        await delete(client, archive, fresh)
    assert (await second.ask("three")).text

    async def listed() -> bool:
        return len([r async for r in client.list_workflows(f'WorkflowId = "{fresh}"')]) >= 3

    await until(listed)
    done = await delete(client, archive, fresh, force=True)
    assert done.runs >= 3
    assert (done.chains, done.messages, done.blobs) == (2, 24, 1)
    assert done.observations == done.ledger_rows > 1
    assert await archive.chains("default", fresh) == []
    with pytest.raises(ConversationNotFound):
        await second.status()


async def test_what_a_fork_elsewhere_needs_is_not_deleted(
    client: Client, archive: Archive, opening: Opening, fresh: str
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    await conversation.import_messages(SOURCE)
    chain = (await archive.chains("default", fresh))[0].key
    fork = chain.__class__("default", f"{fresh}-fork", "chain-1")
    await archive.fork(chain, fork)
    with pytest.raises(ArchiveShared, match=f"{fresh}-fork"):
        await delete(client, archive, fresh, force=True)
    assert (await conversation.status())["running"] is None
    removed = await asyncio.gather(
        archive.delete("default", f"{fresh}-fork"), conversation.status()
    )
    assert removed[0].chains == 1
