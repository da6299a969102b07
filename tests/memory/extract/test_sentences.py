"""Where sentences end, in several scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.memory.extract.sentences import LONGEST, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("I met Dr. Okafor. He waved.", ["I met Dr. Okafor.", "He waved."]),
        ("It costs 3.50 today. Fine.", ["It costs 3.50 today.", "Fine."]),
        ("Bring fruit, e.g. apples. Thanks.", ["Bring fruit, e.g. apples.", "Thanks."]),
        ('He said "Stop!" Then he left.', ['He said "Stop!"', "Then he left."]),
        ("Milk:\n- two litres\n- cold", ["Milk:", "two litres", "cold"]),
        ("我搬家了。你呢？很好！", ["我搬家了。", "你呢？", "很好！"]),
        ("引っ越しました。元気です。", ["引っ越しました。", "元気です。"]),
        ("मैं पुणे में रहता हूँ। तुम कहाँ हो?", ["मैं पुणे में रहता हूँ।", "तुम कहाँ हो?"]),
        ("أين تسكن؟ أسكن في فاس.", ["أين تسكن؟", "أسكن في فاس."]),
        ("See:\n```\na. b. c.\n```\nDone.", ["See:", "```\na. b. c.\n```", "Done."]),
    ],
)
def test_sentences_end_where_a_reader_expects(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def test_thai_is_divided_at_its_spaces() -> None:
    phrase = "ฉันย้ายไปอยู่เชียงใหม่เมื่อปีที่แล้วและทำงานที่ร้านหนังสือเล็กๆใกล้แม่น้ำปิง"
    assert list(sentences(f"{phrase} {phrase}")) == [phrase, phrase]


@given(st.text(max_size=1500))
def test_no_character_but_space_and_bullets_is_lost(text: str) -> None:
    found = list(sentences(text.replace("`", "").replace("~", "")))
    assert all(len(sentence) <= LONGEST for sentence in found)
    assert all(sentence.strip() for sentence in found)
