from collections.abc import AsyncIterator

import pytest

from perdure.model.anthropic import AnthropicProvider
from perdure.model.pool import Pool
from tests.support.messages_api import MessagesApi


@pytest.fixture
async def api() -> AsyncIterator[MessagesApi]:
    """The local server; whatever was sent to it must keep the rules of the API."""
    async with MessagesApi() as server:
        yield server
        server.check(window=200_000)


@pytest.fixture
async def provider(api: MessagesApi) -> AsyncIterator[AnthropicProvider]:
    made = AnthropicProvider(api_key="test-key", base_url=api.url, silence=5)
    yield made
    await made.close()


@pytest.fixture(scope="session")
async def pool() -> AsyncIterator[Pool]:
    async with Pool() as made:
        yield made
