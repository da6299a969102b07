"""Being asked to leave."""

import signal
from types import FrameType
from typing import NoReturn


class Stopped(Exception):
    """SIGTERM or Ctrl-C arrived, and what was running has been ended."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.strsignal(number))
        self.number = number


def raise_stopped(number: int, _: FrameType | None) -> NoReturn:
    """A signal's handler that raises Stopped where the main thread is."""
    raise Stopped(number)
