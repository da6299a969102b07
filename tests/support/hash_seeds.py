"""A program run as often as it takes to see whether the order of sets decides anything."""

import os
import subprocess
import sys
from pathlib import Path

SEEDS = ("0", "1", "4711")
_ROOT = Path(__file__).parents[2]


def outputs(program: str) -> list[bytes]:
    """What a Python program prints in a process for each seed; it must succeed in all."""
    return [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            cwd=_ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in SEEDS
    ]
