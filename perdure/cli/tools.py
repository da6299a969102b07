"""`perdure tools`."""

from typing import Any

from perdure.cli.options import Json
from perdure.cli.output import emit, show, styled, table
from perdure.settings import Settings
from perdure.tools import Tool
from perdure.tools.registry import Offered, as_sent, worker_tools


def tools(as_json: Json = False) -> None:
    """List the tools that a worker with these settings has."""
    found = worker_tools(Settings().tools)
    if as_json:
        shown = zip(as_sent(found), found.values(), strict=True)
        emit([{**sent, **_rules(each)} for sent, each in shown])
        return
    rows = table("tool", "approval", ">seconds", ">attempts", "what it does")
    for each in found.values():
        rules = _rules(each)
        rows.add_row(
            each.name,
            str(rules.get("approval", "-")),
            f"{rules['timeout']:,}" if rules else "-",
            str(rules.get("attempts", "-")),
            styled(each.description.partition("\n")[0]),
        )
    show(rows)


def _rules(each: Offered) -> dict[str, Any]:
    """How calls are carried out; nothing for those of the provider's own tools."""
    if not isinstance(each, Tool):
        return {}
    return {"approval": each.approval, "timeout": each.timeout, "attempts": each.attempts}
