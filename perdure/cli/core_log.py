"""What the Rust core of Temporal's SDK logs: it prints to stdout unless told otherwise."""

import logging

from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

_CORE = "temporalio.core"


def forward() -> None:
    """Have its lines go where Python's logs go; call it before anything connects."""
    forwarding = LogForwardingConfig(logging.getLogger(_CORE), append_target_to_name=False)
    level = TelemetryFilter(core_level="WARN", other_level="ERROR")
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(level, forwarding)))
    )
