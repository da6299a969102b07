"""What was sent, what changed, and another way, from the command line."""

import asyncio

from temporalio.client import Client

from perdure.conversation import Conversation
from tests.archive_flow.conftest import TIGHT_CONFIG, diary
from tests.cli.conftest import Cli


async def test_context_at_diff_and_fork(
    client: Client, cli: Cli, fresh: str, server_url: str
) -> None:
    env = {"PERDURE_DATABASE_URL": server_url}
    conversation = await Conversation.open(client, fresh, TIGHT_CONFIG)
    for line in diary(8):
        await conversation.ask(line["content"])

    replayed, read, between = await asyncio.gather(
        cli("context", fresh, "--at", "3", "--json"),
        cli("context", fresh, "--at", "3", "--from", "archive", **env),
        cli("diff", fresh, "3", "8", "--json", **env),
    )
    assert replayed.json["source"] == "history"
    digest = replayed.json["sha256"][:12]
    assert (
        f"sent in turn 3, step 1, sha256 {digest} as recorded; rebuilt from the arch" in read.text
    )
    assert between.json["before"]["sha256"] == replayed.json["sha256"]
    assert between.json["messages_gone"][0]["into"] == between.json["entries_new"][0]["id"]

    forked = await cli("fork", fresh, "--at", "3", **env)
    assert (
        forked.text == f"{fresh}-3 goes on from turn 3 of {fresh}: 6 messages shared, none copied\n"
    )
    same = await cli("diff", fresh, "3", "3", "--with", f"{fresh}-3", **env)
    assert "nothing else: they are the same" in same.text


async def test_what_cannot_be_is_one_sentence(
    client: Client, cli: Cli, fresh: str, server_url: str
) -> None:
    env = {"PERDURE_DATABASE_URL": server_url}
    await (await Conversation.open(client, fresh)).ask("The gate code is 4711.")
    refusals = {
        ("context", fresh, "--at", "7"): "there is no turn 7; the last one was 1",
        ("context", fresh, "--step", "4"): "name it with --at",
        ("fork", fresh, "--at", "1", "--as", fresh): "already; choose another id for the fork",
    }
    results = await asyncio.gather(*(cli(*arguments, **env) for arguments in refusals))
    for result, said in zip(results, refusals.values(), strict=True):
        assert said in result.error
    blind = await cli("context", fresh, "--at", "1", "--from", "archive")
    assert "set PERDURE_DATABASE_URL" in blind.error
