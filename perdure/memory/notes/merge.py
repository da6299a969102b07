"""Several notes, oldest first, as one."""

from collections.abc import Sequence

from perdure.memory.notes.schema import Notes

_LISTS = (
    "instructions",
    "decisions",
    "open_questions",
    "action_items",
    "errors",
    "outcomes",
    "entities",
    "facts",
    "artifacts",
    "entries",
)


def merged(parts: Sequence[Notes]) -> Notes:
    """The notes on the parts of a source as those on the whole of it; nothing is left out.

    Of a thing that several name, the latest state stays; an action that a later part calls
    done is done; the newest current task wins.
    """
    return Notes.model_validate(
        {
            "gist": " ".join(part.gist for part in parts),
            "current_task": _newest_task(parts),
            **{name: [item for part in parts for item in getattr(part, name)] for name in _LISTS},
        }
    )


def settled(notes: Notes, sources: Sequence[Notes]) -> Notes:
    """The notes on older notes, as far as what stays is a matter of rule and not of judgement.

    The newest current task of the sources wins, and actions that are done drop out.
    """
    done = {action.text for source in sources for action in source.action_items if action.done}
    still = [a for a in notes.action_items if not a.done and a.text not in done]
    task = _newest_task(sources) if sources else notes.current_task
    return notes.model_copy(update={"action_items": still, "current_task": task})


def _newest_task(parts: Sequence[Notes]) -> str:
    return next((part.current_task for part in reversed(parts) if part.current_task), "")
