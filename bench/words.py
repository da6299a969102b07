"""Texts of a wanted length that no two turns share: the demo's sentences, drawn with a seed."""

import json
import random
from functools import cache
from importlib.resources import files


@cache
def sentences() -> list[str]:
    """The messages of the demo conversation."""
    text = files("perdure.demo").joinpath("conversation.json").read_text(encoding="utf-8")
    messages: list[str] = json.loads(text)["messages"]
    return messages


def passage(seed: str, length: int) -> str:
    """About `length` characters, always the same for a seed."""
    drawn = random.Random(seed)
    said = drawn.choice(sentences())
    while len(said) < length:
        said = f"{said} {drawn.choice(sentences())}"
    return said[:length].rstrip()
