"""The archive of the session."""

from collections.abc import AsyncIterator

import pytest_asyncio

from perdure.archive import Archive


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def archive(server_url: str) -> AsyncIterator[Archive]:
    async with await Archive.open(server_url) as opened:
        yield opened
