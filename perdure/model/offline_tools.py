"""Tools without a model: who talks to the offline assistant says itself what to call.

    use refund {"order": "HM-48213", "euros": 20}
    use recall Which oven did I reserve?

Each line of that kind is one call. What follows the name is the arguments as JSON, or the text
of the only one that the tool needs.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from perdure.memory.blocks import Block, block_text
from perdure.memory.project import Context
from perdure.model.extractive import LABEL

_USE = re.compile(r"^use ([\w-]+)[ \t]*(.*)$", re.MULTILINE)


def tool_turn(context: Context, tools: Sequence[Mapping[str, Any]]) -> list[Block] | None:
    """The calls that the last message asks for, or what their results were; None for neither."""
    last = context.messages[-1] if context.messages else {}
    if last.get("role") != "user":
        return None
    content = cast("list[Block]", last["content"])
    # Behind a message that came after the results, they are old news.
    if content and content[-1].get("type") == "tool_result":
        results = [block for block in content if block.get("type") == "tool_result"]
        return [_text(_told(results, _names(context)))]
    # Those of the provider have no schema, and no provider to carry them out.
    known = {str(tool["name"]): tool for tool in tools if "input_schema" in tool}
    said = str(content[-1].get("text", "")) if content else ""
    asked = [found for found in _USE.finditer(said) if found[1] in known]
    if not asked:
        return None
    calls: list[Block] = [
        {
            "type": "tool_use",
            "id": f"offline_{context.sha256[:12]}_{number}",
            "name": found[1],
            "input": _arguments(found[2].strip(), known[found[1]]),
        }
        for number, found in enumerate(asked)
    ]
    return [_text(f"{LABEL} I call {', '.join(str(c['name']) for c in calls)}."), *calls]


def _arguments(given: str, tool: Mapping[str, Any]) -> dict[str, Any]:
    try:
        parsed = json.loads(given or "{}")
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    schema = tool["input_schema"]
    names = schema.get("required") or list(schema.get("properties") or ["text"])
    return {names[0]: given}


def _names(context: Context) -> dict[str, str]:
    """The tools' names by the ids of their calls."""
    blocks = [b for m in context.messages for b in cast("list[Block]", m["content"])]
    return {str(b["id"]): str(b.get("name")) for b in blocks if b.get("type") == "tool_use"}


def _told(results: Sequence[Block], names: Mapping[str, str]) -> str:
    lines = []
    for result in results:
        word = "could not do it" if result.get("is_error") else "says"
        lines.append(f"{names.get(str(result['tool_use_id']))} {word}: {block_text(result)}")
    return f"{LABEL} " + "\n".join(lines)


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
