"""All commands as one group, of which only the one that is called is imported."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from perdure.cli.commands import COMMANDS

_HOMES = {name: home for panel in COMMANDS.values() for name, (home, _) in panel.items()}


class Commands(TyperGroup):
    """Lists its commands as they were registered, and has `loaded` find the one to run."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name, command and arguments of a call; raises a usage error for an unknown name."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else loaded(name), rest


def register(app: typer.Typer) -> None:
    """Have `app` list every command."""
    for panel, commands in COMMANDS.items():
        for name, (_, line) in commands.items():
            app.command(name, help=line, rich_help_panel=panel)(_listed)


def loaded(name: str) -> Any:
    """The command of this name, imported and ready to run."""
    module, _, function = _HOMES[name].partition(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(getattr(import_module(f"perdure.cli.{module}"), function))
    return typer.main.get_command(alone)


def _listed() -> None:
    raise AssertionError("a command is loaded before it runs")
