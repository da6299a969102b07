"""What a compaction leaves in place of a range of messages."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

Method = Literal["model", "extractive"]
# The heading line and the block around each entry in a request.
ENTRY_OVERHEAD = 24


class Observation(BaseModel):
    """An entry of level 1 (an observation) or above (a reflection).

    It stands for the messages `first_seq..last_seq`, both included. `original_tokens`
    counts those messages as they were, `compressed_tokens` counts `content`. `sources` are
    the ids of the entries it was made from, empty at level 1. `identity` names the
    compaction: the hash of source, target, instructions, prompt version and model.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    level: int
    content: str
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
    def weight(self) -> int:
        """Tokens it takes in a request."""
        return self.compressed_tokens + ENTRY_OVERHEAD

    @property
    def heading(self) -> str:
        """The line that dates it: `[Summary 2026-03-01 09:00 - 2026-03-04 18:30]`."""
        start, end = (t.strftime("%Y-%m-%d %H:%M") for t in (self.start_time, self.end_time))
        return f"[Summary {start} - {end}]"

    @property
    def text(self) -> str:
        """Heading and content, as the model reads them."""
        return f"{self.heading}\n{self.content}"
