"""Content blocks in Anthropic form: what may come in, as what text they read, what they weigh."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perdure.memory.wire import canonical_json

Block = dict[str, Any]

USER_BLOCKS = ("text", "image", "document", "search_result")
IMPORT_BLOCKS = (
    *USER_BLOCKS,
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
)
_HIDDEN = ("thinking", "redacted_thinking")
# What one picture costs at most, from Anthropic's rule width x height / 750 after scaling.
IMAGE_TOKENS = 1_600
_SHA256 = re.compile("[0-9a-f]{64}")
_MOST = 2**31
# PostgreSQL text and UTF-8 both refuse these.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class ContentError(ValueError):
    """Content that cannot become a message; the text is one sentence for the sender."""


def clean(value: Any) -> Any:
    """`value` with NUL characters and lone surrogates in its texts replaced by U+FFFD."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {clean(k): clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in value]
    return value


def _stored_fault(stored: Any) -> str | None:
    wanted = {"sha256": str, "size": int, "tokens": int, "full": bool, "head": str, "tail": str}
    if not isinstance(stored, Mapping) or not all(
        isinstance(stored.get(k), wanted[k]) for k in wanted
    ):
        return f"a reference to a stored block needs {', '.join(wanted)}"
    if not _SHA256.fullmatch(stored["sha256"]):
        return "the sha256 of a stored block must be 64 hexadecimal digits"
    # What it claims to weigh moves the budgets, and is added up.
    if not (0 < stored["size"] < _MOST and 0 < stored["tokens"] < _MOST):
        return f"size and tokens of a stored block must lie between 0 and {_MOST:,}"
    return None


def _block_fault(block: Any, allowed: Sequence[str]) -> str | None:
    if not isinstance(block, Mapping):
        return f"a content block must be an object with a type, not {type(block).__name__}"
    kind = str(block.get("type"))
    if kind not in allowed:
        return f"unknown block type {kind!r}; known are {', '.join(allowed)}"
    wanted: Mapping[str, tuple[str, type]] = {
        "text": ("text", str),
        "image": ("source", Mapping),
        "document": ("source", Mapping),
        "tool_use": ("id", str),
        "tool_result": ("tool_use_id", str),
        "thinking": ("signature", str),
    }
    if "stored" in block and (fault := _stored_fault(block["stored"])):
        return fault
    replaced = "stored" in block and not kind.startswith("tool_")
    if (
        kind in wanted
        and not replaced
        and not isinstance(block.get(wanted[kind][0]), wanted[kind][1])
    ):
        field, type_ = wanted[kind]
        noun = "a string" if type_ is str else "an object"
        return f"a {kind} block needs {field!r}, {noun}"
    return None


def is_blank(block: Mapping[str, Any]) -> bool:
    """Whether this is a text block of nothing but white space, which the API refuses."""
    text = block.get("type") == "text" and "stored" not in block
    return text and not str(block.get("text") or "").strip()


def _tidy(block: Block) -> Block:
    """A block without what the API refuses: cache marks of others, nulls, nested blank texts."""
    kept = {k: v for k, v in block.items() if k != "cache_control" and v is not None}
    if kept.get("type") == "tool_result" and isinstance(kept.get("content"), list):
        nested = kept["content"]
        kept["content"] = [b for b in nested if not (isinstance(b, Mapping) and is_blank(b))]
    return kept


def to_blocks(content: Any, allowed: Sequence[str] = USER_BLOCKS) -> list[Block]:
    """A string or a list of blocks as clean, non-blank blocks without cache marks.

    Raises ContentError when the content is of another shape, holds a block type outside
    `allowed`, or says nothing at all.
    """
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list | tuple):
        raise ContentError(
            f"content must be a string or a list of blocks, not {type(content).__name__}"
        )
    for block in content:
        if fault := _block_fault(block, allowed):
            raise ContentError(fault)
    blocks = [_tidy(clean(block)) for block in content if not is_blank(block)]
    if not blocks:
        raise ContentError("the message is empty; send some text")
    return blocks


def _stored(stored: Mapping[str, Any]) -> str:
    head, tail = str(stored.get("head")), str(stored.get("tail"))
    left_out = (
        f"[left out here: the rest of {stored.get('size'):,} bytes, "
        f"kept in the archive as {str(stored.get('sha256'))[:12]}]"
    )
    return "\n".join(part for part in (head, left_out, tail) if part)


