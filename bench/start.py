"""How long a command takes to start, beside the libraries that it cannot do without.

python -m bench.start [--json]
"""

import argparse
import json
import os
import statistics
import sys

PAIRS = 9
# What is printed by typer, and what speaks to Temporal with types of pydantic's.
PRINTING = "import typer.rich_utils"
ASKING = f"{PRINTING}; import temporalio.client, temporalio.contrib.pydantic, pydantic"
STARTS = {
    "perdure --help": (("--help",), PRINTING, 2.0),
    "perdure list --help": (("list", "--help"), ASKING, 1.5),
}
"""By command: its arguments, the imports of its floor, and how many times the floor it may take."""


def seconds(*arguments: str) -> float:
    """CPU seconds, user's and system's, of a Python with these arguments."""
    silent = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, silent, 1)],
    )
    os.close(silent)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} ended with status {status}")
    return used.ru_utime + used.ru_stime


def measured(arguments: tuple[str, ...], floor: str) -> dict[str, float]:
    """Medians of the command, its floor, and their ratio pair by pair; the first pair warms up."""
    pairs = [
        (seconds("-m", "perdure", *arguments), seconds("-c", floor)) for _ in range(PAIRS + 1)
    ][1:]
    return {
        "seconds": round(statistics.median(ours for ours, _ in pairs), 3),
        "floor": round(statistics.median(theirs for _, theirs in pairs), 3),
        "ratio": round(statistics.median(ours / theirs for ours, theirs in pairs), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    as_json = parser.parse_args().json
    found = {name: measured(arguments, floor) for name, (arguments, floor, _) in STARTS.items()}
    for name, figures in found.items():
        print(f"{name:<20} {figures['seconds']:.3f} s of CPU, {figures['ratio']:.2f} of its floor")
    if as_json:
        print(json.dumps(found))
    sys.exit(any(found[name]["ratio"] > most for name, (_, _, most) in STARTS.items()))


if __name__ == "__main__":
    main()
