from pathlib import Path

import pytest

from perdure.contract import Usage
from perdure.errors import SettingsError
from perdure.model.prices import Price, price_of, priced, prices
from perdure.settings import ANTHROPIC_MODEL, OFFLINE_MODEL

PRICE = Price(input=2, output=10, cache_write=2.5, cache_read=0.1)
USAGE = Usage(input=1_000, output=100, cache_write=400, cache_read=10_000)


def test_a_cost_is_in_millionths_of_a_dollar() -> None:
    assert priced(USAGE, PRICE).cost == 2_000 + 1_000 + 1_000 + 1_000


def test_a_thousand_searches_have_a_price_of_their_own() -> None:
    usage = Usage(input=1_000, searches=3)
    assert priced(usage, PRICE).cost == 2_000 + 30_000
    assert priced(usage, PRICE.model_copy(update={"search": 5})).cost == 2_000 + 15_000


def test_our_own_models_have_a_price() -> None:
    table = prices()
    assert price_of(table, ANTHROPIC_MODEL) is not None
    assert priced(USAGE, price_of(table, OFFLINE_MODEL)) == USAGE


def test_a_dated_name_costs_what_the_model_costs() -> None:
    assert price_of(prices(), "claude-haiku-4-5-20251001") == prices()["claude-haiku-4-5"]


def test_a_long_prompt_has_its_own_rates_for_everything() -> None:
    price = price_of(prices(), "claude-haiku-5-5")
    short, long = Usage(input=100_000, output=1_000), Usage(input=100_001, output=1_000)
    assert priced(short, price).cost == 10_000 + 500
    assert priced(long, price).cost == round(100_001 * 0.5 + 2_500)


def test_a_model_without_a_price_is_counted_and_not_guessed() -> None:
    total = priced(USAGE, None) + priced(USAGE, PRICE) + priced(USAGE, None)
    assert (total.cost, total.unpriced) == (5_000, 2)


def test_a_file_stands_over_the_table_model_by_model(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"mine": {"input": 1, "output": 2, "cache_write": 3, "cache_read": 4}}')
    table = prices(file)
    assert table["mine"].output == 2
    assert table.keys() > {ANTHROPIC_MODEL}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "PERDURE_PRICES is .*EOF"),
        ('{"m": {"input": 1}}', "m.output: Field required"),
        ('{"m": {"input": -1, "output": 2, "cache_write": 3, "cache_read": 4}}', "m.input"),
        ("[]", "the file: Input should be an object"),
    ],
)
def test_a_wrong_table_says_where_and_what_would_be_right(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(SettingsError, match=f"(?s){told}.*dollars for a million tokens"):
        prices(file)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        prices(tmp_path / "nowhere.json")
