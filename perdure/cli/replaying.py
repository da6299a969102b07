"""`perdure replay`."""

import typer

from perdure.cli.options import Id, Json
from perdure.cli.output import counted, emit, say
from perdure.cli.session import run, session
from perdure.replay import ReplayReport
from perdure.settings import Settings
from worker import replay as replay_runs


def replay(id: Id, as_json: Json = False) -> None:  # noqa: A002
    """Replay the history and compare every context and summary with the recorded ones."""

    async def replayed() -> ReplayReport:
        async with session(Settings(), worker=False) as opened:
            return await replay_runs(opened.client, id)

    report = run(replayed())
    if as_json:
        emit({"identical": report.identical, **report.model_dump(mode="json")})
    else:
        for line in lines(report):
            say(line)
    if not report.identical:
        raise typer.Exit(1)


def lines(report: ReplayReport) -> list[str]:
    """The report for people; the first line is the verdict."""
    compared = (
        f"{counted(report.contexts, 'context')}, "
        f"{counted(report.summaries, 'summary').replace('summarys', 'summaries')}, "
        f"{counted(report.runs, 'run')}"
    )
    said = [f"replay identical: {compared}"] if report.identical else []
    said += [f"replay differs: {difference}" for difference in report.differences]
    said += [f"not compared, removed by retention: run {run_id}" for run_id in report.missing]
    return said
