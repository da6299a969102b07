"""`perdure evaluate`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from perdure.cli.importing import read_file
from perdure.cli.options import Id, Json
from perdure.cli.output import emit, say, show, styled, table
from perdure.cli.session import run, session
from perdure.errors import Refused
from perdure.evaluating import Ask
from perdure.memory.blocks import to_text
from perdure.memory.evaluate import Evaluation, Query
from perdure.memory.project import Context
from perdure.model.choose import Providers
from perdure.model.pool import Pool
from perdure.model.prices import prices
from perdure.model.provider import ReplyCall
from perdure.queries import parse_queries
from perdure.settings import Settings

ANSWER_TOKENS = 1_000
"""How long a model's answer may be; it is asked for a few words."""


def evaluate(
    id: Id,  # noqa: A002
    queries: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help='A JSON list of {"question", "expected_answer", "kind"?}; - is stdin.',
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Ask this model, from the context and the originals."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Look for the expected answers of queries in the context and in the archive.

    With a model also: does it give the same answer from the context as from the original
    messages? KIND is recall, artifact, continuation or decision.
    """
    found = run(_evaluated(id, read_queries(queries), model))
    if as_json:
        emit(found.model_dump(mode="json", exclude_none=True))
    else:
        _print(found)


def read_queries(name: str) -> list[Query]:
    """The queries of a file. Raises Refused."""
    try:
        return parse_queries(read_file(name))
    except Refused as error:
        raise Refused(f"{'stdin' if name == '-' else name}: {error}") from None


async def _evaluated(id: str, queries: list[Query], model: str | None) -> Evaluation:  # noqa: A002
    async with session(Settings()) as opened:
        conversation = opened.conversation(id)
        if model is None:
            return await conversation.evaluate(queries)
        async with _asking(model) as ask:
            return await conversation.evaluate(queries, ask)


@asynccontextmanager
async def _asking(model: str) -> AsyncIterator[Ask]:
    async with Pool() as pool, Providers(pool, prices()) as providers:

        async def ask(context: Context) -> str:
            call = ReplyCall(model, context, ANSWER_TOKENS)
            reply = await providers.of(model).reply(call, lambda _: None)
            return to_text(reply.content)

        yield ask


def _print(found: Evaluation) -> None:
    shown = table("found", "where", "kind", "question", "expected answer", "same answer")
    for each in found.queries:
        same = "" if each.answers is None else "yes" if each.answers.same else "no"
        cells = (each.found, each.place, each.kind, each.question, each.expected_answer, same)
        shown.add_row(*map(styled, cells))
    show(shown)
    say(
        f"{found.original_length:,} tokens said, {found.summary_length:,} in the context: "
        f"{found.compression_ratio:.1f}x; {found.recall_score:.0%} of the answers are in it"
    )
    if found.same_answers is not None:
        say(f"{found.same_answers:.0%} of the answers are the same as from the originals")
