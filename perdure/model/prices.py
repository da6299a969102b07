"""What a call cost: usage times a price table.

The table that comes with the package holds Anthropic's list prices of November 2026, in US dollars
for a million tokens, for caches of five minutes (platform.claude.com/docs, "Pricing").
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from perdure.contract import Usage
from perdure.errors import SettingsError
from perdure.model.answer import BadSummary
from perdure.model.provider import (
    ModelReply,
    OnText,
    Provider,
    ReplyCall,
    Stopped,
    Summary,
    SummaryCall,
)

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Rates(BaseModel):
    """US dollars for a million tokens of each kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Dollars
    output: Dollars
    cache_write: Dollars
    cache_read: Dollars


class Long(Rates):
    """The rates of a whole request whose prompt has more than `over` tokens."""

    over: Annotated[int, Field(gt=0)]


class Price(Rates):
    """The rates of a model; `search` is for a thousand web searches."""

    long: Long | None = None
    search: Dollars = 10


Prices = Mapping[str, Price]
_TABLE = TypeAdapter(dict[str, Price])


def prices(path: Path | None = None) -> Prices:
    """The table of the package, with that of a JSON file over it, model by model.

    Raises SettingsError when the file cannot be read.
    """
    ours = files("perdure.model").joinpath("prices.json").read_text(encoding="utf-8")
    table = _TABLE.validate_json(ours)
    if path is None:
        return table
    try:
        return table | _TABLE.validate_json(path.read_bytes())
    except OSError as error:
        why = error.strerror or "it cannot be read"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
    raise SettingsError(
        f"PERDURE_PRICES is {path}, which is no price table ({why}); it must hold JSON such as "
        '{"my-model": {"input": 2, "output": 10, "cache_write": 2.5, "cache_read": 0.2}}, in US '
        "dollars for a million tokens."
    )


def price_of(table: Prices, model: str) -> Price | None:
    """The price of a model; one with a date behind its name costs what the model costs."""
    if model in table:
        return table[model]
    name, _, date = model.rpartition("-")
    return table.get(name) if len(date) == 8 and date.isdigit() else None


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost; without a price it counts as a call that has none."""
    if price is None:
        return usage.model_copy(update={"unpriced": 1})
    prompt = usage.input + usage.cache_read + usage.cache_write
    rates: Rates = price.long if price.long and prompt > price.long.over else price
    # Dollars for a million tokens are millionths of a dollar for one.
    cost = (
        usage.input * rates.input
        + usage.output * rates.output
        + usage.cache_write * rates.cache_write
        + usage.cache_read * rates.cache_read
        + usage.searches * price.search * 1_000
    )
    return usage.model_copy(update={"cost": round(cost)})


class Priced:
    """A provider whose usage comes with its cost."""

    def __init__(self, provider: Provider, table: Prices) -> None:
        self.provider = provider
        self._table = table

    async def reply(self, call: ReplyCall, on_text: OnText) -> ModelReply:
        """See Provider."""
        price = price_of(self._table, call.model)
        try:
            said = await self.provider.reply(call, on_text)
        except Stopped as stopped:
            # Before the first event nothing is known, not even that it will be booked.
            begun = stopped.usage != Usage()
            raise Stopped(priced(stopped.usage, price) if begun else stopped.usage) from None
        return replace(said, usage=priced(said.usage, price))

    async def count(self, call: ReplyCall) -> int | None:
        """See Provider."""
        return await self.provider.count(call)

    async def summarise(self, call: SummaryCall) -> Summary:
        """See Provider; a bad summary has its cost too."""
        price = price_of(self._table, call.model)
        try:
            made = await self.provider.summarise(call)
        except BadSummary as bad:
            bad.usage = bad.usage and priced(bad.usage, price)
            raise
        return replace(made, usage=made.usage and priced(made.usage, price))
