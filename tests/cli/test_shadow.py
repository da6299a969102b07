"""Recorded ranges in another way, from the command line."""

import json
from pathlib import Path

import pytest
from temporalio.client import Client

from perdure.cli.shadowing import read_shadows
from perdure.conversation import Conversation
from perdure.errors import Refused
from tests.archive_flow.conftest import TIGHT_CONFIG, diary
from tests.cli.conftest import Cli


async def test_shadow_and_accept(
    client: Client, cli: Cli, fresh: str, server_url: str, tmp_path: Path
) -> None:
    env = {"PERDURE_DATABASE_URL": server_url, "PERDURE_MODEL": "offline"}
    conversation = await Conversation.open(client, fresh, TIGHT_CONFIG)
    await conversation.import_messages(diary(12))
    rows = await conversation.compactions()
    standing = (await conversation.memory())["observations"][-1]["id"]
    [number] = [row["n"] for row in rows if row["observation"]["id"] == standing]
    prompt, file = tmp_path / "prompt.txt", tmp_path / "shadow.json"
    prompt.write_text("Only the loaves.", encoding="utf-8")

    printed = await cli("shadow", fresh, "--prompt", f"@{prompt}", "--rows", "2", "--json", **env)
    found = printed.json
    assert [each["n"] for each in found] == [rows[-2]["n"], rows[-1]["n"]]
    chosen = next(each for each in found if each["n"] == number)
    assert (chosen["id"], chosen["stands"]) == (standing, True)
    assert (chosen["now"]["method"], chosen["now"]["model"]) == ("extractive", "extractive")

    # Offline the same text comes out again, which is nothing to adopt; a better one is written.
    file.write_text(json.dumps(found), encoding="utf-8")
    same = await cli("shadow", fresh, "--from", str(file), "--row", str(number), "--accept", **env)
    assert (same.code, same.err) == (
        1,
        f"row {number} was not accepted: its new text is the old one\n",
    )
    assert len(await conversation.compactions()) == len(rows)
    chosen["now"]["content"] = "The loaves were counted."
    file.write_text(json.dumps(found), encoding="utf-8")
    adopting = ("--from", str(file), "--row", str(number), "--accept")
    accepted = await cli("shadow", fresh, *adopting, "--text", **env)
    assert accepted.text.split("\n")[1].split()[3] == "was"
    assert f"{standing}, now:\nThe loaves were counted." in accepted.text
    assert f"row {number} is superseded: {standing}~2 stands in the memory now" in accepted.text
    assert "The loaves were counted." in await conversation.context_text()

    chosen["now"]["content"] = "Something else."
    file.write_text(json.dumps(found), encoding="utf-8")
    late = await cli("shadow", fresh, *adopting, "--json", **env)
    assert late.code == 1
    file.write_text(late.out, encoding="utf-8")
    [read] = read_shadows(file, [])
    assert (read.id, read.is_new, read.stands) == (standing, True, False)
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(Refused, match="tells nothing of any compaction"):
        read_shadows(file, [])
    file.write_text(json.dumps(found), encoding="utf-8")
    assert "does not stand in the context" in json.loads(late.out)["accepted"][0]["refused"]
    with pytest.raises(Refused, match="is not what `perdure shadow --json` prints"):
        read_shadows(prompt, [])
    with pytest.raises(Refused, match=r"nowhere\.json cannot be read"):
        read_shadows(tmp_path / "nowhere.json", [])
    with pytest.raises(Refused, match="tells nothing of compaction 77"):
        read_shadows(file, [number, 77])
