"""What was not heard while it was said comes with the reply."""

from typing import Any

import pytest

from perdure.archive import Piece
from perdure.reply import Reply
from perdure.watching import Heard


def piece(start: int, text: str, *, step: int = 1, attempt: int = 1) -> Piece:
    return Piece(message_id="m", turn=1, step=step, attempt=attempt, start=start, text=text)


def rest(reply: Reply, *pieces: Piece) -> Piece | None:
    heard = Heard()
    for each in pieces:
        heard.add(each)
    return heard.rest(reply)


def reply(*content: dict[str, Any] | str, step: int = 1) -> Reply:
    blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
    return Reply(turn=1, step=step, stop_reason="end_turn", text="", content=blocks, message_id="m")


@pytest.mark.parametrize(
    ("said", "pieces", "left"),
    [
        (reply("Once upon a time."), [], piece(0, "Once upon a time.")),
        (reply("Once upon."), [piece(0, "Once "), piece(5, "upon.")], None),
        (reply("Once upon."), [piece(0, "Once ")], piece(5, "upon.")),
        # An attempt that was lost said something else.
        (reply("It was."), [piece(0, "Once ")], piece(0, "It was.", attempt=2)),
        # Of the last step nothing was heard.
        (reply("It is 5.", step=2), [piece(0, "A moment.")], piece(0, "It is 5.", step=2)),
        # A step that was tried again under another number is known by its words.
        (reply("It is 5."), [piece(0, "It is", step=2)], piece(5, " 5.", step=2)),
        # Kept without blanks at its ends.
        (reply("Once\n[interrupted]"), [piece(0, "Once ")], piece(5, "\n[interrupted]")),
        (reply("Once."), [piece(0, "\n\n"), piece(2, "Once.")], None),
        # Said in several blocks, beside something that is not said.
        (reply("Once ", {"type": "image"}, "upon."), [piece(0, "Once upon.")], None),
        (reply({"type": "image"}), [], None),
        (reply(), [piece(0, "Shall I pay?")], None),
    ],
)
def test_what_is_left_of_a_reply(said: Reply, pieces: list[Piece], left: Piece | None) -> None:
    assert rest(said, *pieces) == left
