"""What a tool returns, as content blocks of a `tool_result`."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from perdure.memory.blocks import USER_BLOCKS, Block, ContentError, clean, to_blocks

# What the Messages API can look at, and how the bytes of each begin.
PICTURES = {
    "image/jpeg": b"\xff\xd8",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
# A reader of PDF looks for this within so many bytes.
_PDF, _PDF_WITHIN = b"%PDF", 1_024
# The fields of a content block beside its type: those that it needs, and those that it may have.
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text": (("text",), ("citations", "cache_control")),
    "image": (("source",), ("cache_control",)),
    "document": (("source",), ("title", "context", "citations", "cache_control")),
    "search_result": (("source", "title", "content"), ("citations", "cache_control")),
}
DONE = "done"
EMPTY = "(nothing)"


class OutputError(ValueError):
    """A tool returned what cannot be shown to a model; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a tool returns; `media_type` is image/png, jpeg, gif or webp."""

    data: bytes
    media_type: str = "image/png"

    def block(self) -> Block:
        """The content block. Raises OutputError for another media type, or bytes of another."""
        begins = PICTURES.get(self.media_type)
        if begins is None:
            known = ", ".join(PICTURES)
            raise OutputError(f"a picture is one of {known}, not {self.media_type!r}")
        if not self.data.startswith(begins):
            raise OutputError(
                f"the {len(self.data):,} bytes of its picture are no {self.media_type}"
            )
        return {"type": "image", "source": _base64(self.data, self.media_type)}


@dataclass(frozen=True, slots=True)
class Document:
    """A document that a tool returns: the bytes of a PDF, or a text."""

    data: bytes | str
    title: str | None = None

    def block(self) -> Block:
        """The content block. Raises OutputError for bytes that are no PDF."""
        if isinstance(self.data, str):
            source = {"type": "text", "media_type": "text/plain", "data": self.data}
        elif _PDF not in self.data[:_PDF_WITHIN]:
            raise OutputError(f"the {len(self.data):,} bytes of its document are no PDF")
        else:
            source = _base64(self.data, "application/pdf")
        title = {} if self.title is None else {"title": self.title}
        return {"type": "document", "source": source, **title}


def to_content(value: object) -> list[Block]:
    """Content blocks for what a tool returned; never empty.

    A string is a text; Image, Document, content blocks and lists that hold such are taken as
    they are; everything else becomes JSON: models, dataclasses, dates, collections. None says
    that it is done. Raises OutputError for what is none of these.
    """
    items = list(value) if isinstance(value, list | tuple) else [value]
    if any(_is_block(item) for item in items):
        content = [_block(item) for item in items]
    else:
        content = [_text(value)]
    try:
        return to_blocks(content, USER_BLOCKS)
    except ContentError as error:
        if all(block["type"] == "text" for block in content):
            return [{"type": "text", "text": EMPTY}]
        raise OutputError(str(error)) from None


def _is_block(item: object) -> bool:
    """Whether this is meant for the model's eye; a record with a `type` of its own is not."""
    if not isinstance(item, Mapping):
        return isinstance(item, Image | Document)
    fields = _FIELDS.get(item["type"]) if isinstance(item.get("type"), str) else None
    if fields is None:
        return False
    needed, possible = fields
    return (
        all(name in item for name in needed)
        and all(name in ("type", *needed, *possible) for name in item)
        and isinstance(item.get("text", ""), str)
        and (item["type"] == "search_result" or isinstance(item.get("source", {}), Mapping))
    )


def _block(item: object) -> Block:
    if isinstance(item, Image | Document):
        return item.block()
    return dict(item) if isinstance(item, Mapping) and _is_block(item) else _text(item)


def _text(value: object) -> Block:
    if value is None:
        return {"type": "text", "text": DONE}
    if isinstance(value, str):
        return {"type": "text", "text": value}
    try:
        plain = to_jsonable_python(value)
        text = json.dumps(clean(plain), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError, UnicodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise OutputError(f"its result, {type(value).__name__}, is not JSON ({reason})") from None
    return {"type": "text", "text": text}


def _base64(data: bytes, media_type: str) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode("ascii")
    return {"type": "base64", "media_type": media_type, "data": encoded}
