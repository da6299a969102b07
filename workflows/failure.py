"""Why something failed, in one sentence for a person."""

from temporalio import exceptions
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

from perdure.contract import REFUSED


def cause(error: ActivityError) -> BaseException:
    """What the activity raised, or that it timed out; not what that was caused by in its turn."""
    return error if error.cause is None else error.cause


def reason(error: ActivityError) -> str:
    """What to tell a person about a failed activity."""
    found = cause(error)
    if isinstance(found, exceptions.TimeoutError):
        return f"{error.activity_type} took too long and was given up"
    return found.message if isinstance(found, FailureError) else str(found)


def kind(error: ActivityError) -> str | None:
    """The type that the activity gave its failure, if it gave one."""
    found = cause(error)
    return found.type if isinstance(found, ApplicationError) else None


def refusal(text: str) -> ApplicationError:
    """What a caller is told of something that cannot be taken in, however often it is sent."""
    return ApplicationError(text, type=REFUSED, non_retryable=True)
