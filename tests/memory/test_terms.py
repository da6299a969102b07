import unicodedata

import pytest
from hypothesis import given, settings

from perdure.memory.terms import LONGEST, stem, terms
from tests.support.conversations import TEXTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ovens were baking", ["oven", "bak"]),
        ("Café Ökonomie", ["caf", "okonomi"]),
        ("ＨＭ－48213 ﬁne", ["hm48213", "hm", "48213", "fin"]),
        ("rent: 1,150 euros at 10:30", ["rent", "1150", "1", "150", "euro", "1030", "10", "30"]),
        ("write to a.b@c.org", ["writ", "abcorg", "b", "c", "org"]),
        ("Maria's dog didn't", ["maria", "dog"]),
        ("面包店在哪里", ["面包", "包店", "店在", "在哪", "哪里"]),
        ("か", ["か"]),
        ("ขนมปัง", ["ขน", "นม", "มป", "ปั", "ัง"]),
        ("хлеб ёж", ["хлеб", "еж"]),
        ("مُحَمَّد أحمد", ["محمد", "احمد"]),
        ("रोटी", ["रोटी"]),
        ("happy 🎉 day", ["happi", "🎉", "day"]),
        ("die ill may the of", ["die", "ill", "may"]),
        ("& | ! <-> ( ) : * '' \\", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ("run", "runs", "running"),
        ("hike", "hikes", "hiking", "hiked"),
        ("story", "stories"),
        ("bake", "baked", "bakes", "baking"),
    ],
)
def test_forms_of_an_english_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@settings(deadline=None)
@given(TEXTS)
def test_composed_decomposed_and_compatible_forms_are_the_same(text: str) -> None:
    found = terms(text)
    assert all(0 < len(term) <= LONGEST for term in found)
    assert terms(unicodedata.normalize("NFC", text)) == found
    assert terms(unicodedata.normalize("NFD", text)) == found
