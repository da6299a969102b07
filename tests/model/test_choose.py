import subprocess
import sys

import pytest

from perdure.errors import ModelError
from perdure.model.anthropic import AnthropicProvider
from perdure.model.choose import Providers
from perdure.model.offline import OfflineProvider
from perdure.model.pool import Pool
from perdure.model.prices import prices


async def test_offline_is_one_name_and_everything_else_is_asked_of_the_api(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    async with Providers(pool, prices()) as providers:
        assert isinstance(providers.of("offline").provider, OfflineProvider)
        client = providers.of("claude-sonnet-5-5").provider
        assert isinstance(client, AnthropicProvider)
        assert providers.of("any-other").provider is client


async def test_offline_needs_no_key(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", "/nonexistent")
    async with Providers(pool, prices()) as providers:
        assert providers.of("offline")
        with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY"):
            providers.of("claude-sonnet-5-5")


def test_an_offline_worker_does_not_import_the_sdk() -> None:
    program = "import sys, worker; print('anthropic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False\n"