def _bytes(source: Mapping[str, Any]) -> str:
    data = str(source.get("data"))
    digest = hashlib.sha256(data.encode()).hexdigest()[:12]
    return f"{source.get('media_type')}, {len(data) * 3 // 4} bytes, sha256 {digest}"


def _light(value: Any) -> Any:
    """`value` with a note in the place of everything in base64, at any depth.

    What only the provider can read, as in the results of its web search, is left out.
    """
    if isinstance(value, Mapping):
        if value.get("type") == "base64" and isinstance(value.get("data"), str):
            return f"[{_bytes(value)}]"
        return {k: _light(v) for k, v in value.items() if not k.startswith("encrypted_")}
    return [_light(v) for v in value] if isinstance(value, list | tuple) else value


def _picture(block: Mapping[str, Any]) -> str:
    source = block.get("source") or {}
    if isinstance(source.get("data"), str):
        about = _bytes(source)
    else:
        about = str(source.get("url") or source.get("file_id") or source.get("type"))
    return f"[{block['type']}: {about}]"


def _document(block: Mapping[str, Any]) -> str:
    source = block.get("source") or {}
    if source.get("type") == "text":
        return str(source.get("data", ""))
    if source.get("type") == "content":
        return block_text(source)
    return _picture(block)


def _tool_use(block: Mapping[str, Any]) -> str:
    return f"[calls {block.get('name')} {canonical_json(_light(block.get('input') or {}))}]"


def _tool_result(block: Mapping[str, Any]) -> str:
    word = "error" if block.get("is_error") else "result"
    return f"[{word}: {block_text(block)}]"


_RENDER: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "text": lambda block: str(block.get("text", "")),
    "image": _picture,
    "document": _document,
    "tool_use": _tool_use,
    "server_tool_use": _tool_use,
    "mcp_tool_use": _tool_use,
    "tool_result": _tool_result,
    "mcp_tool_result": _tool_result,
}


def block_text(holder: Mapping[str, Any]) -> str:
    """`holder["content"]`, a string or blocks, as plain text; pictures become a short note."""
    content = holder.get("content")
    if isinstance(content, str):
        return content
    return to_text(content) if isinstance(content, list) else ""


def to_text(blocks: Sequence[Any]) -> str:
    """Blocks as a person would read them, one per line; thinking is left out.

    What is nested in a block was not checked at the door, so anything may stand here.
    """
    parts = []
    for block in blocks:
        if not isinstance(block, Mapping):
            parts.append(str(block))
            continue
        kind = str(block.get("type"))
        if kind in _HIDDEN:
            continue
        if isinstance(stored := block.get("stored"), Mapping):
            parts.append(_stored(stored))
            continue
        render = _RENDER.get(kind)
        parts.append(render(block) if render else f"[{kind}: {canonical_json(_light(block))}]")
    return "\n".join(parts)


def split_pictures(value: Any) -> tuple[Any, int]:
    """`value` without the bytes of its base64 sources, and how many sources that were."""
    if isinstance(value, Mapping):
        if value.get("type") == "base64" and isinstance(value.get("data"), str):
            return {k: v for k, v in value.items() if k != "data"}, 1
        pairs = [(k, split_pictures(v)) for k, v in value.items()]
        return {k: v for k, (v, _) in pairs}, sum(n for _, (_, n) in pairs)
    if isinstance(value, list | tuple):
        items = [split_pictures(v) for v in value]
        return [v for v, _ in items], sum(n for _, n in items)
    return value, 0


def countable(blocks: Sequence[Block]) -> tuple[str, int]:
    """The text that a tokenizer should count for `blocks`, and the tokens of their pictures."""
    inline = [b for b in blocks if "stored" not in b]
    light, pictures = split_pictures(inline)
    texts = [str(b["text"]) if b.get("type") == "text" else canonical_json(b) for b in light]
    return "\n".join(texts), pictures * IMAGE_TOKENS


def upper_estimate(blocks: Sequence[Block]) -> int:
    """Tokens that `blocks` weigh until they are counted: UTF-8 bytes / 2, never too little."""
    text, pictures = countable(blocks)
    return len(text.encode()) // 2 + pictures + stored_tokens(blocks) + 1


def stored_tokens(blocks: Sequence[Block]) -> int:
    """Tokens of the stored blocks among `blocks`, which were counted when they were stored."""
    return sum(int(b["stored"]["tokens"]) for b in blocks if "stored" in b)
