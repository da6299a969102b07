"""The command line: `perdure`."""

import contextlib
import os
import signal
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from perdure.cli import logs
from perdure.cli.group import Commands, register
from perdure.cli.output import readable
from perdure.cli.stopping import Stopped
from perdure.errors import PerdureError

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

register(app)


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
        wrong, context = error.format_message(), getattr(error, "ctx", None)
        stop = "" if wrong.endswith((".", "?")) else "."
        said = f"{wrong}{stop} See `{context.command_path if context else 'perdure'} --help`."
    else:
        said = f"unexpected {type(error).__name__}: {error} (-v shows where)"
    return readable(" ".join(said.split()))
