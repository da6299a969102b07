"""What is elided, and when: oldest first, in batches, only as much as is needed."""

from collections.abc import Iterator, Mapping, Sequence

from perdure.memory.blocks import Block, block_text
from perdure.memory.elide.noise import asks, is_acknowledgement, without_debug
from perdure.memory.elide.repeats import Text, repeats
from perdure.memory.elide.results import callers, old_results, result_stub
from perdure.memory.elision import elision
from perdure.memory.groups import results as answers
from perdure.memory.message import MESSAGE_OVERHEAD, Message
from perdure.memory.plan import kept_from
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory
from perdure.memory.thinking import is_thinking

# How far below its threshold a batch brings the messages: 0.70 becomes 0.60 of the budget. Every
# batch breaks the provider's prompt cache once, so it must be worth it.
GOAL = 6 / 7
# Share of the budget that must be said after a batch before the next one.
PAUSE = 0.1
# Tokens that a change must save.
SAVED = 8

Stubs = dict[int, str]
# Stubs by seq that belong together: all of them or none.
Change = dict[int, Stubs]


def is_due(memory: Memory, policy: MemoryPolicy) -> bool:
    """Whether the messages have passed `light_at`, and grown enough since the last batch."""
    tokens = memory.message_tokens
    return (
        policy.enabled
        and tokens >= policy.light_at * policy.message_budget
        and tokens >= memory.light_from
    )


def elide(
    memory: Memory,
    policy: MemoryPolicy,
    *,
    open_seq: int | None = None,
    step_seq: int | None = None,
) -> Memory:
    """The memory with old low-value content elided, the same object when nothing is due.

    Never touched: the newest messages that every compaction keeps, what a turn in progress
    answers (`open_seq`) and what follows it, pinned messages, what is elided already, and what
    only the user has said. Of the turn's steps before `step_seq`, its newest, the tool results
    may be elided.
    """
    if not is_due(memory, policy):
        return memory
    offset = memory.next_seq - len(memory.messages)
    kept_seq = open_seq if step_seq is None else step_seq
    open_from = len(memory.messages) if kept_seq is None else max(0, kept_seq - offset)
    end = kept_from(memory.messages, policy, open_from)
    goal = GOAL * policy.light_at * policy.message_budget
    tokens = memory.message_tokens
    elided = dict(memory.elided)
    held = {m.seq: m for m in memory.messages}
    for change in _changes(memory, end, memory.next_seq if open_seq is None else open_seq):
        if tokens <= goal:
            break
        made = {
            seq: elision(held[seq], {**(elided[seq].blocks if seq in elided else {}), **stubs})
            for seq, stubs in change.items()
        }
        saved = sum(
            memory.weigh(held[seq]) - MESSAGE_OVERHEAD - e.tokens for seq, e in made.items()
        )
        if saved >= SAVED:
            elided.update(made)
            tokens -= saved
    return memory.model_copy(
        update={
            "elided": {seq: elided[seq] for seq in sorted(elided)},
            "light_from": int(tokens + PAUSE * policy.message_budget),
        }
    )


def _may_change(memory: Memory, message: Message) -> bool:
    return not (message.pinned or message.failed) and _is_whole(memory, message)


def _is_whole(memory: Memory, message: Message) -> bool:
    """Whether a message shows all that it says, but for thinking.

    Text beside signed thinking belongs to it and stays as it was until the thinking has left.
    """
    before = memory.elided.get(message.seq)
    thinking = [i for i, block in enumerate(message.content) if is_thinking(block)]
    return list(before.blocks if before else {}) == thinking


def _changes(memory: Memory, end: int, open_seq: int) -> Iterator[Change]:
    """What could be elided in `messages[:end]`, oldest first; a message at most once.

    From `open_seq` on only tool results.
    """
    found: dict[int, Change] = {}
    free = {
        m.seq: m
        for m in memory.messages[:end]
        if _may_change(memory, m) and (m.seq < open_seq or answers(m.content))
    }
    for change in (*_repeats(memory, free), *_results(memory, free), *_noise(memory, free)):
        seqs = list(change)
        if all(seq not in taken for taken in found.values() for seq in seqs):
            found[seqs[0]] = change
    for first in sorted(found):
        yield found[first]


def _plain_text(block: Block) -> str | None:
    """The text of a block that says nothing else, or None."""
    if block.get("type") == "text" and set(block) == {"type", "text"}:
        return str(block["text"])
    if block.get("type") != "tool_result" or "stored" in block:
        return None
    content = block.get("content")
    nested = content if isinstance(content, list) else []
    return block_text(block) if all(b.get("type") == "text" for b in nested) else None


def _repeats(memory: Memory, free: Mapping[int, Message]) -> list[Change]:
    texts = [
        Text(m.seq, i, text, of_user=m.role == "user" and block.get("type") == "text")
        for m in memory.messages
        if not m.failed and _is_whole(memory, m)
        for i, block in enumerate(m.content)
        if (text := _plain_text(block)) is not None
    ]
    by_seq: Change = {}
    for said, stub in repeats(texts):
        if said.seq in free:
            by_seq.setdefault(said.seq, {})[said.index] = stub
    return [{seq: stubs} for seq, stubs in by_seq.items()]


def _results(memory: Memory, free: Mapping[int, Message]) -> list[Change]:
    called = callers(memory.messages)
    return [
        {
            m.seq: {
                i: result_stub(m.seq, b, called.get((m.seq, str(b["tool_use_id"]))))
                for i, b in enumerate(m.content)
                if b.get("type") == "tool_result"
            }
        }
        for m in old_results(memory.messages)
        if m.seq in free
    ]


def _noise(memory: Memory, free: Mapping[int, Message]) -> list[Change]:
    changes: list[Change] = []
    for message in free.values():
        stubs = {
            i: told
            for i, block in enumerate(message.content)
            if (text := _plain_text(block)) is not None
            and (told := without_debug(text, message.seq)) is not None
        }
        if stubs:
            changes.append({message.seq: stubs})
    return [*changes, *map(_heard, _acknowledgements(memory.messages, free))]


def _acknowledgements(
    messages: Sequence[Message], free: Mapping[int, Message]
) -> list[list[Message]]:
    """Runs of messages that say nothing; "ok" to a question is an answer and not among them."""
    runs: list[list[Message]] = [[]]
    for before, message in zip([None, *messages], messages, strict=False):
        heard = message.seq in free and is_acknowledgement(message.content)
        if heard and not (before is not None and asks(before.text)):
            runs[-1].append(message)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _heard(run: Sequence[Message]) -> Change:
    """One line in the place of the first; the others show nothing."""
    first, last = run[0].seq, run[-1].seq
    where = f"message {first}" if first == last else f"messages {first} to {last}"
    change: Change = {m.seq: dict.fromkeys(range(len(m.content)), "") for m in run}
    change[first][0] = f"[{where}: acknowledged]"
    return change
