"""The command that summarises recorded ranges in another way, and adopts what is better."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError

from perdure.cli.evaluating import read_queries
from perdure.cli.options import Id, Json, read_object, read_text
from perdure.cli.output import emit, remark, say, show, span, styled, table
from perdure.cli.session import Session, run, session
from perdure.contract import ConversationConfig, Usage
from perdure.entrance import reconfigured
from perdure.errors import Refused
from perdure.memory.blocks import ContentError
from perdure.memory.evaluate import Query
from perdure.memory.observation import body
from perdure.model.choose import Providers
from perdure.model.importance import find_importance
from perdure.model.pool import Pool
from perdure.model.prices import prices
from perdure.settings import Settings, default_model
from perdure.shadow import Column, Shadow, Summariser, again, shadow

ROWS = 5


class _Accepted(BaseModel):
    """What is printed beside `--accept`."""

    shadows: list[Shadow]


_PRINTED = TypeAdapter(list[Shadow] | _Accepted)


def shadow_(
    id: Id,  # noqa: A002
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT|@FILE", help="Other instructions for the summariser."),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Another model.")] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="Another summary_schema.")
    ] = None,
    template: Annotated[
        str | None, typer.Option(metavar="TEXT|@FILE", help="Another summary_template.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help=f"So many of the last compactions; by default {ROWS}.")
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            metavar="N",
            help="This one of the ledger, see `perdure compactions`; may be repeated.",
        ),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Count the answers too; see `perdure evaluate`."),
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Summarise nothing: take what --json has printed, to look at it or adopt it.",
        ),
    ] = None,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Let each other text supersede the old one, if that stands still."
        ),
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="Print the texts too.")] = False,
    as_json: Json = False,
) -> None:
    """Summarise recorded ranges in another way and compare; by itself this changes nothing."""
    changes = _changes(prompt, model, schema, template)
    if earlier is not None and (changes or queries or rows):
        raise typer.BadParameter(
            "--from takes what was made earlier; beside it only --row, --accept, --text and --json"
        )
    if rows is not None and row:
        raise typer.BadParameter("either --rows or --row can be given")
    asked = [] if queries is None else read_queries(queries)
    made = None if earlier is None else read_shadows(earlier, row or [])

    async def done() -> tuple[list[Shadow], list[dict[str, Any]]]:
        async with session(Settings()) as opened:
            if made is None:
                found = await _made(opened, id, changes, rows or ROWS, row or [], asked)
            else:
                found = await again(await opened.conversation(id).past(), made)
            return found, await _accepted(opened, id, found) if accept else []

    found, accepted = run(done())
    if as_json:
        shadows = [each.model_dump(mode="json") for each in found]
        emit({"shadows": shadows, "accepted": accepted} if accept else shadows)
    else:
        _say(found, accepted, text=text)
    if any("refused" in each for each in accepted):
        raise typer.Exit(1)


def _changes(
    prompt: str | None, model: str | None, schema: str | None, template: str | None
) -> dict[str, Any]:
    """What is to be different, as `configure` takes it."""
    policy: dict[str, Any] = {}
    if prompt is not None:
        policy["instructions"] = read_text("--prompt", prompt)
    if schema is not None:
        policy["summary_schema"] = read_object("--schema", schema)
    if template is not None:
        policy["summary_template"] = read_text("--template", template)
    changes: dict[str, Any] = {"policy": policy} if policy else {}
    return changes if model is None else {**changes, "summary_model": model}


def read_shadows(path: Path, rows: list[int]) -> list[Shadow]:
    """What an earlier call has printed, all or some of it. Raises Refused."""
    try:
        printed = _PRINTED.validate_json(path.read_bytes())
    except OSError as error:
        raise Refused(f"--from: {path} cannot be read ({error.strerror})") from None
    except ValidationError:
        raise Refused(f"--from: {path} is not what `perdure shadow --json` prints") from None
    found = printed if isinstance(printed, list) else printed.shadows
    missing = [n for n in rows if n not in [each.n for each in found]]
    if missing or not found:
        what = f"compaction {missing[0]}" if missing else "any compaction"
        raise Refused(f"--from: {path} tells nothing of {what}")
    return [each for each in found if not rows or each.n in rows]


async def _made(
    opened: Session,
    name: str,
    changes: dict[str, Any],
    last: int,
    rows: list[int],
    queries: list[Query],
) -> list[Shadow]:
    settings = opened.settings
    past = await opened.conversation(name).past()
    config = past.held.resumable.config or ConversationConfig()
    try:
        config = reconfigured(config, changes) if changes else config
    except ContentError as error:
        raise Refused(str(error)) from None
    table = prices(settings.prices)
    async with Pool() as pool, Providers(pool, table) as providers:
        summariser = Summariser(
            providers,
            pool,
            table,
            settings.summary_model or default_model(settings),
            find_importance(settings.importance),
        )
        return await shadow(past, config, summariser, last=last, rows=rows, queries=queries)


async def _accepted(opened: Session, name: str, found: list[Shadow]) -> list[dict[str, Any]]:
    """What became of each: `{n, id}` of the new entry, or why it was `refused`."""
    conversation = opened.conversation(name)
    told: list[dict[str, Any]] = []
    for each in found:
        if not each.is_new:
            told.append({"n": each.n, "refused": "its new text is the old one"})
            continue
        try:
            told.append({"n": each.n, "id": await conversation.supersede(each.adopting)})
        except Refused as error:
            told.append({"n": each.n, "refused": str(error)})
    return told


def _say(found: list[Shadow], accepted: list[dict[str, Any]], *, text: bool) -> None:
    if not found:
        say("nothing was compacted yet")
        return
    names = ["row", "entry", ">messages", "", ">tokens", ">ratio", ">cost", ">facts kept", "by"]
    if found[0].answers is not None:
        names.append(">answers")
    rows = table(*names)
    for each in found:
        messages = span(each.first_seq, each.last_seq)
        rows.add_row(str(each.n), each.id, messages, "was", *_cells(each, each.was))
        rows.add_row("", "", "", "now", *_cells(each, each.now))
    show(rows)
    for each in found:
        if each.fault is not None:
            remark(f"row {each.n} was made without the model, whose summary failed: {each.fault}")
    if text:
        for each in found:
            for word, column in (("was", each.was), ("now", each.now)):
                say(f"\n{each.id}, {word}:", "bold")
                say(body(column.content, column.facts))
    for told in accepted:
        if "refused" in told:
            remark(f"row {told['n']} was not accepted: {told['refused']}")
        else:
            say(f"row {told['n']} is superseded: {told['id']} stands in the memory now")
    if not accepted and (standing := [each.id for each in found if each.stands and each.is_new]):
        remark(f"nothing was changed; --accept would supersede {', '.join(standing)}")


def _cells(each: Shadow, column: Column) -> list[Any]:
    return [
        f"{column.tokens:,}",
        f"{column.ratio:.1f}x",
        _cost(column.usage),
        f"{column.kept} of {each.facts} ({column.score:.0%})",
        styled(f"{column.method} {column.model}" if column.method == "model" else column.model),
        *([] if column.answered is None else [f"{column.answered} of {each.answers}"]),
    ]


def _cost(usage: Usage | None) -> str:
    if usage is None or not (usage.cost or usage.unpriced):
        return ""
    return "?" if usage.unpriced else f"${usage.cost / 1e6:.4f}"
