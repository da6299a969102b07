"""What is logged, and where: on stderr, and only what helps."""

import logging
import sys

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def set_up(*, verbose: bool) -> None:
    """Log warnings to stderr only if asked.

    What goes wrong in a worker is recorded in the conversation and reported from there, so
    the log is for those who look for causes.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO if verbose else logging.CRITICAL, format=_FORMAT
    )


def show_warnings() -> None:
    """For commands that run for long: what goes wrong is worth a line when it happens."""
    root = logging.getLogger()
    root.setLevel(min(root.level, logging.WARNING))


def verbose() -> bool:
    """Whether the user wants to see causes."""
    return logging.getLogger().isEnabledFor(logging.INFO)
