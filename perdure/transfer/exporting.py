"""Out of the workflow and the archive, into lines."""

import base64
from collections.abc import AsyncIterator

from perdure.errors import ArchiveError, ArchiveMissing
from perdure.memory.project import project
from perdure.memory.stored import hashes
from perdure.past import PAGE_ROWS, Past
from perdure.transfer.lines import FORMAT, VERSION, End, Header, Kept, Writer


async def export(past: Past) -> AsyncIterator[str]:
    """A conversation as the lines of a file, as it was when `past` was read.

    Raises `ArchiveMissing` without an archive, `ArchiveError` when that lacks something.
    """
    archive = past.archive
    if archive is None:
        raise ArchiveMissing(
            f"What {past.conversation} has archived cannot be exported without the archive of its "
            "worker; set PERDURE_DATABASE_URL."
        )
    if not past.whole:
        raise ArchiveError(
            f"{past.conversation} was never closed and Temporal has forgotten it, so its end is "
            "lost; fork it at a turn that was archived, and export the fork"
        )
    writer = Writer()
    held, resumable = past.held, past.held.resumable
    header = Header(
        format=FORMAT,
        version=VERSION,
        namespace=past.namespace,
        conversation=past.conversation,
        chain=held.chain,
        queued=held.queued,
    )
    yield writer.line("header", header.model_dump(mode="json"))
    system = resumable.config.system if resumable.config else ""
    kept = Kept(resumable=resumable, context_sha256=project(resumable.memory, system, 0).sha256)
    yield writer.line("memory", kept.model_dump(mode="json"))
    wanted: dict[str, None] = {}
    async for message in past.messages():
        wanted |= dict.fromkeys(hashes([message.content], full=False))
        yield writer.line("message", message.model_dump(mode="json"))
    async for line in _observations(past, writer):
        yield line
    async for line in _rows(past, writer):
        yield line
    async for reply in past.replies():
        yield writer.line("reply", reply)
    for event in await past.events(resumable.events, turns=True):
        yield writer.line("event", event.model_dump(mode="json"))
    unknown = []
    for sha256 in wanted:
        blob = await archive.get_blob(sha256)
        if blob is None:
            unknown.append(sha256)
            continue
        data = base64.b64encode(blob.data).decode()
        fields = {"sha256": sha256, "media_type": blob.media_type, "data": data}
        yield writer.line("blob", fields)
    end = End(counts=dict(writer.counts), unknown=unknown)
    yield writer.line("end", end.model_dump(mode="json"))


async def _observations(past: Past, writer: Writer) -> AsyncIterator[str]:
    for start in range(0, past.held.resumable.rows, PAGE_ROWS):
        for _, row in await past.rows(start + PAGE_ROWS, PAGE_ROWS):
            if row.observation.content:
                yield writer.line("observation", row.observation.model_dump(mode="json"))


async def _rows(past: Past, writer: Writer) -> AsyncIterator[str]:
    for start in range(0, past.held.resumable.rows, PAGE_ROWS):
        for _, row in await past.rows(start + PAGE_ROWS, PAGE_ROWS):
            # The text stands among the observations.
            bare = row.observation.model_copy(update={"content": "", "facts": []})
            line = row.model_copy(update={"observation": bare})
            yield writer.line("row", line.model_dump(mode="json"))
