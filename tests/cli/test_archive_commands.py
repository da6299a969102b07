"""Drilling down, verifying, moving and deleting from the command line."""

import asyncio
import json
from pathlib import Path

from tests.archive_flow.conftest import TIGHT, diary
from tests.cli.conftest import Cli

CONFIG = json.dumps({"policy": TIGHT.model_dump(mode="json", exclude_none=True)})


async def test_import_verify_show_export_restore_delete(
    cli: Cli, fresh: str, tmp_path: Path, server_url: str
) -> None:
    source, export = tmp_path / "diary.json", tmp_path / "talk.jsonl"
    source.write_text(json.dumps(diary(30)), encoding="utf-8")
    env = {"PERDURE_DATABASE_URL": server_url}
    await cli("import", str(source), "--id", fresh, "--config", CONFIG, **env)

    memory = (await cli("memory", fresh, "--json")).json
    entry = memory["observations"][0]["id"]
    verified, shown, blind, told, rows = await asyncio.gather(
        cli("verify", fresh, "--against", str(source), **env),
        cli("show", fresh, entry, "--messages", "1", **env),
        cli("show", fresh, entry),
        cli("transcript", fresh, "--last", "1", **env),
        cli("compactions", fresh, "--before", "2", "--json", **env),
    )
    assert verified.text == "identical: 30 messages equal, 0 different, 0 missing, 0 extra\n"
    assert shown.text.startswith(f"{entry}  messages 0-")
    assert diary(1)[0]["content"] in shown.text
    assert f"perdure transcript {fresh} --first 1 --last " in shown.text
    assert "PERDURE_DATABASE_URL" in blind.err
    assert told.text.count("\n") == 4
    assert [row["n"] for row in rows.json] == [0, 1]

    changed = [*diary(29), *({"role": "user", "content": "never said"} for _ in range(2))]
    source.write_text(json.dumps(changed), encoding="utf-8")
    differs = await cli("verify", fresh, "--against", str(source), "--json", **env)
    assert differs.code == 1
    counts = json.loads(differs.out)
    assert (counts["equal"], counts["different"], counts["missing"]) == (29, 1, 1)

    exported = await cli("export", fresh, str(export), **env)
    assert exported.err.startswith(f"exported {fresh} to {export}: ")
    copy = f"{fresh}-copy"
    done = await cli("restore", str(export), "--id", copy, "--json", **env)
    assert (done.json["identical"], done.json["messages"]) == (True, 30)
    taken, broken, running, unknown = await asyncio.gather(
        cli("restore", str(export), "--id", copy, **env),
        cli("restore", str(source), **env),
        cli("delete", copy, **env),
        cli("delete", f"{fresh}-nobody", **env),
    )
    assert "already" in taken.error
    assert broken.error.startswith(f"{source}: line 1 is not a line of an export")
    assert "--force" in running.error
    assert "there is no conversation" in unknown.error
    deleted = await cli("delete", copy, "--force", "--json", **env)
    assert (deleted.json["messages"] > 0, deleted.json["runs"]) == (True, 1)
    assert "there is no conversation" in (await cli("status", copy, **env)).error
