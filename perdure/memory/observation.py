"""What a compaction leaves in place of a range of messages."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from perdure.memory.notes import Notes, prose, read_notes

Method = Literal["model", "extractive"]
# The heading line and the block around each entry in a request.
ENTRY_OVERHEAD = 24
_DATED = re.compile(r"(\d{1,2} [A-Z][a-z]+ \d{4}): ")


def dated(fact: str) -> tuple[str, str]:
    """The day that a fact begins with, "8 May 2023" or "", and its clause."""
    day = _DATED.match(fact)
    return (day[1], fact[day.end() :]) if day else ("", fact)


def body(content: str, facts: Sequence[str]) -> str:
    """What an entry says: its content, then `Facts:` with a date line a day and a line a fact."""
    lines = [content, "Facts:"] if facts else [content]
    written = ""
    for day, clause in map(dated, facts):
        if day != written:
            lines.append(f"{day}:")
            written = day
        lines.append(clause)
    return "\n".join(lines)


class Observation(BaseModel):
    """An entry of level 1 (an observation) or above (a reflection).

    It stands for the messages `first_seq..last_seq`, both included. `original_tokens`
    counts those messages as they were, `compressed_tokens` counts `body`. `facts` are clauses
    that must survive and that `content` does not say, word for word, each behind its day
    ("8 May 2023: ..."): the user's, "assistant: ...", or "called ..." for a tool. `sources` are
    the ids of the entries it was made from, empty at level 1. `identity` names the compaction:
    the hash of source, target, instructions, schema, template, prompt version and model. The `id`
    of an entry that was put in the place of another ends with `~2` and up.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    level: int
    content: str
    facts: list[str] = []
    start_time: datetime
    end_time: datetime
    first_seq: int
    last_seq: int
    message_count: int
    original_tokens: int
    compressed_tokens: int
    created_at: datetime
    sources: list[str] = []
    method: Method
    model: str
    prompt_version: str
    identity: str

    def compression_ratio(self) -> float:
        """Tokens of the covered messages per token of this entry; 5.0 means a fifth is left."""
        return self.original_tokens / max(1, self.compressed_tokens)

    @property
    def supersedes(self) -> str | None:
        """The id of the entry whose place it took, if it is no first one of its range."""
        first, _, revision = self.id.partition("~")
        if not revision:
            return None
        return first if revision == "2" else f"{first}~{int(revision) - 1}"

    @property
    def weight(self) -> int:
        """Tokens it takes in a request."""
        return self.compressed_tokens + ENTRY_OVERHEAD

    @property
    def heading(self) -> str:
        """The line that dates it: `[Summary 2026-03-01 09:00 - 2026-03-04 18:30]`."""
        start, end = (t.strftime("%Y-%m-%d %H:%M") for t in (self.start_time, self.end_time))
        return f"[Summary {start} - {end}]"

    @property
    def notes(self) -> Notes | None:
        """The fields of a model's summary, read back from `content`; None for any other text.

        They are not stored beside it: a text that stood in a context must never change, and the
        form of the text loses nothing.
        """
        return read_notes(self.content) if self.method == "model" else None

    @property
    def prose(self) -> str:
        """The content as sentences below date lines, without the frame that notes have."""
        notes = self.notes
        return self.content if notes is None else prose(notes)

    @property
    def body(self) -> str:
        """Content and facts."""
        return body(self.content, self.facts)

    @property
    def text(self) -> str:
        """Heading, content and facts, as the model reads them."""
        return f"{self.heading}\n{self.body}"
