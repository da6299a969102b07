"""Every test has a conversation, or a database, of its own."""

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import pytest_asyncio

from perdure.archive import ChainKey
from tests.support.directories import passable_directory


@pytest.fixture
def new_dir() -> Iterator[Path]:
    """A data directory without files."""
    directory = passable_directory()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    """A data directory for tests that start and stop its server; its files are made once."""
    directory = passable_directory()
    yield directory
    shutil.rmtree(directory)


@pytest_asyncio.fixture
async def database_url(server_url: str) -> str:
    """A database of its own, without a schema."""
    name = f"test_{uuid.uuid4().hex}"
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as connection:
        await connection.execute(f"create database {name}".encode())
    return urlsplit(server_url)._replace(path=f"/{name}").geturl()


@pytest.fixture
def key() -> ChainKey:
    return ChainKey("default", f"talk-{uuid.uuid4().hex[:8]}", "run-1")
