"""Real conversations that the benchmarks read, in the form of `import_messages`."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


class DataMissing(SystemExit):
    """The data is not beside the project; see bench/README.md."""


def read(name: str) -> str:
    """The text of a data file. Raises DataMissing."""
    path = DATA / name
    if not path.exists():
        raise DataMissing(f"bench: {path} is missing; bench/README.md says what belongs there")
    return path.read_text(encoding="utf-8")


def locomo() -> list[dict[str, Any]]:
    """The ten LoCoMo conversations."""
    samples: list[dict[str, Any]] = json.loads(read("locomo10.json"))
    return samples


def locomo_messages(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Speaker a as user, b as assistant, dated by session, captions as text.

    A turn is a minute after the one before, since only sessions have a time.
    """
    conversation = sample["conversation"]
    roles = {conversation["speaker_a"]: "user", conversation["speaker_b"]: "assistant"}
    numbers = sorted(int(k[8:]) for k in conversation if re.fullmatch(r"session_\d+", k))
    messages = []
    for number in numbers:
        text = conversation[f"session_{number}_date_time"]
        start = datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for minute, turn in enumerate(conversation[f"session_{number}"]):
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            messages.append(
                {
                    "role": roles[turn["speaker"]],
                    "content": turn["text"] + caption,
                    "at": (start + timedelta(minutes=minute)).isoformat(),
                }
            )
    return messages


def trajectories() -> list[dict[str, Any]]:
    """The 58 tool trajectories: `{id, system, messages, truth, ...}` each."""
    return [json.loads(line) for line in read("tool_trajectories_anthropic.jsonl").splitlines()]
