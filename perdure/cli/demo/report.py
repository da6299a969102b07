"""What the demo shows at its end."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.padding import Padding

from perdure.cli.demo.play import POLICY, Answered, Played, Said
from perdure.cli.demo.progress import by_level
from perdure.cli.output import DIM, console, counted, say, show, span, styled, table
from perdure.cli.replaying import lines
from perdure.cli.tables import bar
from perdure.memory.observation import body

OPENING = "perdure demo, offline: no key, no network; an extractive engine instead of a model."
_ORIGINAL_LINES = 12
_ROWS = 14
_BAR = 50
"""Characters of the bar for all that was said."""


def report(played: Played) -> None:
    """Print it."""
    _introduction(played)
    _heading("One compacted range, before and after")
    _before_and_after(played)
    _heading("Down from a summary to the words")
    _drill_down(played)
    _heading("Compactions")
    _compactions(played.compactions)
    _heading("Tokens")
    _tokens(played)
    _heading("Five questions about the first messages")
    _questions(played)
    _heading("Replay")
    for line in lines(played.replay):
        say(line, "green" if played.replay.identical else "red")
    _heading("Next")
    _next(played)


def figures(played: Played) -> dict[str, Any]:
    """The demo as one JSON document."""
    last = played.last
    return {
        "offline": True,
        "conversation": played.id,
        "turns": last.turns,
        "messages": len(played.said),
        "raw_tokens": last.raw_tokens,
        "context_tokens": last.context_tokens,
        "compactions": {str(level): last.compactions[level] for level in sorted(last.compactions)},
        "runs": last.runs,
        "answers": [
            {**a.asked.model_dump(), "reply": a.reply, "right": a.right} for a in played.answers
        ],
        "replay": {
            "identical": played.replay.identical,
            **played.replay.model_dump(mode="json"),
        },
        "ledger": played.compactions,
        "seconds": round(played.seconds, 1),
    }


def _heading(text: str) -> None:
    say()
    say(text, "bold cyan")


def _introduction(played: Played) -> None:
    last = played.last
    say()
    say(
        f"{counted(last.turns, 'turn')} in {played.seconds:.0f} s, as conversation {played.id}: "
        f"{counted(sum(last.compactions.values()), 'compaction')} ({by_level(last.compactions)}), "
        f"{counted(last.runs - 1, 'time')} continued as new."
    )
    say(
        f"The budgets are tiny on purpose: {POLICY.message_budget:,} tokens of messages, "
        f"{POLICY.observation_budget:,} of observations, {POLICY.level_budget:,} for each level "
        "above.",
        DIM,
    )


def _before_and_after(played: Played) -> None:
    row = next((r for r in played.compactions if _has_text(r)), None)
    if row is None:
        say("nothing was compacted")
        return
    entry = row["observation"]
    first, last = entry["first_seq"], entry["last_seq"]
    say(f"before: messages {span(first, last)}, {counted(row['source_tokens'], 'token')}", DIM)
    originals = played.said[first : last + 1]
    for said in originals[:_ORIGINAL_LINES]:
        _original(said)
    if len(originals) > _ORIGINAL_LINES:
        say(f"  ... and {counted(len(originals) - _ORIGINAL_LINES, 'message')} more", DIM)
    say(
        f"after: one observation, {counted(entry['compressed_tokens'], 'token')}, "
        f"{_times(row['source_tokens'], entry['compressed_tokens'])} smaller",
        DIM,
    )
    show(Padding(styled(body(entry["content"], entry["facts"]).strip()), (0, 0, 0, 2)))


def _drill_down(played: Played) -> None:
    entry, below = played.oldest.entry, played.oldest.made_from
    counts = Counter(e.level for e in below)
    say(
        f"{entry.id} says in {counted(entry.compressed_tokens, 'token')} what messages "
        f"{span(entry.first_seq, entry.last_seq)} said in {entry.original_tokens:,}; it was made "
        f"from {by_level(dict(counts))}. None of those messages is in the context any more; the "
        "archive has them all:"
    )
    for message in played.oldest.messages[2:5]:
        _original(Said(f"{message.seq} {message.role}", message.text))
    say(f"  ... and {counted(entry.message_count - 3, 'message')} more", DIM)


def _has_text(row: Mapping[str, Any]) -> bool:
    return row["observation"]["level"] == 1 and bool(row["observation"]["content"])


def _original(said: Said) -> None:
    shown = console()
    line = styled(f"  {said.role}: ", "bold" if said.role.endswith("user") else DIM)
    line.append(
        " ".join(styled(said.text).plain.split()), "" if said.role.endswith("user") else DIM
    )
    line.truncate(shown.width, overflow="ellipsis")
    shown.print(line, no_wrap=True)


def _compactions(rows: Sequence[Mapping[str, Any]]) -> None:
    shown = _screenful(rows)
    if len(shown) < len(rows):
        say(f"{len(shown)} of {len(rows)}: the newest of level 1, and those above it", DIM)
    made = table(">level", ">messages", ">tokens", ">left", ">ratio", "method")
    for row in shown:
        entry = row["observation"]
        source, left = row["source_tokens"], entry["compressed_tokens"]
        made.add_row(
            str(entry["level"]),
            span(entry["first_seq"], entry["last_seq"]),
            f"{source:,}",
            f"{left:,}",
            f"{source / max(1, left):.1f}x",
            entry["method"],
        )
    show(made)


def _screenful(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most `_ROWS` of them in their order, the higher levels first to be chosen."""
    newest_first = sorted(enumerate(rows), key=lambda r: (r[1]["observation"]["level"] == 1, -r[0]))
    return [row for _, row in sorted(newest_first[:_ROWS], key=lambda r: r[0])]


