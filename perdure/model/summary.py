"""How a model is asked for a summary, and which answers are taken."""

import json
import re
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.model.answer import BadSummary, read_answer, text_of
from perdure.model.provider import ModelReply, Summary, SummaryCall
from perdure.model.request import Body, checked

OBSERVE = "observe-2"
REFLECT = "reflect-2"
# English needs about four tokens for three words. Room beyond the target is for the names of the
# fields and for scripts that need more, and because a text that is cut off is lost.
WORDS_PER_TOKEN = 0.75
OUTPUT_RATIO = 3
ROOM = 1_500
# Models that think unasked do so within the same limit; what is not used costs nothing.
THINKING_ROOM = 12_000
# Tokens of a request beside the sources: the prompt, the schema, and what separates messages.
FRAME = 3_000
# Prose shrinks to about a half, lists of similar lines to a third; only repetition to less.
REPETITIVE = 0.12
REPETITIVE_FROM = 600
_TAGS = re.compile(
    r"<(?=/?(?:sources|message|observation|previous|instructions|schema)\b)", re.IGNORECASE
)


@cache
def prompt(version: str) -> str:
    """The text of a prompt by its version, such as "observe-2"."""
    path = files("perdure.model").joinpath("prompts", f"{version}.txt")
    return path.read_text(encoding="utf-8").strip()


def prompt_version(level: int) -> str:
    """The version of the prompt that makes entries of a level."""
    return OBSERVE if level == 1 else REFLECT


def output_tokens(call: SummaryCall) -> int:
    """How many tokens the answer to a call may have, without what the model thinks before."""
    return OUTPUT_RATIO * call.target_tokens + ROOM


def source_room(call: SummaryCall) -> int:
    """How many tokens of sources fit the window of the model beside all else."""
    beside = FRAME + output_tokens(call) + len((call.previous + call.instructions).encode()) // 2
    return max(call.window - beside, call.window // 4)


def summary_request(call: SummaryCall, schema: Mapping[str, Any] | None = None) -> Body:
    """The body of a request for a summary, as yet without its output format.

    The prompt, with the user's instructions, is the system text. The sources are the only
    message: data between tags that cannot be closed from inside. `schema` is given where the
    endpoint has no structured output: it then stands in the system text.
    """
    system = prompt(prompt_version(call.level))
    if schema is not None:
        system += f"\n\n<schema>\n{json.dumps(schema, ensure_ascii=False)}\n</schema>"
    if call.instructions.strip():
        system += (
            "\n\nThe owner of the conversation also asks for the following.\n<instructions>\n"
            f"{_inert(call.instructions.strip())}\n</instructions>"
        )
    parts = [f"<sources>\n{sources_text(call)}\n</sources>"]
    if call.previous.strip():
        parts.insert(0, f"<previous>\n{_inert(call.previous.strip())}\n</previous>")
    words = max(20, round(call.target_tokens * WORDS_PER_TOKEN))
    parts.append(f"Write the notes on the sources now, in at most {words} words.")
    if call.fault:
        parts[-1] += f" Your last answer could not be used: {_inert(call.fault)}."
    body: Body = {
        "model": call.model,
        "max_tokens": output_tokens(call) + THINKING_ROOM,
        "system": [{"type": "text", "text": system}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "\n\n".join(parts)}]}],
        "stream": True,
    }
    if call.thinking:
        body["thinking"] = {"type": "adaptive"}
    return checked(body)


def accepted(reply: ModelReply, call: SummaryCall) -> Summary:
    """The summary in a model's answer, if it may be kept; otherwise raises BadSummary."""
    try:
        text = "".join(str(b.get("text", "")) for b in reply.content if b.get("type") == "text")
        if reply.stop_reason not in ("end_turn", "stop_sequence"):
            raise BadSummary(f"it was not finished: the model stopped with {reply.stop_reason!r}")
        if not text.strip():
            raise BadSummary("it is empty")
        answer = read_answer(text, call)
        content = text_of(answer, call)
        if not content.strip():
            raise BadSummary("it is empty")
        if is_repetitive(content):
            raise BadSummary("it repeats itself")
    except BadSummary as fault:
        fault.usage = reply.usage
        raise
    return Summary(
        content=content,
        method="model",
        model=reply.model or call.model,
        prompt_version=prompt_version(call.level),
        usage=reply.usage,
        answer=answer,
    )


def is_repetitive(text: str) -> bool:
    """Whether a text says the same over and over, measured by how far it can be compressed."""
    data = text.encode()
    return len(data) >= REPETITIVE_FROM and len(zlib.compress(data)) < REPETITIVE * len(data)


def sources_text(call: SummaryCall) -> str:
    """The sources of a call as the model reads them, without failed messages."""
    return "\n".join(
        _message(s) if isinstance(s, Message) else _observation(s)
        for s in call.sources
        if not (isinstance(s, Message) and s.failed)
    )


def _inert(text: str) -> str:
    return _TAGS.sub("&lt;", text)


def _message(message: Message) -> str:
    # The day of the week lets the model place "last Friday".
    time = message.at.strftime("%Y-%m-%d %H:%M %a")
    text = _inert(message.text)
    return f'<message role="{message.role}" time="{time}">\n{text}\n</message>'


def _observation(entry: Observation) -> str:
    start, end = (t.strftime("%Y-%m-%d") for t in (entry.start_time, entry.end_time))
    return f'<observation from="{start}" to="{end}">\n{_inert(entry.body)}\n</observation>'
