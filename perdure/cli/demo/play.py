"""The demo conversation, held for real, and what was seen on the way."""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from perdure.cli.session import Session
from perdure.connect import Servers
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import ConversationNotFound
from perdure.memory.policy import MemoryPolicy
from perdure.past import Shown
from perdure.replay import ReplayReport
from perdure.settings import OFFLINE_MODEL
from worker import replay

POLICY = MemoryPolicy(
    message_budget=1_200,
    observation_budget=1_000,
    level_budget=1_200,
    observe_chunk=800,
    target_ratio=3.2,
    reflect_ratio=1.4,
)
"""Budgets so small that a few pages of talk go through all that months would bring."""
TURNS_PER_RUN = 60
ID = "demo"


class Question(BaseModel):
    """A question about an early fact; the reply is right if `expected_answer` stands in it."""

    question: str
    expected_answer: str
    fact_turn: int


class Script(BaseModel):
    """What is said in the demo."""

    title: str
    system: str
    messages: list[str]
    questions: list[Question]


@dataclass(frozen=True)
class Said:
    """A message as it was before any compaction."""

    role: str
    text: str


@dataclass(frozen=True)
class Answered:
    """A question with the reply it got."""

    asked: Question
    reply: str

    @property
    def right(self) -> bool:
        """Whether the expected words occur in the reply."""
        return self.asked.expected_answer.casefold() in self.reply.casefold()


@dataclass(frozen=True)
class Progressed:
    """Where the conversation stands after a turn; `compactions` counts by level."""

    turn: int
    turns: int
    raw_tokens: int
    context_tokens: int
    compactions: dict[int, int]
    runs: int


@dataclass(frozen=True)
class Played:
    """The whole demo. `said` holds the messages by their number.

    `oldest` is the entry of the highest level, with what it came from.
    """

    id: str
    servers: Servers
    said: list[Said]
    compactions: list[dict[str, Any]]
    last: Progressed
    verbatim_from: int
    answers: list[Answered]
    oldest: Shown
    replay: ReplayReport
    seconds: float


def script() -> Script:
    """The script that comes with the package."""
    text = files("perdure.demo").joinpath("conversation.json").read_text(encoding="utf-8")
    return Script.model_validate(json.loads(text))


async def play(opened: Session, follow: Callable[[Progressed], None]) -> Played:
    """Hold the conversation under the first unused id, ask the questions, and replay it."""
    began = time.monotonic()
    told = script()
    id = await _unused_id(opened)  # noqa: A001
    conversation = await opened.open(
        id,
        ConversationConfig(
            system=told.system,
            title=told.title,
            model=OFFLINE_MODEL,
            summary_model=OFFLINE_MODEL,
            policy=POLICY,
            turns_per_run=TURNS_PER_RUN,
        ),
    )
    said: list[Said] = []
    compactions: dict[int, dict[str, Any]] = {}
    turns = [*told.messages, *(question.question for question in told.questions)]
    for turn, message in enumerate(turns, start=1):
        reply = (await conversation.ask(message)).text
        said += [Said("user", message), Said("assistant", reply)]
        status = await conversation.status()
        if status["totals"]["compactions"] != len(compactions):
            # The oldest rows lose their texts in time, so the first sight of each is kept.
            for row in await conversation.compactions():
                compactions.setdefault(row["n"], row)
        last = Progressed(
            turn=turn,
            turns=len(turns),
            raw_tokens=status["raw_tokens"],
            context_tokens=status["context_tokens"],
            compactions=dict(Counter(row["observation"]["level"] for row in compactions.values())),
            runs=status["totals"]["runs"],
        )
        follow(last)
    memory = await conversation.memory()
    return Played(
        id=id,
        servers=opened.servers,
        said=said,
        compactions=list(compactions.values()),
        last=last,
        verbatim_from=memory["messages"]["first_seq"],
        answers=_answers(told, said),
        oldest=await conversation.show(memory["observations"][0]["id"]),
        replay=await replay(opened.client, id),
        seconds=time.monotonic() - began,
    )


def _answers(told: Script, said: list[Said]) -> list[Answered]:
    """The questions, which were asked last, with the replies."""
    replies = said[-2 * len(told.questions) + 1 :: 2]
    return [
        Answered(question, reply.text)
        for question, reply in zip(told.questions, replies, strict=True)
    ]


async def _unused_id(opened: Session) -> str:
    number = 1
    while True:
        id = ID if number == 1 else f"{ID}-{number}"  # noqa: A001
        try:
            await Conversation.get(opened.client, id)
        except ConversationNotFound:
            return id
        number += 1
