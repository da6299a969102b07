"""The answers of the queries, as tables and texts for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from perdure.cli.output import DIM, counted, span, styled, table, when
from perdure.memory.blocks import to_text
from perdure.memory.difference import Difference

BAR_WIDTH = 20


def bar(value: float, full: float, width: int = BAR_WIDTH) -> str:
    """`value` of `full` as a bar of characters; something is never shown as nothing."""
    share = min(1.0, value / full) if full else 0.0
    filled = max(1 if value else 0, round(share * width))
    return "█" * filled + "░" * (width - filled)


def memory_table(found: Mapping[str, Any]) -> RenderableType:
    """The levels of a memory, highest first, then the messages that stand verbatim."""
    rows = table("level", ">entries", ">messages", ">tokens", ">budget", "")
    for level in found["levels"]:
        kind = "observations" if level["level"] == 1 else "reflections"
        rows.add_row(
            f"{level['level']} {kind}",
            f"{level['entries']:,}",
            span(level["first_seq"], level["last_seq"]),
            f"{level['tokens']:,}",
            f"{level['budget']:,}",
            bar(level["tokens"], level["budget"]),
        )
    messages = found["messages"]
    rows.add_row(
        "0 verbatim",
        f"{messages['count']:,}",
        span(messages["first_seq"], messages["last_seq"]) if messages["count"] else "",
        f"{messages['tokens']:,}",
        f"{messages['budget']:,}",
        bar(messages["tokens"], messages["budget"]),
    )
    raw, context = found["raw_tokens"], found["context_tokens"]
    said = f"{counted(found['next_seq'], 'message')}, {counted(raw, 'token')} said"
    pinned = f", {found['pinned']:,} pinned" if found["pinned"] else ""
    return Group(rows, styled(f"\n{said}; {counted(context, 'token')} in the context{pinned}"))


def compactions_table(found: Sequence[Mapping[str, Any]]) -> Table:
    """Rows of the ledger, oldest first."""
    rows = table(
        ">row", "when", "entry", ">messages", ">tokens", ">left", ">ratio", "method", "model"
    )
    for row in found:
        entry = row["observation"]
        rows.add_row(
            f"{row['n']}",
            when(row["at"]),
            entry["id"],
            span(entry["first_seq"], entry["last_seq"]),
            f"{row['source_tokens']:,}",
            f"{entry['compressed_tokens']:,}",
            f"{row['source_tokens'] / max(1, entry['compressed_tokens']):.1f}x",
            entry["method"],
            styled(entry["model"]),
        )
    return rows


def context_lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the model would be sent, as texts with their styles."""
    tokens = counted(found["tokens"], "token")
    turn, digest = found["turn"], found["sha256"][:12]
    if "source" in found:
        yield (
            (
                f"{tokens} sent in turn {turn}, step {found['step']}, sha256 {digest} as recorded; "
                f"rebuilt from the {found['source']}"
            ),
            DIM,
        )
    else:
        yield f"{tokens} after turn {turn}, sha256 {digest}", DIM
    if found["system"]:
        yield "\nsystem", "bold"
        yield found["system"], ""
    for message in found["messages"]:
        yield f"\n{message['role']}", "bold"
        yield to_text(message["content"]), ""


def difference_table(found: Difference) -> Table:
    """What two contexts do not share, in the order in which they are sent."""
    rows = table("", "what", ">messages", ">tokens", "")
    if found.system_changed:
        rows.add_row("changed", "system prompt", "", "", "")
    for word, entries in (("gone", found.entries_gone), ("new", found.entries_new)):
        for e in entries:
            name = f"entry {e.id}, level {e.level}"
            rows.add_row(word, name, span(e.first_seq, e.last_seq), f"{e.tokens:,}", "")
    for word, pins in (("gone", found.pins_gone), ("new", found.pins_new)):
        for text in pins:
            rows.add_row(word, "pin", "", "", styled(" ".join(text.split())[:60]))
    for word, stretches in (("gone", found.messages_gone), ("new", found.messages_new)):
        for s in stretches:
            now = "now" if word == "gone" else "was"
            into = f"{now} in {s.into}" if s.into else ""
            rows.add_row(word, "messages", span(s.first_seq, s.last_seq), f"{s.tokens:,}", into)
    for word, seqs in (("elided", found.elided), ("restored", found.restored)):
        for seq in seqs:
            rows.add_row(word, "message", f"{seq}", "", "")
    return rows


def _state(found: Mapping[str, Any]) -> str:
    if found["state"] != "open":
        return str(found["state"])
    if found["awaiting"]:
        return "waiting for an approval"
    return "closing" if found["closing"] else found["running"] or "waiting for a message"


def cost_text(totals: Mapping[str, Any]) -> str:
    """What a conversation has cost, "" when that is nothing at all."""
    replies, compactions = totals["reply_usage"], totals["compaction_usage"]
    dollars = [f"${usage['cost'] / 1e6:.4f}" for usage in (replies, compactions)]
    known = f"{dollars[0]} for replies, {dollars[1]} for compactions"
    unpriced = replies["unpriced"] + compactions["unpriced"]
    without = f"{counted(unpriced, 'call')} without a price" if unpriced else ""
    parts = [known if replies["cost"] or compactions["cost"] else "", without]
    return ", ".join(part for part in parts if part)


def status_table(found: Mapping[str, Any], id: str) -> Table:  # noqa: A002
    """Where a conversation stands; `found` is the query's answer and the workflow's `state`."""
    totals = found["totals"]
    usage = totals["reply_usage"]
    sent = usage["input"] + usage["cache_read"] + usage["cache_write"]
    failed = f", {totals['failed_turns']:,} failed" if totals["failed_turns"] else ""
    rows = {
        "conversation": f"{id}  {found['title']}".rstrip(),
        "state": _state(found),
        "queue": f"{found['queue']:,}" if found["queue"] else "",
        "model": found["model"] or "the worker's default",
        "turns": f"{found['turn']:,}{failed}",
        "messages": f"{found['messages']:,}",
        "tokens": f"{found['raw_tokens']:,} said, {found['context_tokens']:,} in the context",
        "archived": counted(found["archived"]["seq"], "message"),
        "compactions": f"{totals['compactions']:,}",
        "runs": f"{totals['runs']:,}",
        "used": f"{sent:,} tokens in, {usage['output']:,} out" if sent else "",
        "cost": cost_text(totals),
    }
    shown = table("", "")
    shown.show_header = False
    for name, value in rows.items():
        if value:
            shown.add_row(styled(name, DIM), styled(value))
    for note in found["errors"]:
        shown.add_row(styled(when(note["at"]), DIM), styled(note["text"]))
    for call in found["awaiting"]:
        waits = f"{call['name']} {call['input']} waits for an approval: {call['tool_use_id']}"
        shown.add_row(styled(when(call["since"]), DIM), styled(waits))
    return shown
