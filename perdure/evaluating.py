"""`evaluate` of a conversation: what can still be found, and what a model makes of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from perdure.contract import ConversationConfig
from perdure.errors import ArchiveMissing
from perdure.memory.blocks import Block, upper_estimate
from perdure.memory.evaluate import (
    Evaluation,
    Finding,
    Probe,
    Query,
    evaluate,
    judged,
    pieces,
)
from perdure.memory.matching import contains
from perdure.memory.message import Message
from perdure.memory.project import CLOSING, OPENING, Context
from perdure.memory.state import Memory
from perdure.past import Past

Ask = Callable[[Context], Awaitable[str]]
"""Gives what a model says to the last block of a context."""

WORDING: Mapping[Probe, str] = {
    "recall": "{} Answer in a few words, from the record alone.",
    "artifact": "{} Name the file or record and how it stands now, in a few words.",
    "continuation": "{} Name what is to be done next, in a few words.",
    "decision": "{} Name what was decided, in a few words.",
}


async def evaluated(past: Past, queries: Sequence[Query], ask: Ask | None = None) -> Evaluation:
    """What of a conversation can still be found; with `ask` a model is asked as well.

    It is asked each question twice, once with the context and once with the originals, as many
    of them as the policy's window holds. Raises ArchiveMissing when an answer is not in the
    context and there is no archive to look for it in the originals.
    """
    memory = past.held.resumable.memory
    originals = [message async for message in past.messages(expand=True)]
    found = evaluate(memory, originals, queries)
    complete = past.archive is not None or past.tail_seq == 0
    if not complete and (ask or any(f.found == "nowhere" for f in found.queries)):
        raise ArchiveMissing(
            f"Not all of {past.conversation} is in its context, and this client has no archive to "
            "read the originals from; set PERDURE_DATABASE_URL."
        )
    if ask is None:
        return found
    config = past.held.resumable.config or ConversationConfig()
    limit = config.policy.input_limit
    return judged(found, await probe(ask, memory, originals, found.queries, limit))


async def probe(
    ask: Ask,
    memory: Memory,
    originals: Sequence[Message],
    findings: Sequence[Finding],
    limit: int,
) -> list[tuple[str, str]]:
    """What a model answers to each query, from the context and from the originals.

    Both are put before it as a record of texts. Where the originals have more than `limit`
    tokens, those around the message that holds the expected answer are read; of an answer that
    is nowhere, the newest.
    """
    context = [part.text for part in pieces(memory)]
    spoken = [m for m in originals if not m.failed]
    answered = []
    for finding in findings:
        question = WORDING[finding.kind].format(finding.question)
        near = [f"{m.role}: {m.text}" for m in around(spoken, finding.expected_answer, limit)]
        answered.append((await ask(_asked(context, question)), await ask(_asked(near, question))))
    return answered


def around(messages: Sequence[Message], answer: str, limit: int) -> Sequence[Message]:
    """The messages on both sides of the first that holds an answer, or before the last one.

    Together they weigh `limit` tokens at most, but that one is always among them.
    """
    if not messages:
        return messages
    holding = (i for i, m in enumerate(messages) if contains(m.text, answer))
    start = next(holding, len(messages) - 1)
    end = start + 1
    room = limit - messages[start].weight
    grown = True
    while grown:
        grown = False
        if start > 0 and messages[start - 1].weight <= room:
            start, room, grown = start - 1, room - messages[start - 1].weight, True
        if end < len(messages) and messages[end].weight <= room:
            end, room, grown = end + 1, room - messages[end].weight, True
    return messages[start:end]


def _asked(texts: Sequence[str], question: str) -> Context:
    blocks: list[Block] = [
        {"type": "text", "text": text} for text in (OPENING, *texts, CLOSING, question)
    ]
    return Context(
        system="",
        messages=[{"role": "user", "content": blocks}],
        tokens=upper_estimate(blocks),
        memory_blocks=len(blocks) - 1,
    )
