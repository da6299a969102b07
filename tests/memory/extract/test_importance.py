"""The named terms of importance: each has its say, and a function of one's own can take over."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perdure.memory.extract.importance import Terms, Value, Weights, importance
from perdure.memory.extract.observe import observe
from perdure.memory.extract.score import values
from perdure.memory.extract.types import Turn

START = datetime(2024, 3, 4, 9, 30, tzinfo=UTC)
# What stands beside the texts that are compared, so that their words are equally rare.
FELLOWS = ("The ferry left the harbour.", "A quiet garden grows behind the mill.") * 4


def count(text: str) -> int:
    return len(text.split())


def worth(text: str, role: str = "user", weights: Weights | None = None) -> int:
    """What a text offers among the fellows, its words and its factor together."""
    judge = importance if weights is None else lambda terms: importance(terms, weights)
    value = values([text, *FELLOWS], [role, *("user" for _ in FELLOWS)], judge)[0]
    return sum(weight for _, weight in value.weights) * value.factor // 1000


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("The clock is broken.", "Is the clock broken?"),
        ("They met Okafor at the pier.", "They met someone at the pier."),
        ("They met 17 sailors at the pier.", "They met young sailors at the pier."),
        ("Never rename the boat.", "They seldom rename the boat."),
        ("The parcel costs 40 euros to Bergen.", "The parcel costs little to send north."),
        ("The owner is allergic to hazelnuts.", "The owner is partial to hazelnuts."),
        ("The lantern broke in the storm.", "Keep the lantern in the storm."),
        ("Thanks to him the whole fleet of nine boats reached Oslo at noon.", "Thanks, sailor!"),
    ],
)
def test_each_term_has_its_say(more: str, less: str) -> None:
    assert worth(more) > worth(less)


def test_a_rule_is_the_users_to_make() -> None:
    assert worth("Never rename the boat.") > 5 * worth("Never rename the boat.", "assistant")


@pytest.mark.parametrize(
    ("text", "role", "weights"),
    [
        ("The clock broke.", "assistant", Weights(assistant=500)),
        ("Is the clock broken?", "user", Weights(question=100)),
        ("They met Okafor there.", "user", Weights(entity=1_000)),
        ("They met 17 sailors.", "user", Weights(number=500)),
        ("Never rename the boat.", "user", Weights(cues={})),
        ("Thanks, sailor!", "user", Weights(small_talk=50)),
        ("Keep the lantern.", "user", Weights(manners={}, rarest=100)),
    ],
)
def test_a_weight_moves_its_term(text: str, role: str, weights: Weights) -> None:
    assert worth(text, role, weights) < worth(text, role)


def test_recency_weighs_only_where_it_is_given_a_weight() -> None:
    twice = ["The mill burnt down.", *FELLOWS, "The mill burnt down."]
    roles = ["user" for _ in twice]
    plain = values(twice, roles)
    newest = values(twice, roles, lambda terms: importance(terms, Weights(recency=1_000)))
    assert plain[0] == plain[-1]
    assert newest[-1].factor == 2 * newest[0].factor


def test_a_function_of_ones_own_sees_the_terms_and_decides() -> None:
    seen: list[Terms] = []

    def only_invoices(terms: Terms) -> Value:
        seen.append(terms)
        value = importance(terms)
        return replace(value, factor=value.factor * (50 if "invoice" in terms.text else 1))

    said = ("Never call the harbour.", "The invoice is green.", "Ask Okafor about 17 ships.")
    turns = [Turn(i, "user", START + timedelta(hours=i), text) for i, text in enumerate(said)]
    assert observe(turns, 8, count, only_invoices).endswith("The invoice is green.")
    assert "invoice" not in observe(turns, 8, count)
    assert [t.recency for t in seen] == [0, 500, 1_000]
    assert (seen[2].entities, seen[2].numbers, seen[2].length) == (["okafor"], ["17"], 4)
