"""What is wrong gets one clear sentence within seconds, and a status that is not zero."""

import asyncio
import json
import re
import sys
import time
from pathlib import Path

import pytest

from perdure.cli.importing import read_file
from perdure.cli.messages_file import parse_file
from perdure.cli.options import read_config
from perdure.errors import Refused
from tests.cli.conftest import ROOT, Cli, Result, ended, start

LONG = "too long " * 220_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("send", "a", ""), "the message is empty"),
        (("send", "a"), "Missing argument 'TEXT'. See `perdure send --help`."),
        (("sned", "a", "hello"), "Did you mean 'send'? See `perdure --help`."),
        (("fork", "a", "--at", "0"), "greater than or equal to 1. See `perdure fork --help`."),
        (("send", "x" * 1_001, "hello"), "1,001 characters"),
        (("chat", "a", "--config", '{"policy": {"message_budget": -5}}'), "message_budget"),
    ],
)
async def test_what_no_server_is_needed_for(
    cli: Cli, arguments: tuple[str, ...], said: str
) -> None:
    assert said in (await cli(*arguments, TEMPORAL_ADDRESS="127.0.0.1:1")).error


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("{", "--config is not JSON"),
        ("[]", "--config must be a JSON object"),
        ("@nowhere.json", "nowhere.json cannot be read"),
        ('{"polcy": {}}', "polcy: there is no such field"),
        ('{"policy": {"keep_recent": 9, "message_budget": "many"}}', "policy.message_budget"),
    ],
)
def test_a_configuration_that_is_wrong(option: str, said: str) -> None:
    with pytest.raises(Refused, match=re.escape(said)):
        read_config(option)


async def test_an_unknown_conversation_is_named_by_every_view(cli: Cli, fresh: str) -> None:
    results = await asyncio.gather(*(cli(name, fresh) for name in ("context", "replay", "close")))
    assert {each.error for each in results} == {f"there is no conversation '{fresh}'"}


async def test_what_is_too_long_for_a_temporal_without_an_archive(cli: Cli, fresh: str) -> None:
    assert "more than the 1,900,000 that fit" in (await cli("send", fresh, "-", stdin=LONG)).error
    assert "there is no conversation" in (await cli("status", fresh)).error


async def test_nobody_works(cli: Cli, fresh: str) -> None:
    began = time.monotonic()
    result = await cli("send", fresh, "hello", "--wait", PERDURE_TASK_QUEUE=f"queue-{fresh}")
    assert "no worker serves the task queue" in result.error
    assert time.monotonic() - began < 20


async def test_temporal_not_reachable_is_said_and_never_crashes_on_the_way_out() -> None:
    # Without an exit of our own about every second of these runs ends with a segmentation fault.
    async def run(name: str) -> Result:
        return await ended(await start(name, env={"TEMPORAL_ADDRESS": "127.0.0.1:1"}))

    results = await asyncio.gather(*(run(name) for name in (*("list",) * 4, "worker")))
    assert {each.code for each in results} == {1}
    assert all("Temporal cannot be reached at 127.0.0.1:1" in each.error for each in results)


async def test_serve_does_not_serve_somebody_elses_temporal(cli: Cli) -> None:
    assert "perdure worker" in (await cli("serve")).error


async def test_a_reader_that_leaves_is_not_an_error_worth_a_traceback() -> None:
    process = await asyncio.create_subprocess_shell(
        f"{sys.executable} -m perdure --help | true",
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    assert not err


MESSAGE = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("nonsense", "this is not JSON"),
        ('"text"', "a list of messages is needed"),
        ("[]", "no messages"),
        ("{}", "an object needs messages"),
        (json.dumps([MESSAGE, {"role": "system", "content": "x"}]), "message 2: unknown role"),
        (json.dumps([MESSAGE, "hello"]), "message 2: a message is an object"),
        (json.dumps([{"role": "user", "content": [{"type": "video"}]}]), "message 1: "),
        (json.dumps([{**MESSAGE, "at": "yesterday"}]), "message 1: 'yesterday' is not an ISO"),
        (json.dumps(MESSAGE) + '\n\n{"role": "user"\n', "line 3 is not JSON"),
        (json.dumps(MESSAGE) + '\n\n{"role": "robot", "content": "x"}\n', "line 3: unknown role"),
        (json.dumps({"messages": [MESSAGE], "system": 5}), "system must be a text"),
    ],
)
def test_a_file_names_what_is_wrong_in_it(text: str, said: str) -> None:
    with pytest.raises(Refused, match=re.escape(said)):
        parse_file(text)


async def test_an_import_that_fails_starts_nothing(cli: Cli, fresh: str) -> None:
    # The server is never asked, so there is nothing that could have been started.
    lines = json.dumps(MESSAGE) + "\n\n" + json.dumps({"role": "robot", "content": "x"})
    result = await cli("import", "-", "--id", fresh, stdin=lines, TEMPORAL_ADDRESS="127.0.0.1:1")
    assert result.error.startswith("stdin: line 3: unknown role 'robot'")


def test_a_file_must_be_there_and_be_text(tmp_path: Path) -> None:
    latin = tmp_path / "latin.json"
    latin.write_bytes('["é"]'.encode("latin-1"))
    for file, said in {"nowhere.json": "cannot be read", str(latin): "is not UTF-8"}.items():
        with pytest.raises(Refused, match=said):
            read_file(file)
