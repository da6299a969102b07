import base64
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perdure.memory.blocks import IMAGE_TOKENS, Block
from perdure.memory.stored import reference
from perdure.model.picture import dimensions
from perdure.model.tokens import count, count_blocks, count_each

DATA = Path(__file__).parents[3] / "shared" / "data"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (750).to_bytes(4, "big") + (400).to_bytes(4, "big")
GIF = b"GIF89a" + (300).to_bytes(2, "little") + (200).to_bytes(2, "little")
JPEG = b"\xff\xd8\xff\xe0\x00\x10" + bytes(14) + b"\xff\xc0\x00\x11\x08\x01\x68\x02\x1c" + bytes(12)
WEBP_LOSSY = b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(10) + b"\x40\x01\xf0\x00"
WEBP_LOSSLESS = b"RIFF\x00\x00\x00\x00WEBPVP8L" + bytes(5) + (319 | 239 << 14).to_bytes(4, "little")
WEBP_EXTENDED = b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + b"\x3f\x01\x00\xef\x00\x00"


def image(data: bytes, kind: str = "image/png") -> Block:
    encoded = base64.b64encode(data).decode()
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": encoded},
    }


@pytest.mark.parametrize(
    "text",
    ["<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "<|endofprompt|>"],
)
def test_special_tokens_are_ordinary_text(text: str) -> None:
    assert count(text) > 1
    assert count(f"before {text} after") > count("before after")
    assert count_blocks([{"type": "tool_use", "id": "t", "name": text, "input": {text: text}}]) > 3


@pytest.mark.parametrize("character", ["a", "^", " ", "\n", "=", "x9"])
def test_a_million_repeated_characters_are_counted_quickly(character: str) -> None:
    begin = time.monotonic()
    assert count(character * 1_000_000) > 1_000
    assert time.monotonic() - begin < 5


def test_pieces_of_long_texts_add_up() -> None:
    text = "The rye wants 28 degrees. " * 10_000
    assert count(text) == pytest.approx(count(text[:26_000]) * 10, rel=0.001)


@pytest.mark.parametrize("text", ["x\ud83dy", "\udc88", "a\u0000b", "", "👩‍👩‍👧"])
def test_odd_characters_can_be_counted(text: str) -> None:
    assert count(text) == 0 if not text else count(text) > 0


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (750, 400)),
        (GIF, (300, 200)),
        (JPEG, (540, 360)),
        (WEBP_LOSSY, (320, 240)),
        (WEBP_LOSSLESS, (320, 240)),
        (WEBP_EXTENDED, (320, 240)),
        (PNG[:20], None),
        (JPEG[:8], None),
        (b"RIFF\x00\x00\x00\x00WEBPABCD", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_dimensions(data: bytes, size: tuple[int, int] | None) -> None:
    assert dimensions(data) == size


def test_a_picture_costs_its_pixels_wherever_it_stands() -> None:
    # 750 x 400 / 750 tokens, and the few that name it.
    alone = count_blocks([image(PNG)])
    assert 400 <= alone < 450
    inside = count_blocks([{"type": "tool_result", "tool_use_id": "t", "content": [image(PNG)]}])
    assert 400 <= inside < 480
    assert count_blocks([image(PNG)] * 20) == pytest.approx(20 * alone, rel=0.01)


def test_a_picture_of_unknown_size_costs_the_most() -> None:
    assert IMAGE_TOKENS <= count_blocks([image(b"?" * 150_000)]) < IMAGE_TOKENS + 50
    named: Block = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert IMAGE_TOKENS <= count_blocks([named]) < IMAGE_TOKENS + 50
    large = PNG[:16] + (8_000).to_bytes(4, "big") * 2
    assert count_blocks([image(large)]) < IMAGE_TOKENS + 50


def test_what_is_stored_weighs_its_estimate() -> None:
    """Until its original is at hand it must not weigh nothing."""
    page: Block = {"type": "text", "text": "a page of prose. " * 4_000}
    stored = reference(page, "ab" * 32, 68_000)
    assert count_blocks([page]) <= count_blocks([stored]) <= 2 * count_blocks([page])


def test_count_each_counts_each() -> None:
    texts: list[list[Block]] = [[{"type": "text", "text": t}] for t in ("one", "one two three")]
    assert count_each(texts) == [1, 3]


def test_counting_needs_no_network() -> None:
    program = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from perdure.model.tokens import count\n"
        "print(count('hello world'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "2"


@pytest.mark.skipif(not DATA.is_dir(), reason="the data set ../shared/data is not here")
@pytest.mark.parametrize(
    ("script", "per_character"),
    [("en", 0.21), ("zh", 1.07), ("th", 0.92), ("hi", 0.97), ("ar", 0.70)],
)
def test_every_script_is_counted_and_not_guessed(script: str, per_character: float) -> None:
    loaded = json.loads((DATA / f"xquad10.{script}.json").read_text(encoding="utf-8"))
    articles = loaded["data"] if isinstance(loaded, dict) else loaded
    text = "\n".join(p["context"] for article in articles for p in article["paragraphs"])
    assert count(text) / len(text) == pytest.approx(per_character, rel=0.05)
