"""The demo while it runs: a live bar at a terminal, a line now and then elsewhere."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from perdure.cli.demo.play import Progressed
from perdure.cli.output import DIM, console, counted, styled

_LINES = 5


@contextmanager
def following(*, stderr: bool) -> Iterator[Callable[[Progressed], None]]:
    """A function to call after every turn."""
    shown = console(stderr=stderr)
    if not shown.is_terminal:
        yield lambda at: shown.print(_line(at), soft_wrap=True) if _is_due(at) else None
        return
    bar = Progress(
        TextColumn("  talking", markup=False),
        BarColumn(bar_width=48),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    task = bar.add_task("", total=None)
    with Live(bar, console=shown, refresh_per_second=8) as live:

        def follow(at: Progressed) -> None:
            bar.update(task, completed=at.turn, total=at.turns)
            live.update(Group(bar, styled(f"  {_tokens(at)}", DIM), styled(f"  {_made(at)}", DIM)))

        yield follow


def by_level(compactions: Mapping[int, int]) -> str:
    """`12 of level 1, 4 of level 2`."""
    return ", ".join(f"{compactions[level]} of level {level}" for level in sorted(compactions))


def _is_due(at: Progressed) -> bool:
    return at.turn == at.turns or at.turn % (at.turns // _LINES) == 0


def _tokens(at: Progressed) -> str:
    return f"{at.raw_tokens:,} tokens said, {at.context_tokens:,} in the context"


def _made(at: Progressed) -> str:
    made = f"compactions: {by_level(at.compactions) or 'none yet'}"
    return f"{made}; {counted(at.runs, 'run')} of the workflow"


def _line(at: Progressed) -> str:
    return f"turn {at.turn:>3} of {at.turns}: {_tokens(at)}; {_made(at)}"
