"""The size of a picture, read from the first bytes of its file."""

from collections.abc import Callable


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, JPEG or WebP, or None when they are not found."""
    for starts, read in _FORMATS:
        if data.startswith(starts):
            try:
                size = read(data)
            except IndexError:
                return None
            return size if size and min(size) > 0 else None
    return None


def _big(data: bytes, at: int) -> int:
    return data[at] << 8 | data[at + 1]


def _little(data: bytes, at: int) -> int:
    return data[at + 1] << 8 | data[at]


def _png(data: bytes) -> tuple[int, int]:
    return _big(data, 16) << 16 | _big(data, 18), _big(data, 20) << 16 | _big(data, 22)


def _gif(data: bytes) -> tuple[int, int]:
    return _little(data, 6), _little(data, 8)


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walks from segment to segment to the frame header (SOF0 to SOF15 but DHT, JPG and DAC)."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data, at + 7), _big(data, at + 5)
        at += 2 + _big(data, at + 2)
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8 ":
        return _little(data, 26) & 0x3FFF, _little(data, 28) & 0x3FFF
    if kind == b"VP8L":
        bits = _little(data, 23) << 16 | _little(data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return _three(data, 24) + 1, _three(data, 27) + 1
    return None


def _three(data: bytes, at: int) -> int:
    return data[at + 2] << 16 | _little(data, at)


_FORMATS: tuple[tuple[bytes, Callable[[bytes], tuple[int, int] | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"\xff\xd8", _jpeg),
    (b"RIFF", _webp),
)
