"""The importance of one's own: found by its name, tried, and used in an extract."""

from dataclasses import replace

import pytest

from perdure.errors import SettingsError
from perdure.memory.extract.importance import Terms, Value, importance
from perdure.model.extractive import summarise_extractively
from perdure.model.guarded import summarise
from perdure.model.importance import find_importance
from perdure.model.offline import OfflineProvider
from perdure.model.pool import Pool
from tests.model.calls import message, observe_call

HERE = "tests.model.test_importance"


def ferries(terms: Terms) -> Value:
    """Nothing but ferries counts."""
    return replace(importance(terms), factor=90_000 if "ferr" in terms.text.lower() else 1)


def broken(terms: Terms) -> Value:
    raise ZeroDivisionError(terms.role)


def a_share(terms: Terms) -> Value:
    return replace(importance(terms), factor=0.5)  # type: ignore[arg-type]


def a_number(terms: Terms) -> int:
    return terms.length


def test_without_a_name_it_is_the_default() -> None:
    assert find_importance(None) is importance


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no.such_module:importance", "cannot be imported: No module named 'no'"),
        (f"{HERE}:nothing", f"{HERE} has no function 'nothing'"),
        (f"{HERE}:HERE", "has no function 'HERE'"),
        (f"{HERE}:broken", "fails on a sample: ZeroDivisionError: user"),
        (f"{HERE}:a_share", "must give a perdure.memory.extract.Value of whole numbers"),
        (f"{HERE}:a_number", "must give a perdure.memory.extract.Value of whole numbers, not 4"),
    ],
)
def test_what_cannot_be_used_is_named_in_one_sentence(name: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        find_importance(name)
    sentence = str(refused.value)
    assert sentence.startswith(f"PERDURE_IMPORTANCE is {name!r}")
    assert why in sentence
    assert "\n" not in sentence


async def test_it_decides_what_an_extract_keeps_also_in_the_pool(pool: Pool) -> None:
    call = observe_call(
        message(0, "I like tea. The ferry was late. The oven is from Hallmoor."), target_tokens=32
    )
    own = replace(call, importance=find_importance(f"{HERE}:ferries"), target_tokens=12)
    made = await summarise(OfflineProvider(pool), pool, own)
    assert "ferry" in made.summary.content
    assert made.summary.prompt_version == f"extractive-1+{HERE}:ferries"
    assert "ferry" not in summarise_extractively(replace(call, target_tokens=12)).content
