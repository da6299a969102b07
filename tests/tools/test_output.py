"""What a tool may return, and what the model is then shown."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from perdure.tools import Document, Image
from perdure.tools.output import OutputError, to_content

PNG = b"\x89PNG\r\n\x1a\n"


class Loaf(BaseModel):
    name: str
    grams: int | None = None


@dataclass
class Oven:
    heat: Decimal


def loop() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("It is done.", "It is done."),
        (None, "done"),
        ("", "(nothing)"),
        (" \n", "(nothing)"),
        ([], "[]"),
        (0, "0"),
        ({"b": None, "a": "ü"}, '{"b":null,"a":"ü"}'),
        (Loaf(name="rye"), '{"name":"rye","grams":null}'),
        ([Oven(Decimal("230.5"))], '[{"heat":"230.5"}]'),
        ({"at": datetime(2026, 3, 1, tzinfo=UTC), "in": Path("/x")}, None),
        (["a", "b"], '["a","b"]'),
        ({"type": "rye"}, '{"type":"rye"}'),
        # Records whose own types are called like those of content blocks.
        ({"type": "document", "id": 5}, '{"type":"document","id":5}'),
        ([{"type": "image", "url": "x"}], '[{"type":"image","url":"x"}]'),
        ({"type": "text", "text": "a", "lang": "en"}, '{"type":"text","text":"a","lang":"en"}'),
        ({"type": "text", "text": 7}, '{"type":"text","text":7}'),
        ({"type": "image", "source": "disk"}, '{"type":"image","source":"disk"}'),
        ({"type": ["text"], "text": "a"}, '{"type":["text"],"text":"a"}'),
        ("a\0b \ud83d", "a\ufffdb \ufffd"),
        ({"k\0": ["\udc88"]}, '{"k\ufffd":["\ufffd"]}'),
    ],
)
def test_values_become_text(value: object, text: str | None) -> None:
    (block,) = to_content(value)
    assert block["type"] == "text"
    if text is not None:
        assert block["text"] == text
    block["text"].encode()


def test_pictures_documents_and_blocks_pass_through_in_their_order() -> None:
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(PNG).decode(),
    }
    plain = {"type": "text", "media_type": "text/plain", "data": "Flour."}
    assert to_content(["Look:", Image(PNG), Document("Flour.", title="Recipe")]) == [
        {"type": "text", "text": "Look:"},
        {"type": "image", "source": source},
        {"type": "document", "source": plain, "title": "Recipe"},
    ]
    assert to_content({"type": "image", "source": source}) == [{"type": "image", "source": source}]
    found = {"type": "search_result", "source": "a.md", "title": "A", "content": []}
    assert to_content([found, {"type": "text", "text": "Two."}])[0] == found
    (pdf,) = to_content(Document(b"%PDF-1.7"))
    assert pdf["source"]["media_type"] == "application/pdf"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "its result, object, is not JSON (Unable to serialize unknown type"),
        ({"a": open}, "its result, dict, is not JSON"),
        (loop(), "its result, list, is not JSON"),
        (b"\xff\xfe", "its result, bytes, is not JSON"),
        (Image(b"", "image/tiff"), "a picture is one of image/jpeg, image/png"),
        (Image(b""), "the 0 bytes of its picture are no image/png"),
        (Image(PNG, "image/jpeg"), "the 8 bytes of its picture are no image/jpeg"),
        (Document(b"<html>"), "the 6 bytes of its document are no PDF"),
    ],
)
def test_what_cannot_be_shown_is_named(value: object, words: str) -> None:
    with pytest.raises(OutputError) as refused:
        to_content(value)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
