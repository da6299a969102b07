"""The composition root: settings -> client -> Worker(workflows, activities)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker

from activities.archiving import Archiving
from activities.compacting import Compacting
from activities.counting import Counting
from activities.material import keep_at_hand
from activities.replying import Replying
from activities.sessions import Sessions
from activities.tools import CallingTools
from activities.zones import zone
from perdure.archive import Archive
from perdure.archive.moments import Moment
from perdure.errors import ArchiveUnavailable, SettingsError
from perdure.model.choose import Providers
from perdure.model.importance import find_importance
from perdure.model.pool import Pool
from perdure.model.prices import prices
from perdure.replay import ReplayReport, fetch_chain, replay_histories
from perdure.rewinding import rewound
from perdure.settings import OFFLINE_MODEL, Settings, default_model
from perdure.tools.registry import worker_tools
from workflows.conversation import ConversationWorkflow
from workflows.guard import GuardInterceptor
from workflows.handover import handover

WORKFLOWS = [ConversationWorkflow]
# Longer than a stop signal's usual grace, so that a model call in progress can finish.
_GRACE = timedelta(seconds=25)
# The default lets an interrupted call wait for 80 % of its heartbeat timeout.
_HEARTBEAT_EVERY = timedelta(seconds=1)


@asynccontextmanager
async def running(client: Client, settings: Settings) -> AsyncIterator[Worker]:
    """A worker that serves while the context is open and finishes its calls on leaving it.

    The archive's database may be away and come later. Raises SettingsError without one, when its
    URL, the module of tools, the price table or the importance is wrong, and ArchiveTooNew when a
    newer perdure has made its schema.
    """
    if settings.database_url is None:
        raise SettingsError(
            "A worker needs the archive's database; set PERDURE_DATABASE_URL to it, such as "
            "postgresql://user:password@host:5432/database."
        )
    tools = worker_tools(settings.tools)
    table = prices(settings.prices)
    judge = find_importance(settings.importance)
    model = default_model(settings)
    summary_model = settings.summary_model or model
    if {model, summary_model} != {OFFLINE_MODEL}:
        # Takes a second, which no reply should wait for.
        import perdure.model.anthropic  # noqa: F401
    async with (
        Pool() as pool,
        Providers(pool, table) as providers,
        await Archive.open(settings.database_url) as archive,
    ):
        with suppress(ArchiveUnavailable):
            await archive.migrate()
        archiving = Archiving(archive)
        replying = Replying(providers, pool, archive, model, tools)
        compacting = Compacting(providers, pool, archive, summary_model, judge)
        worker = Worker(
            client,
            task_queue=settings.task_queue,
            workflows=WORKFLOWS,
            activities=[
                replying.reply,
                CallingTools(tools, pool, archive).call_tool,
                compacting.observe,
                compacting.reflect,
                Counting(pool, tools, archive).count,
                archiving.archive,
                archiving.open,
                archiving.claim,
                zone,
                Sessions(pool).session,
            ],
            interceptors=[GuardInterceptor(), handover(keep_at_hand)],
            # Stands in several events of each turn; the default is four times as long.
            build_id="perdure",
            graceful_shutdown_timeout=_GRACE,
            max_heartbeat_throttle_interval=_HEARTBEAT_EVERY,
            default_heartbeat_throttle_interval=_HEARTBEAT_EVERY,
        )
        async with worker:
            yield worker


async def replay(client: Client, conversation_id: str) -> ReplayReport:
    """Replay every run of a conversation that Temporal still has, on this code.

    Raises ConversationNotFound.
    """
    histories, missing = await fetch_chain(client, conversation_id)
    report = await replay_histories(histories, WORKFLOWS, [GuardInterceptor()])
    return report.model_copy(update={"missing": missing})


async def sent(
    client: Client, conversation_id: str, turn: int, step: int | None = None
) -> Moment | None:
    """What a model was sent in a turn, replayed from the history; none where that is gone.

    Raises Refused and PerdureError like `rewound`.
    """
    return await rewound(client, conversation_id, turn, step, WORKFLOWS, [GuardInterceptor()])
