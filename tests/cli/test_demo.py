"""The demo, as a newcomer sees it."""

import re

from temporalio.client import Client

from perdure.conversation import Conversation
from tests.cli.conftest import Cli


async def test_the_demo_keeps_its_promises(cli: Cli, client: Client) -> None:
    shown = (await cli("demo", ANTHROPIC_API_KEY="not-to-be-used")).text
    assert "offline: no key, no network" in shown.splitlines()[0]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", shown)
    assert re.search(r"replay identical: \d+ contexts, \d+ summaries, \d+ runs", shown)
    assert "perdure chat demo" in shown

    conversation = Conversation(client, "demo")
    status, memory = await conversation.status(), await conversation.memory()
    ledger = [row["observation"]["level"] for row in await conversation.compactions()]
    assert status["turn"] >= 150
    assert status["totals"]["runs"] >= 3
    assert status["context_tokens"] * 3 < status["raw_tokens"]
    assert ledger.count(1) >= 8
    assert max(ledger) >= 3
    assert memory["messages"]["first_seq"] > 40
    told = re.search(r"(\d) of 5 replies contain the expected words", shown)
    assert told is not None
    assert shown.count("✓") == int(told[1])
