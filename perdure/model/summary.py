"""How a model is asked for a summary, and which answers are taken."""

import re
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from perdure.errors import ModelError
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.model.provider import ModelReply, SummaryCall
from perdure.model.request import Body, checked

OBSERVE = "observe-1"
REFLECT = "reflect-1"
# English needs about four tokens for three words. Room beyond the target is for scripts that
# need more, and because a text that is cut off is lost.
WORDS_PER_TOKEN = 0.75
ROOM = 1_000
# Prose shrinks to about a half, lists of similar lines to a third; only repetition to less.
REPETITIVE = 0.12
REPETITIVE_FROM = 600
_TAGS = re.compile(r"<(?=/?(?:sources|message|observation|previous|instructions)\b)", re.IGNORECASE)


@cache
def prompt(version: str) -> str:
    """The text of a prompt by its version, e.g. "observe-1"."""
    path = files("perdure.model").joinpath("prompts", f"{version}.txt")
    return path.read_text(encoding="utf-8").strip()


def prompt_version(level: int) -> str:
    """The version of the prompt that makes entries of a level."""
    return OBSERVE if level == 1 else REFLECT


def summary_request(call: SummaryCall) -> tuple[Body, str]:
    """The body of a request for a summary, and the version of its prompt.

    The prompt, with the user's instructions, is the system text. The sources are the only
    message: data between tags that cannot be closed from inside.
    """
    version = prompt_version(call.level)
    system = prompt(version)
    if call.instructions.strip():
        system += (
            "\n\nThe owner of the conversation also asks for the following.\n<instructions>\n"
            f"{_inert(call.instructions.strip())}\n</instructions>"
        )
    words = max(20, round(call.target_tokens * WORDS_PER_TOKEN))
    parts = [f"<sources>\n{_sources(call.sources)}\n</sources>"]
    if call.previous.strip():
        parts.insert(0, f"<previous>\n{_inert(call.previous.strip())}\n</previous>")
    parts.append(f"Write the notes on the sources now, in at most {words} words.")
    body: Body = {
        "model": call.model,
        "max_tokens": 2 * call.target_tokens + ROOM,
        "system": [{"type": "text", "text": system}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "\n\n".join(parts)}]}],
        "stream": True,
    }
    return checked(body), version


def accepted(reply: ModelReply) -> str:
    """The text of a summary that may be kept. Raises ModelError of the kind `bad_summary`."""
    text = "".join(str(b.get("text", "")) for b in reply.content if b.get("type") == "text").strip()
    if reply.stop_reason not in ("end_turn", "stop_sequence"):
        raise _bad(f"the summary was not finished: the model stopped with {reply.stop_reason!r}")
    if not text:
        raise _bad("the summary is empty")
    if is_repetitive(text):
        raise _bad("the summary repeats itself")
    return text


def is_repetitive(text: str) -> bool:
    """Whether a text says the same over and over, measured by how far it can be compressed."""
    data = text.encode()
    return len(data) >= REPETITIVE_FROM and len(zlib.compress(data)) < REPETITIVE * len(data)


def _bad(sentence: str) -> ModelError:
    return ModelError(sentence, kind="bad_summary", retryable=True)


def _inert(text: str) -> str:
    return _TAGS.sub("&lt;", text)


def _sources(sources: Sequence[Message | Observation]) -> str:
    return "\n".join(
        _message(s) if isinstance(s, Message) else _observation(s)
        for s in sources
        if not (isinstance(s, Message) and s.failed)
    )


def _message(message: Message) -> str:
    # The day of the week lets the model place "last Friday".
    time = message.at.strftime("%Y-%m-%d %H:%M %a")
    text = _inert(message.text)
    return f'<message role="{message.role}" time="{time}">\n{text}\n</message>'


def _observation(entry: Observation) -> str:
    start, end = (t.strftime("%Y-%m-%d") for t in (entry.start_time, entry.end_time))
    return f'<observation from="{start}" to="{end}">\n{_inert(entry.body)}\n</observation>'
