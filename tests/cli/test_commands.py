"""The table of the commands, and what is imported for one of them."""

import json
import subprocess
import sys

import pytest

from perdure.cli.commands import COMMANDS
from perdure.cli.group import loaded
from tests.cli.conftest import ROOT

LINES = {name: line for panel in COMMANDS.values() for name, (_, line) in panel.items()}
# Prints the packages that are loaded for `--help`, and for commands that only ask.
PACKAGES = """
import importlib, json, sys

def packages():
    return sorted({name.partition(".")[0] for name in sys.modules})

import perdure.cli
found = [packages()]
for name in ("approving", "control", "listing", "look", "past", "recalling", "sending"):
    importlib.import_module(f"perdure.cli.{name}")
found.append(packages())
print(json.dumps(found))
"""
SERVERS = {"activities", "anthropic", "jsonschema", "multiprocessing", "psycopg", "worker"}


@pytest.mark.parametrize("name", LINES)
def test_a_command_is_listed_by_the_first_line_of_its_help(name: str) -> None:
    command = loaded(name)
    assert command.name == name
    assert command.help.partition("\n\n")[0] == LINES[name]


def test_a_command_that_asks_imports_nothing_of_those_that_serve() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    helping, asking = map(set, json.loads(printed.stdout))
    assert "typer" in helping
    assert not helping & {*SERVERS, "asyncio", "pydantic", "temporalio"}
    assert "temporalio" in asking
    assert not asking & {*SERVERS, "workflows"}
