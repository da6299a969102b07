"""`perdure demo`."""

from perdure.cli.demo.play import Played, play
from perdure.cli.demo.progress import following
from perdure.cli.demo.report import OPENING, figures, report
from perdure.cli.options import Json
from perdure.cli.output import emit, say
from perdure.cli.session import run, session
from perdure.settings import OFFLINE_MODEL, Settings


def demo(as_json: Json = False) -> None:
    """Run a long conversation end to end: no key, no network, about a minute."""
    if not as_json:
        say(OPENING, "bold")
    played = run(_demo(stderr=as_json))
    emit(figures(played)) if as_json else report(played)


async def _demo(*, stderr: bool) -> Played:
    # Whatever the environment says: a demo costs nothing and asks nobody.
    settings = Settings().model_copy(update={"model": OFFLINE_MODEL, "summary_model": None})
    async with session(settings) as opened:
        with following(stderr=stderr) as follow:
            return await play(opened, follow)
