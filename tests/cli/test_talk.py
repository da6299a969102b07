"""Talking from the command line: send, chat, compact, close, and looking at what came of it."""

import asyncio

from tests.cli.conftest import Cli

# Nothing is compacted before it is asked for, and then all but the newest messages.
KEPT = '{"policy": {"message_budget": 5000, "keep_recent": 50, "keep_recent_messages": 2}}'


async def test_a_conversation_from_its_first_message_to_its_replay(cli: Cli, fresh: str) -> None:
    said = "My cat Minnie eats [bold]salmon[/bold] :fish: and nothing else."
    sent = await cli("send", fresh, "-", "--json", stdin=said)
    assert sent.json.keys() == {"conversation", "message_id"}
    asked = await cli("send", fresh, "--wait", "What does my cat Minnie eat?")
    assert "[bold]salmon[/bold] :fish:" in asked.text

    shown = await asyncio.gather(*(cli(view, fresh) for view in ("status", "memory", "transcript")))
    status, memory, transcript = (each.text for each in shown)
    assert "waiting for a message" in status
    assert "4 messages" in memory
    assert said in transcript

    views = ("status", "context", "compactions", "replay")
    documents = await asyncio.gather(*(cli(view, fresh, "--json") for view in views))
    status, context, compactions, replay = (each.json for each in documents)
    assert status["state"] == "open"
    assert context["tokens"] == status["context_tokens"]
    assert compactions == []
    assert replay["identical"] is True
    assert replay["contexts"] == 2


async def test_a_pipe_sends_a_message_a_line_and_gets_the_replies(cli: Cli, fresh: str) -> None:
    lines = "My bakery is at 17 Tannery Lane.\n\n/etc is a path\nWhere is my bakery?\n"
    talked = await cli("chat", fresh, "--config", KEPT, stdin=lines)
    assert not talked.err
    assert talked.text.count("(offline)") == 3
    assert "17 Tannery Lane" in talked.text
    assert "\x1b" not in talked.text


async def test_compact_on_request_and_what_it_leaves(cli: Cli, fresh: str) -> None:
    lines = "".join(
        f"On March {day} the oven of Hallmoor cost {day}00 euros and Piotr delivered {day} trays.\n"
        for day in range(1, 13)
    )
    assert (await cli("chat", fresh, "--config", KEPT, stdin=lines)).code == 0
    asked = await cli("compact", fresh, "--instructions", "keep the prices", "--json")
    assert asked.json[-1]["type"] == "memory_compacted"
    compactions, text, small, listed = await asyncio.gather(
        cli("compactions", fresh),
        cli("context", fresh, "--text"),
        cli("context", fresh, "--max-tokens", "150", "--json"),
        cli("list", "--json"),
    )
    assert "extractive" in compactions.text
    assert text.text.startswith("[Summary ")
    assert small.json["tokens"] <= 150
    assert fresh in [row["id"] for row in listed.json if row["state"] == "open"]


async def test_a_closed_conversation_shows_itself_and_is_resumed(cli: Cli, fresh: str) -> None:
    await cli("send", fresh, "--wait", "My rye starter is called Clementine.")
    closed = await cli("close", fresh)
    assert "Clementine" in closed.text
    assert "closed" in (await cli("status", fresh)).text
    assert (await cli("compact", fresh)).error == f"the conversation '{fresh}' has ended"
    asked = await cli("send", fresh, "--wait", "What is my rye starter called?")
    assert "Clementine" in asked.text
    assert asked.err == f"{fresh} had ended and is resumed\n"
