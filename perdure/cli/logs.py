"""What is logged, and where: on stderr, and only what helps."""

import logging
import sys

from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_CORE = "temporalio.core"


def set_up(*, verbose: bool) -> None:
    """Log warnings to stderr only if asked; call it before anything connects.

    What goes wrong in a worker is recorded in the conversation and reported from there, so
    the log is for those who look for causes.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO if verbose else logging.CRITICAL, format=_FORMAT
    )
    # The SDK's Rust core prints to stdout unless its lines are forwarded to Python.
    forwarding = LogForwardingConfig(logging.getLogger(_CORE), append_target_to_name=False)
    level = TelemetryFilter(core_level="WARN", other_level="ERROR")
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(level, forwarding)))
    )


def show_warnings() -> None:
    """For commands that run for long: what goes wrong is worth a line when it happens."""
    root = logging.getLogger()
    root.setLevel(min(root.level, logging.WARNING))


def verbose() -> bool:
    """Whether the user wants to see causes."""
    return logging.getLogger().isEnabledFor(logging.INFO)
