"""Messages from files: the forms that are understood, and what becomes of the system prompt."""

import json
from pathlib import Path

from perdure.cli.messages_file import parse_file
from tests.cli.conftest import Cli

MESSAGES = [
    {"role": "user", "content": "My name is Maren.", "timestamp": "2026-01-05T08:00:00Z"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Hello Maren."}],
        "created_at": "2026-01-05T08:01:00+00:00",
        "id": "msg_1",
        "stop_reason": "end_turn",
    },
]


def test_a_list_an_object_and_lines_say_the_same() -> None:
    listed = parse_file(json.dumps(MESSAGES))
    assert [m["at"] for m in listed.messages] == ["2026-01-05T08:00:00Z", "2026-01-05T08:01:00Z"]
    assert parse_file(json.dumps({"messages": MESSAGES})) == listed
    lines = "\r\n\r\n".join(json.dumps(message) for message in MESSAGES)
    assert parse_file(lines) == listed
    assert parse_file(json.dumps(MESSAGES[0])).messages == listed.messages[:1]
    assert parse_file(json.dumps(MESSAGES, indent=2)) == listed


def test_system_may_be_blocks() -> None:
    system = [{"type": "text", "text": "Be brief."}]
    assert parse_file(json.dumps({"messages": MESSAGES, "system": system})).system == "Be brief."


async def test_import_and_what_it_left(cli: Cli, fresh: str, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps({"system": "Be brief.", "messages": MESSAGES}), encoding="utf-8")
    done = await cli("import", str(file), "--id", fresh, "--config", '{"title": "old talk"}')
    assert done.text == f"imported 2 messages into {fresh} as 0-1\n"
    again = await cli("import", str(file), "--id", fresh, "--json")
    assert again.json == {"conversation": fresh, "messages": 2, "first_seq": 2, "last_seq": 3}
    assert "system prompt is not used" in again.err
    refused = await cli("import", str(file), "--id", fresh, "--config", '{"title": "late"}')
    assert "runs already" in refused.error
    context = await cli("context", fresh, "--json")
    assert context.json["system"] == "Be brief."
    transcript = await cli("transcript", fresh, "--json")
    assert transcript.json[0]["at"].startswith("2026-01-05T08:00:00")
