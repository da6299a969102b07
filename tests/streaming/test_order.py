from perdure.archive import Piece
from perdure.watching import Order


def piece(start: int, text: str, *, turn: int = 1, step: int = 1, attempt: int = 1) -> Piece:
    return Piece(message_id="m", turn=turn, step=step, attempt=attempt, start=start, text=text)


def taken(*pieces: Piece) -> list[str]:
    order = Order()
    return [p.text for p in pieces if order.takes(p)]


def test_another_attempt_begins_again_and_the_lost_one_is_heard_no_more() -> None:
    lost, last = piece(0, "Once "), piece(5, "upon")
    again = piece(0, "It was", attempt=2)
    assert taken(lost, again, last, piece(6, " late", attempt=2)) == ["Once ", "It was", " late"]


def test_a_piece_that_comes_twice_or_too_early_is_left_out() -> None:
    assert taken(piece(0, "ab"), piece(0, "ab"), piece(4, "ef"), piece(2, "cd")) == ["ab", "cd"]


def test_steps_and_turns_follow_each_other() -> None:
    assert taken(piece(0, "a"), piece(0, "b", step=2), piece(0, "c", turn=2), piece(1, "late")) == [
        "a",
        "b",
        "c",
    ]
