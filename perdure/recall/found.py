"""What a recall gives."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Excerpt(BaseModel):
    """A message, or an entry of the memory, that fits the question.

    `text` is all of it, or the sentences around the words of the question, with "..." where some
    are left out. `seq` is the message's, or the first that an entry covers; `entry` is the id of
    an entry, None for a message; `role` is then "level 1" and so on. The higher the `score`, the
    better it fits; scores of two questions do not compare.
    """

    model_config = ConfigDict(frozen=True)

    seq: int
    role: str
    at: datetime
    text: str
    score: float
    entry: str | None = None


class Recalled(BaseModel):
    """The answer to one question: `excerpts` best first, and all of them as one dated `text`.

    `tokens` are those of `text`. Without excerpts the text is one sentence that says why.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    excerpts: list[Excerpt] = []
    text: str
    tokens: int
