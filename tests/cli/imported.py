"""Imports what any command does, in the process that they are forked from."""

from importlib import import_module

from perdure.cli.commands import COMMANDS

_HOMES = {home.partition(":")[0] for panel in COMMANDS.values() for home, _ in panel.values()}

for _module in sorted(_HOMES):
    import_module(f"perdure.cli.{_module}")
for _module in ("perdure.archive.archive", "perdure.local.database", "worker"):
    import_module(_module)
