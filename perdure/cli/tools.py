"""`perdure tools`."""

from perdure.cli.options import Json
from perdure.cli.output import emit, show, styled, table
from perdure.settings import Settings
from perdure.tools.registry import as_sent, worker_tools


def tools(as_json: Json = False) -> None:
    """List the tools that a worker with these settings has."""
    found = worker_tools(Settings().tools)
    if as_json:
        emit(
            [
                {
                    **sent,
                    "approval": each.approval,
                    "timeout": each.timeout,
                    "attempts": each.attempts,
                }
                for sent, each in zip(as_sent(found), found.values(), strict=True)
            ]
        )
        return
    rows = table("tool", "approval", ">seconds", ">attempts", "what it does")
    for each in found.values():
        rows.add_row(
            each.name,
            each.approval,
            f"{each.timeout:,}",
            f"{each.attempts}",
            styled(each.description.partition("\n")[0]),
        )
    show(rows)
