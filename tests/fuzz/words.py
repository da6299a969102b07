"""What is said in a fuzzed conversation: some of it long, repeated, trivial or noisy."""

import random

from perdure.memory.blocks import Block

_WORDS = [f"word{n}" for n in range(60)]
_TRIVIAL = ["ok", "Thanks!", "Got it. Thank you.", "Great, noted!", "好的", "Verstanden."]


def _prose(dice: random.Random, length: int) -> str:
    words = dice.choices(_WORDS, k=length)
    return " ".join(f"{w}." if n % 12 == 11 else w for n, w in enumerate(words))


def _passage(dice: random.Random) -> str:
    """One of three long texts, as it was or with a few other words."""
    known = random.Random(dice.randrange(3))
    words = _prose(known, 150).split()
    for _ in range(dice.choice([0, 0, 2, 30])):
        words[dice.randrange(len(words))] = dice.choice(_WORDS)
    return " ".join(words)


def _log(dice: random.Random) -> str:
    return "\n".join(
        f"12:00:{n:02} DEBUG pool: slot {n} idle" for n in range(dice.randrange(3, 40))
    )


def constraint(number: int) -> str:
    """A standing instruction that must not be elided."""
    return f"Never mention price-{number}."


def spoken(dice: random.Random, mark: str) -> str:
    """The text of a message, behind its mark unless that would make it another text."""
    kind = dice.choice(["short", "short", "long", "passage", "again", "trivial", "log"])
    if kind == "trivial":
        return dice.choice(_TRIVIAL)
    if kind == "again":
        return _prose(random.Random(dice.randrange(2)), 120)
    if kind == "passage":
        return f"{mark} {_passage(dice)}"
    if kind == "log":
        return f"{mark} What is this?\n{_log(dice)}\nTell me."
    length = dice.randrange(1, 30) if kind == "short" else dice.randrange(30, 400)
    return f"{mark} {_prose(dice, length)}"


def results(dice: random.Random, ids: list[str], mark: str) -> list[Block]:
    """Results of all calls; they end in another order than they were asked for."""
    said: list[Block] = []
    for number, id_ in enumerate(ids):
        content = f"{mark if number == 0 else ''} {_passage(dice)} {_prose(dice, 20)}"
        kind = dice.choice(["text", "blocks", "error", "short"])
        block: Block = {"type": "tool_result", "tool_use_id": id_, "content": content}
        if kind == "blocks":
            block["content"] = [{"type": "text", "text": content}]
        elif kind == "error":
            block.update({"is_error": True, "content": f"{mark} interrupted"})
        elif kind == "short":
            block["content"] = f"{mark if number == 0 else ''} done"
        said.append(block)
    dice.shuffle(said)
    return said
