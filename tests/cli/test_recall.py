"""`perdure recall` from the command line."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from perdure.cli.recalling import since, until
from tests.archive_flow.conftest import TIGHT, diary
from tests.cli.conftest import Cli

CONFIG = json.dumps({"policy": TIGHT.model_dump(mode="json", exclude_none=True)})


async def test_what_was_said_is_found(
    cli: Cli, fresh: str, tmp_path: Path, server_url: str
) -> None:
    source = tmp_path / "diary.json"
    source.write_text(json.dumps(diary(30)), encoding="utf-8")
    env = {"PERDURE_DATABASE_URL": server_url}
    await cli("import", str(source), "--id", fresh, "--config", CONFIG, **env)
    asked = "Which oven gave 93 loaves?"
    found, filtered, signs, foreign, blind, role, nobody, broken = await asyncio.gather(
        cli("recall", fresh, asked, **env),
        cli("recall", fresh, asked, "--json", "--since", "2026-03-02", "--role", "user", **env),
        cli("recall", fresh, "& | ! <-> ( ) : *", **env),
        cli("recall", fresh, "面包店在哪里", "--json", **env),
        cli("recall", fresh, "29"),
        cli("recall", fresh, asked, "--role", "system", **env),
        cli("recall", f"{fresh}-nobody", asked, **env),
        cli("recall", fresh, asked, "--until", "yesterday", **env),
    )
    assert found.text.startswith("1 March 2026:\n")
    assert "#3 assistant: On day 3 the oven 51 of Hallmoor gave 93 loaves" in found.text
    shown = filtered.json["excerpts"]
    assert {e["role"] for e in shown} == {"user"}
    assert min(e["seq"] for e in shown) == 24
    assert (signs.code, signs.out) == (1, "")
    assert "no word to look for" in signs.err
    assert (foreign.code, json.loads(foreign.out)["excerpts"]) == (1, [])
    assert "#29 " in blind.text
    assert "PERDURE_DATABASE_URL" in blind.err
    assert "'user', 'assistant'" in role.error
    assert "there is no conversation" in nobody.error
    assert "'yesterday' is no time" in broken.error


def test_times() -> None:
    assert since(None) is until(None) is None
    assert since("2026-03-01") == datetime(2026, 3, 1, tzinfo=UTC)
    assert until("2026-03-01") == datetime(2026, 3, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    assert until("2026-03-01T18:30+02:00") == datetime(2026, 3, 1, 16, 30, tzinfo=UTC)
    with pytest.raises(typer.BadParameter, match=re.escape("write 2026-03-01 or")):
        since("1.3.2026")
