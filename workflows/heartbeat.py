"""When a worker counts as lost: its activities show a sign of life each second."""

from datetime import timedelta

HEARTBEAT = timedelta(seconds=10)
