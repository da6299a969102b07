"""An answer is found by what it says, not by how it is written."""

import pytest

from perdure.memory.matching import contains, normalised


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("She moved to Zürich in May.", "zurich"),
        ("It cost 1,150 euros a month.", "1150 euros"),
        ("It cost 1'150 francs.", "1.150"),
        ("They are 3,5 km away.", "3.5 km"),
        ("Bake it for twelve minutes.", "12 minutes"),
        ("（２０２６年３月１日）", "2026年3月1日"),
        ("他在苏黎世工作了三年。", "苏黎世"),
        ("卡万·肖特以11分领先", "11"),
        ("ทีมนำด้วยการแซ็ค11ครั้ง", "แซ็ค"),
        ("वह ३८ रुपये है", "38"),
        ("ذَهَبَ إلى المدينة", "ذهب"),
        ("Cluster version: 4.18.2-rc1!", "4.18.2 rc1"),
        ("It is 'never', on principle.", "Never on principle"),
        ("a\nline   break", "line break"),
        ("It was Straße 5.", "STRASSE"),
    ],
)
def test_found(text: str, answer: str) -> None:
    assert contains(text, answer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The rent is 1,150 euros.", "150"),
        ("The code is 44719.", "4471"),
        ("He owns a catamaran.", "cat"),
        ("Version 4.18.2", "4.18.3"),
        ("Anything", ""),
        ("Anything", " ?! "),
        ("", "x"),
        ("得分1123", "112"),
    ],
)
def test_not_found(text: str, answer: str) -> None:
    assert not contains(text, answer)


def test_the_vowel_signs_of_indic_scripts_and_thai_are_letters() -> None:
    assert normalised("हिन्दी") == "हिन्दी"
    assert not contains("ปา", "ป้า")


def test_a_point_stays_only_between_digits() -> None:
    assert normalised("No. 3.14 ... end.") == "no 3.14 end"
