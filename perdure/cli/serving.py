"""The commands that run until they are stopped: serve, worker."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from perdure.cli import core_log, logs
from perdure.cli.output import DIM, console, remark, show, styled, table
from perdure.cli.session import Session, run, session
from perdure.cli.stopping import Stopped
from perdure.connect import DEFAULT_PORT, connect
from perdure.errors import ServerError, TemporalUnreachable
from perdure.settings import OFFLINE_MODEL, Settings, default_model

OFFLINE_LINE = f"{OFFLINE_MODEL}, an extractive engine instead of a model"
_RETRY_SECONDS = 1.0


def model_line(settings: Settings) -> str:
    """The model that speaks by default; for the offline one, why, and what it is."""
    model = default_model(settings)
    if model != OFFLINE_MODEL:
        return model
    return f"{OFFLINE_LINE} ({'as set' if settings.model else 'no ANTHROPIC_API_KEY'})"


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, hidden=True, help="Temporal's port; 0: a free one.")
    ] = DEFAULT_PORT,
) -> None:
    """Run the embedded servers and a worker until stopped."""
    logs.show_warnings()
    _until_stopped(_serve(port))


async def _serve(port: int) -> None:
    async with session(Settings(), port=port) as opened:
        if not opened.servers.owns:
            raise ServerError(
                f"TEMPORAL_ADDRESS is set to {opened.servers.address}; "
                "`perdure worker` serves a Temporal that runs already"
                if opened.servers.ui is None
                else f"another perdure process serves {opened.settings.data_dir} already, "
                f"at {opened.servers.address}"
            )
        _introduce(opened)
        await asyncio.Event().wait()


def _introduce(opened: Session) -> None:
    rows = table("", "")
    rows.show_header = False
    for name, value in {
        "Temporal": opened.servers.address,
        "page": opened.servers.ui or "",
        "archive": _database(opened.settings.database_url or ""),
        "data": str(opened.settings.data_dir),
        "model": model_line(opened.settings),
        "process": str(os.getpid()),
    }.items():
        rows.add_row(styled(name, DIM), styled(value))
    show(rows)
    console().print(styled("serving; Ctrl-C stops", DIM))


def _database(url: str) -> str:
    """Where it is, without the password."""
    host = urlsplit(url).hostname
    return f"PostgreSQL at {host}" if host else "PostgreSQL, embedded"


def worker(
    wait: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to wait for Temporal.")
    ] = 0,
) -> None:
    """Run a worker against the Temporal of TEMPORAL_ADDRESS until stopped."""
    logs.show_warnings()
    _until_stopped(_work(wait))


async def _work(seconds: float) -> None:
    from worker import running

    core_log.forward()
    settings = Settings()
    client = await _connected(settings, seconds)
    # A worker finds out too late to say it in one line.
    await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=client.namespace)
    )
    async with running(client, settings):
        remark(
            f"working on the task queue {settings.task_queue!r} at "
            f"{client.service_client.config.target_host}; model {model_line(settings)}"
        )
        await asyncio.Event().wait()


async def _connected(settings: Settings, seconds: float) -> Client:
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            return await connect(settings)
        except TemporalUnreachable as error:
            if asyncio.get_running_loop().time() >= deadline:
                raise
            remark(str(error))
        await asyncio.sleep(_RETRY_SECONDS)


def _until_stopped(main: Coroutine[Any, Any, None]) -> None:
    """To be stopped is how these commands end well."""
    try:
        run(main)
    except Stopped as stopped:
        remark(f"stopped ({stopped})")
