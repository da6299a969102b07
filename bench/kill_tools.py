"""Tools with a side effect in a file, for workers that are killed.

`PERDURE_TOOLS=bench.kill_tools`. `LEDGER` names the file of effects, one line each: the
idempotency key and what was done. Beside it, under `.attempts`, stands a line for every attempt.
"""

import fcntl
import os
import time
from pathlib import Path

from perdure.tools import ToolContext, tool

# Seconds before and after the effect, in which a worker may be killed.
PAUSE = 0.15


def ledger() -> Path:
    """The file of effects."""
    return Path(os.environ["LEDGER"])


def attempts() -> Path:
    """The file of attempts."""
    return ledger().with_suffix(".attempts")


def _append(path: Path, key: str, what: str, *, once: bool) -> None:
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if once and any(line.split(" ")[0] == key for line in file):
            return
        file.write(f"{key} {what}\n")


def _effect(context: ToolContext, what: str) -> None:
    _append(attempts(), context.idempotency_key, what, once=False)
    time.sleep(PAUSE)
    _append(ledger(), context.idempotency_key, what, once=True)
    time.sleep(PAUSE)


@tool(approval="ask", attempts=50)
def pay(number: int, context: ToolContext) -> str:
    """Pay a bill."""
    _effect(context, f"pay {number}")
    return f"bill {number} is paid"


@tool(attempts=50)
def file(number: int, context: ToolContext) -> str:
    """File a bill."""
    _effect(context, f"file {number}")
    return f"bill {number} is filed"
