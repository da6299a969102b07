"""The Temporal client, and where the server behind it comes from.

    async with servers(settings) as temporal:
        client = await connect(settings)

Temporal's own convention decides (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`,
TLS and profiles in its configuration file). Where it names no address, a server is embedded.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfigProfile, ClientConnectConfig

from perdure.errors import SettingsError, TemporalUnreachable
from perdure.local.owner import embedded, running
from perdure.settings import Settings

DEFAULT_PORT = 7233
CONNECT_SECONDS = 4.0

REASONS = {
    "Connection refused": "connection refused",
    "dns error": "unknown host",
    "Unauthenticated": "the credentials were refused",
    "PermissionDenied": "the credentials were refused",
    "Unimplemented": "what answers there is not Temporal",
}
"""What the SDK's connection failures contain, and what that means to a user."""


@dataclass(frozen=True)
class Servers:
    """Where Temporal is, and whose it is."""

    address: str
    owns: bool
    """The server lives only as long as the block, and has no worker unless the caller runs one."""
    ui: str | None = None
    """The web page of an embedded server; unknown for any other."""
    database_url: str | None = None
    """The archive's database: as set, or embedded; none is known beside a Temporal elsewhere."""

    @property
    def worker_running(self) -> bool:
        """Whether somebody else is expected to run the worker: the owner, or the operator."""
        return not self.owns


@asynccontextmanager
async def servers(settings: Settings, *, port: int = DEFAULT_PORT) -> AsyncIterator[Servers]:
    """Make sure that there is a Temporal for the duration of the block.

    With an address by Temporal's convention nothing is started and nothing is checked. Without
    one the server of `settings.data_dir` is joined if a live process runs it; else this process
    starts it on `port` (0: any free one), owns it, and stops it at the end of the block. The
    same holds for the archive's PostgreSQL, unless `settings` names one.

    Raises `ServerError` if one cannot be started, `SettingsError` for a broken Temporal
    configuration.
    """
    profile = _profile()
    if profile.address:
        yield Servers(profile.address, owns=False, database_url=settings.database_url)
        return
    # Brings PostgreSQL's driver with it, which who embeds none may not need.
    from perdure.local.database import local_postgres, local_url

    async with AsyncExitStack() as stack:
        record, owns = await stack.enter_async_context(
            embedded(settings.data_dir, port=port, namespace=profile.namespace or None)
        )
        url = settings.database_url
        if url is None and owns:
            url = await stack.enter_async_context(local_postgres(settings.data_dir))
        elif url is None:
            url = await local_url(settings.data_dir)
        yield Servers(record.address, owns, record.ui, url)


async def connect(settings: Settings) -> Client:
    """A client that speaks pydantic, for the address given by Temporal's convention.

    With no address given, it is that of the embedded server which runs on
    `settings.data_dir`, or else `localhost:7233`.

    Raises `TemporalUnreachable` within five seconds.
    """
    profile = _profile()
    if profile.address:
        config = _connect_config(profile)
        advice = "check that it runs and that TEMPORAL_ADDRESS or the profile is right"
    else:
        record = running(settings.data_dir)
        address = record.address if record is not None else f"localhost:{DEFAULT_PORT}"
        # Credentials are for a server elsewhere; the embedded one speaks plain text.
        config = {"target_host": address, "namespace": profile.namespace or "default"}
        advice = "start one with `perdure serve`, or set TEMPORAL_ADDRESS"
    address = config["target_host"]
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await Client.connect(data_converter=pydantic_data_converter, **config)
    except ValueError as error:
        raise SettingsError(f"Temporal's connection settings are wrong: {error}.") from error
    except (TimeoutError, RuntimeError) as error:
        raise TemporalUnreachable(
            f"Temporal cannot be reached at {address} ({_reason(error)}); {advice}."
        ) from error


def _profile() -> ClientConfigProfile:
    try:
        profile = ClientConfigProfile.load()
    except RuntimeError as error:
        said = " ".join(str(error).split())
        raise SettingsError(f"Temporal's configuration cannot be used: {said}.") from error
    if profile.address and not _is_address(profile.address):
        raise SettingsError(
            f"TEMPORAL_ADDRESS is {profile.address!r}; it must be host:port, "
            "such as localhost:7233."
        )
    return profile


def _connect_config(profile: ClientConfigProfile) -> ClientConnectConfig:
    try:
        return profile.to_client_connect_config()
    except OSError as error:
        raise SettingsError(
            f"Temporal's TLS file {error.filename} cannot be read ({error.strerror})."
        ) from error


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    plain = host and not any(c.isspace() or c in "/@" for c in host)
    return bool(plain) and port.isascii() and port.isdigit() and 0 < int(port) < 65536


def _reason(failure: Exception) -> str:
    if isinstance(failure, TimeoutError):
        return "no answer"
    said = str(failure)
    return next(
        (reason for sign, reason in REASONS.items() if sign in said), "the connection failed"
    )
