"""What of a conversation can still be found: expected answers, and where they stand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from perdure.memory.blocks import to_text
from perdure.memory.elision import shown
from perdure.memory.matching import holds, normalised
from perdure.memory.message import Message
from perdure.memory.project import context_tokens
from perdure.memory.state import Memory

Where = Literal["context", "archive", "nowhere"]
Probe = Literal["recall", "artifact", "continuation", "decision"]
"""What a query is about: what was said, which file or record was touched and how it stands, what
is to be done next, what was decided and why."""


class Query(BaseModel):
    """A question about a conversation, and the words that a right answer holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: Annotated[str, Field(min_length=1)]
    expected_answer: Annotated[str, Field(min_length=1)]
    kind: Probe = "recall"


class Answers(BaseModel):
    """What a model answered from the context and from the original messages.

    `same`: both hold the expected answer; or neither does, and they say the same words.
    """

    model_config = ConfigDict(frozen=True)

    from_context: str
    from_originals: str
    same: bool


class Finding(BaseModel):
    """Where the expected answer of a query was found first, the context before the archive.

    `place` is the id of an entry such as "L1.0-20", "pinned", or "message 7"; "" for nowhere.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    expected_answer: str
    kind: Probe
    found: Where
    place: str
    answers: Answers | None = None


class Evaluation(BaseModel):
    """A conversation's memory, judged.

    `original_length` are the tokens of all messages, `summary_length` those of the context that
    stands for them (entries, pins and the newest messages, without the system prompt), and
    `compression_ratio` is the one by the other. `recall_score` is the share of the queries whose
    answer is in the context, `same_answers` the share of those that a model was asked which it
    answers the same from the context as from the originals; None if none was asked.
    """

    model_config = ConfigDict(frozen=True)

    compression_ratio: float
    recall_score: float
    summary_length: int
    original_length: int
    same_answers: float | None = None
    queries: list[Finding]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the context or an original, with the name of its place."""

    place: str
    text: str


def pieces(memory: Memory) -> list[Piece]:
    """The parts of the context as `context_text` shows them."""
    parts = [Piece(entry.id, entry.text) for entry in memory.observations]
    parts += [Piece("pinned", pin.text) for pin in memory.pins]
    for message in memory.messages:
        if not message.failed:
            text = to_text(shown(message.content, memory.elided.get(message.seq)))
            parts.append(Piece(f"message {message.seq}", text))
    return parts


def evaluate(memory: Memory, originals: Iterable[Message], queries: Sequence[Query]) -> Evaluation:
    """Looks for every expected answer in the context, and then in the original messages.

    An answer must stand within one part, as `perdure.memory.matching` compares. Raises ValueError
    without queries.
    """
    if not queries:
        raise ValueError("there are no queries")
    context = [(part.place, normalised(part.text)) for part in pieces(memory)]
    archive = [(f"message {m.seq}", normalised(m.text)) for m in originals if not m.failed]
    findings = [_find(query, context, archive) for query in queries]
    tokens = context_tokens(memory, 0)
    return Evaluation(
        compression_ratio=round(memory.raw_tokens / max(1, tokens), 2),
        recall_score=round(sum(f.found == "context" for f in findings) / len(findings), 3),
        summary_length=tokens,
        original_length=memory.raw_tokens,
        queries=findings,
    )


def _find(
    query: Query, context: Sequence[tuple[str, str]], archive: Sequence[tuple[str, str]]
) -> Finding:
    wanted = normalised(query.expected_answer)
    found: Where = "nowhere"
    place = ""
    for where, texts in (("context", context), ("archive", archive)):
        place = next((name for name, text in texts if holds(text, wanted)), "")
        if place:
            found = "context" if where == "context" else "archive"
            break
    return Finding(**query.model_dump(), found=found, place=place)


def judged(evaluation: Evaluation, answered: Sequence[tuple[str, str]]) -> Evaluation:
    """The evaluation with what a model answered to each query, from the context and originals."""
    findings = []
    for finding, (context, originals) in zip(evaluation.queries, answered, strict=True):
        answers = Answers(
            from_context=context,
            from_originals=originals,
            same=_same(finding.expected_answer, context, originals),
        )
        findings.append(finding.model_copy(update={"answers": answers}))
    same = sum(f.answers is not None and f.answers.same for f in findings)
    return evaluation.model_copy(
        update={"queries": findings, "same_answers": round(same / len(findings), 3)}
    )


def _same(expected: str, first: str, second: str) -> bool:
    wanted, *both = normalised(expected), normalised(first), normalised(second)
    known = [holds(text, wanted) for text in both]
    return all(known) or (not any(known) and both[0] == both[1])
