"""How a provider's error becomes a failure that Temporal retries, or does not."""

from datetime import timedelta

from temporalio.exceptions import ApplicationError

from perdure.contract import REQUEST_REFUSED
from perdure.errors import ModelError, RequestRefused


def as_failure(error: ModelError) -> ApplicationError:
    """Temporal owns retries: the provider's own wish for a delay is passed on to it."""
    refused = isinstance(error, RequestRefused)
    return ApplicationError(
        str(error),
        type=REQUEST_REFUSED if refused else type(error).__name__,
        non_retryable=not error.retryable,
        next_retry_delay=(
            None if error.retry_after is None else timedelta(seconds=error.retry_after)
        ),
    )
