"""The command line: `perdure`."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError

from perdure.cli import logs
from perdure.cli.approving import approve
from perdure.cli.chat import chat
from perdure.cli.control import close, compact
from perdure.cli.deleting import delete
from perdure.cli.demo import demo
from perdure.cli.evaluating import evaluate
from perdure.cli.importing import import_
from perdure.cli.listing import list_
from perdure.cli.look import context, memory, status
from perdure.cli.output import readable
from perdure.cli.past import compactions, show_, transcript
from perdure.cli.recalling import recall
from perdure.cli.replaying import replay
from perdure.cli.sending import send
from perdure.cli.serving import serve, worker
from perdure.cli.session import Stopped
from perdure.cli.shadowing import shadow_
from perdure.cli.tools import tools
from perdure.cli.transfer import export, restore
from perdure.cli.travel import diff, fork
from perdure.cli.verifying import verify
from perdure.errors import PerdureError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_PANELS: dict[str, dict[str, Callable[..., Any]]] = {
    "Talk": {
        "chat": chat,
        "send": send,
        "import": import_,
        "approve": approve,
        "compact": compact,
        "close": close,
    },
    "Look": {
        "list": list_,
        "status": status,
        "context": context,
        "diff": diff,
        "memory": memory,
        "compactions": compactions,
        "shadow": shadow_,
        "show": show_,
        "transcript": transcript,
        "recall": recall,
        "verify": verify,
        "evaluate": evaluate,
        "replay": replay,
        "tools": tools,
    },
    "Move": {"fork": fork, "export": export, "restore": restore, "delete": delete},
    "Run": {"demo": demo, "serve": serve, "worker": worker},
}
for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        app.command(_name, rich_help_panel=_panel)(_command)


@app.callback(invoke_without_command=True)
def perdure(
    ctx: typer.Context,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Log to stderr, and show where errors come from."),
    ] = False,
) -> None:
    """Agent conversations that last, and always fit the model's window."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), nl=False)
        return
    logs.set_up(verbose=verbose)


def main() -> NoReturn:
    """Run the command line and leave the process."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without UTF-8 gets escapes instead of a UnicodeEncodeError.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = _run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or 1
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    # Python's own way out can crash after a call to Temporal: the SDK's threads outlive the
    # interpreter they call into (temporalio/sdk-python issue 300).
    os._exit(code)


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=arguments, prog_name="perdure", standalone_mode=False)
    except Stopped as stopped:
        return 128 + stopped.number
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        return 1
    except Exception as error:
        if logs.verbose():
            traceback.print_exc()
        sys.stderr.write(f"perdure: {_sentence(error)}\n")
        return int(getattr(error, "exit_code", 1))
    return code if isinstance(code, int) else 0


def _sentence(error: Exception) -> str:
    """What went wrong, on one line."""
    if isinstance(error, PerdureError):
        said = str(error)
    elif hasattr(error, "format_message"):
        said = f"{error.format_message()} See `perdure --help`."
    elif isinstance(error, RPCError):
        said = f"Temporal did not do it: {error.message}"
    elif isinstance(error, WorkflowFailureError):
        said = f"the conversation ended without a result: {error.cause}"
    else:
        said = f"unexpected {type(error).__name__}: {error} (-v shows where)"
    return readable(" ".join(said.split()))
