"""CPU time that the pure core takes of a turn and of recorded tasks, and the carried bytes.

`python -m bench.core [--json]`; no server, no model: summaries are texts of the wanted length.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bench import tasks
from bench.words import passage
from perdure.contract import ConversationConfig, Marks, Receipt
from perdure.memory.apply import Compacted, apply
from perdure.memory.blocks import Block
from perdure.memory.elide.decide import elide
from perdure.memory.message import Role
from perdure.memory.plan import Part, Plan, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import project
from perdure.memory.sources import source_hash
from perdure.memory.state import append
from perdure.memory.wire import sha256
from workflows.inbox import settle, take_message
from workflows.state import Carried, ConversationState, KeptReply, TurnState

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
# Characters of English prose in a token, as cl100k counts it.
CHARS = 4
USER, REPLY = 400, 1_500
TURNS = 400
# Milliseconds of CPU time a turn, by tokens of state.
TARGETS = {30_000: 5.0, 200_000: 20.0}
CARRIED_TURNS = 5_000
# From which turn on the carried bytes must stay, and by how much they may grow until the last.
SETTLED, GROWTH = 1_000, 1.1
# Milliseconds of CPU time that no workflow task of a recorded history may take.
TASK_MS = 500


def sized(tokens: int) -> MemoryPolicy:
    """Budgets under which the whole context holds about `tokens`, on average."""
    return MemoryPolicy(
        message_budget=tokens * 100 // 100,
        observation_budget=tokens * 60 // 100,
        level_budget=tokens * 30 // 100,
        context_window=10 * tokens,
    )


@dataclass
class Spent:
    """Milliseconds of CPU time of each turn, by what they were spent on."""

    turns: list[dict[str, float]] = field(default_factory=list)

    def timed(self, name: str, do: Callable[..., Any], *args: Any) -> Any:
        """Call `do`, and book it to the turn that began last."""
        before = time.process_time()
        result = do(*args)
        spent = (time.process_time() - before) * 1_000
        self.turns[-1][name] = self.turns[-1].get(name, 0.0) + spent
        return result


class Talk:
    """A conversation in memory, served as the workflow serves it."""

    def __init__(self, policy: MemoryPolicy) -> None:
        self.policy = policy
        self.state = ConversationState(config=ConversationConfig(system="Be brief.", policy=policy))
        self.spent = Spent()

    def turn(self) -> None:
        """One message, the compactions that are due, the request, the reply."""
        state = self.state
        state.turns += 1
        self.spent.turns.append({})
        now = START + timedelta(minutes=state.turns)
        text = passage(f"user {state.turns}", USER)
        take_message(state, {"content": text, "id": f"id-{state.turns}"}, now)
        queued = state.inbox.pop(0)
        self._say("user", queued.content, now)
        self._make_room(now)
        context = self.spent.timed("project", project, state.memory, "Be brief.", 3)
        digest = self.spent.timed("hash", lambda: context.sha256)
        asked = TurnState(
            turn=state.turns,
            step=1,
            seq=state.memory.next_seq - 1,
            message_id=queued.id,
            newest=state.memory.next_seq - 1,
            sha256=digest,
        )
        state.record_sent(asked, context.tokens)
        content: list[Block] = [{"type": "text", "text": passage(f"reply {state.turns}", REPLY)}]
        seq = state.memory.next_seq
        self._say("assistant", content, now)
        settle(
            state,
            queued.id,
            Receipt(message_id=queued.id, turn=state.turns, reply_seq=seq, stop_reason="end_turn"),
        )
        state.remember_reply(
            KeptReply(turn=state.turns, seq=seq, stop_reason="end_turn", content=content, at=now)
        )
        state.record_turned(asked)

    def _say(self, role: Role, content: list[Block], now: datetime) -> None:
        tokens = len(content[0]["text"]) // CHARS
        memory = self.state.memory
        self.state.memory = self.spent.timed(
            "append", partial(append, tokens=tokens), memory, role, content, now
        )

    def _make_room(self, now: datetime) -> None:
        state, timed = self.state, self.spent.timed
        state.memory = timed("elide", elide, state.memory, self.policy)
        while (plan := timed("plan", next_compaction, state.memory, self.policy)) is not None:
            self._take_in(plan, now)

    def _take_in(self, plan: Plan, now: datetime) -> None:
        state, timed = self.state, self.spent.timed
        for part in plan.parts:
            timed("source hash", source_hash, state.memory, part)
        for part in plan.parts:
            made = _summary(part)
            state.memory, entry = timed("apply", apply, state.memory, part, made, now)
            state.remember_compaction(
                entry, urgency=plan.urgency, source_tokens=part.source_tokens, ms=1_000
            )
        # What is archived may leave the windows of the state.
        state.archived = Marks(
            seq=state.memory.next_seq,
            row=state.totals.compactions,
            turn=state.turns,
            event=state.events,
        )


def _summary(part: Part) -> Compacted:
    named = f"summary {part.level} {part.first_seq}"
    return Compacted(
        content=passage(named, part.target_tokens * CHARS),
        tokens=part.target_tokens,
        method="model",
        model="bench",
        prompt_version="bench-1",
        identity=sha256(named)[:32],
    )


def cpu(tokens: int) -> dict[str, Any]:
    """Median, mean and worst CPU milliseconds of a turn once the state has about `tokens`."""
    talk = Talk(sized(tokens))
    while talk.state.memory.levels[:1] < [2] or len(talk.spent.turns) < TURNS:
        talk.turn()
    talk.spent.turns.clear()
    held = []
    for _ in range(TURNS):
        talk.turn()
        held.append(project(talk.state.memory, "", 0).tokens)
    totals = [sum(turn.values()) for turn in talk.spent.turns]
    names = dict.fromkeys(name for turn in talk.spent.turns for name in turn)
    means = {
        name: round(statistics.fmean(t.get(name, 0.0) for t in talk.spent.turns), 2)
        for name in names
    }
    return {
        "tokens": round(statistics.fmean(held)),
        "median_ms": round(statistics.median(totals), 2),
        "mean_ms": round(statistics.fmean(totals), 2),
        "worst_ms": round(max(totals), 2),
        "target_ms": TARGETS[tokens],
        "mean_by_step": means,
    }


def carried() -> dict[str, Any]:
    """Bytes of the state as continue-as-new carries it, every 500 turns."""
    policy = MemoryPolicy(message_budget=4_000, observation_budget=4_000, level_budget=2_000)
    talk = Talk(policy)
    sizes = {}
    for number in range(1, CARRIED_TURNS + 1):
        talk.turn()
        if number % 500 == 0:
            written = Carried(carried=talk.state).model_dump_json()
            sizes[number] = len(written.encode())
    settled = max(size for turn, size in sizes.items() if turn <= SETTLED)
    return {"bytes": sizes, "growth": round(sizes[CARRIED_TURNS] / settled, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.core")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = {tokens: cpu(tokens) for tokens in TARGETS}
    state, of_tasks = carried(), asyncio.run(tasks.measure())
    for row in found.values():
        print(
            f"{row['tokens']:>7,} tokens: {row['median_ms']:.2f} ms median, "
            f"{row['mean_ms']:.2f} mean, {row['worst_ms']:.2f} worst (target {row['target_ms']})"
        )
        print("         " + ", ".join(f"{k} {v}" for k, v in row["mean_by_step"].items()))
    print("carried bytes by turn: " + ", ".join(f"{t}: {b:,}" for t, b in state["bytes"].items()))
    print(f"growth from turn {SETTLED} to {CARRIED_TURNS}: {state['growth']}")
    print(
        f"{of_tasks['tasks']} workflow tasks of the recorded histories: the longest took "
        f"{of_tasks['recorded_ms']} ms when recorded, {of_tasks['replayed_ms']} ms of CPU replayed"
    )
    if given.json:
        print(json.dumps({"cpu": found, "carried": state, "tasks": of_tasks}))
    slow = any(row["mean_ms"] > row["target_ms"] for row in found.values())
    return int(slow or state["growth"] > GROWTH or of_tasks["replayed_ms"] > TASK_MS)


if __name__ == "__main__":
    raise SystemExit(main())