def _times(whole: int, part: int) -> str:
    return f"{whole / max(1, part):.1f} times"


def _tokens(played: Played) -> None:
    raw, context = played.last.raw_tokens, played.last.context_tokens
    say(f"said     {bar(raw, raw, _BAR)} {raw:,}")
    say(f"context  {bar(context, raw, _BAR)} {context:,}  {_times(raw, context)} smaller")


def _questions(played: Played) -> None:
    say(
        f"Of {counted(len(played.said), 'message')} only those from {played.verbatim_from} on "
        "still stand verbatim in the context.",
        DIM,
    )
    for answer in played.answers:
        _answer(answer)
    right = sum(answer.right for answer in played.answers)
    say()
    say(
        f"{right} of {len(played.answers)} replies contain the expected words",
        "green" if right == len(played.answers) else "yellow",
    )


def _answer(answer: Answered) -> None:
    say()
    say(answer.asked.question, "bold")
    mark, style = ("✓", "green") if answer.right else ("✗", "red")
    told = f"expected: {answer.asked.expected_answer} (told in turn {answer.asked.fact_turn + 1})"
    say(f"  {mark} {told}", style)
    show(Padding(styled(answer.reply), (0, 0, 0, 2)))


def _next(played: Played) -> None:
    program = _beside("perdure")
    query = f"{_beside('temporal')} workflow query -w {played.id} --type context_text"
    commands = {
        f"{program} chat {played.id}": "go on with this conversation",
        f"{program} context {played.id} --text": "read what the model would be sent now",
        f"{program} show {played.id} {played.oldest.entry.id}": "go from a summary to its sources",
    }
    if played.servers.owns:
        commands[f"{program} serve"] = "keep it running, for what follows"
    else:
        commands[query] = "the same with the stock CLI"
    width = max(map(len, commands))
    for command, meaning in commands.items():
        line = styled(f"  {command:<{width}}  ", "bold")
        line.append(meaning, DIM)
        console().print(line, soft_wrap=True)
    if played.servers.owns:
        say(f"  While it serves: the page {played.servers.ui}, and the stock CLI:", DIM)
        say(f"  {query}", DIM)


def _beside(name: str) -> str:
    """How to call a program that stands where this Python stands."""
    program = Path(sys.executable).parent / name
    if shutil.which(name) == str(program) or not program.exists():
        return name
    short = os.path.relpath(program)
    return str(program) if short.startswith(os.pardir) else short
