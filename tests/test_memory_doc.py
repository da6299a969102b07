"""What docs/memory.md says of the policy, of the recipes and of its example is so."""

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from bench.identifiers import compacted
from bench.recipes import DOCUMENT, RANGES, SORTS, recipes
from perdure.entrance import parse_config
from perdure.memory.blocks import to_blocks
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_text
from perdure.memory.state import Memory, append
from perdure.model.guarded import extractively
from perdure.model.tokens import count_blocks

TEXT = DOCUMENT.read_text(encoding="utf-8")
TALK = DOCUMENT.parent / "memory-example.json"


def test_the_table_of_the_policy_is_the_policy() -> None:
    table = TEXT.split("<!-- policy -->")[1].split("<!-- /policy -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+? \| `(.*?)` \| .*\|$", table, re.MULTILINE)
    assert {name: json.loads(default) for name, default in rows} == MemoryPolicy().model_dump(
        mode="json"
    )


def test_there_is_a_recipe_for_each_sort_of_talk() -> None:
    assert list(recipes()) == list(RANGES) == list(SORTS)


@pytest.mark.parametrize("name", RANGES)
def test_a_recipe_is_a_configuration(name: str) -> None:
    parsed = parse_config(recipes()[name])
    assert parsed.policy != MemoryPolicy()
    low, high = RANGES[name]
    assert f"| {name} | {low}-{high}x |" in TEXT


def test_the_example_comes_out_as_it_is_shown() -> None:
    config = json.loads(TEXT.split("--config \\\n  '")[1].split("'\n")[0])
    memory = Memory()
    for message in json.loads(TALK.read_text(encoding="utf-8")):
        blocks = to_blocks(message["content"], ("text", "tool_use", "tool_result"))
        at = datetime.fromisoformat(message["at"])
        memory = append(memory, message["role"], blocks, at, tokens=count_blocks(blocks))
    memory = compacted(memory, parse_config(config).policy, extractively, now=True)
    shown = TEXT.split("<!-- example -->\n```text\n")[1].split("\n```")[0]
    assert context_text(memory) == shown
    (entry,) = memory.observations
    assert f"{entry.compressed_tokens} tokens instead of {entry.original_tokens}" in TEXT


def test_what_it_points_to_is_there() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert "://" in link or (Path(DOCUMENT.parent) / link).exists(), link
