"""Which provider answers for a model's name."""

from typing import TYPE_CHECKING, Self

from perdure.model.offline import MODEL as OFFLINE
from perdure.model.offline import OfflineProvider
from perdure.model.pool import Pool
from perdure.model.prices import Priced, Prices
from perdure.model.provider import Provider

if TYPE_CHECKING:
    from perdure.model.anthropic import AnthropicProvider


class Providers:
    """The providers of a worker: "offline" for the model of that name, anthropic for all others.

    The client for the Anthropic API is built when a model first needs it, once for all calls; its
    connections end with the `async with`. The pool belongs to the caller.
    """

    def __init__(self, pool: Pool, table: Prices) -> None:
        self._prices = table
        self._offline = OfflineProvider(pool)
        self._anthropic: AnthropicProvider | None = None

    def of(self, model: str) -> Priced:
        """The provider for a model. Raises ModelError of the kind `no_key` without a key."""
        return Priced(self._plain(model), self._prices)

    def _plain(self, model: str) -> Provider:
        if model == OFFLINE:
            return self._offline
        if self._anthropic is None:
            # Not at the top: it takes a second, and an offline worker needs no SDK.
            from perdure.model.anthropic import AnthropicProvider

            self._anthropic = AnthropicProvider()
        return self._anthropic

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._anthropic is not None:
            await self._anthropic.close()
