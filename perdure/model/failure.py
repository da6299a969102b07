"""What went wrong with a call to the Messages API, as a ModelError with one clear sentence."""

import email.utils
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import anthropic
import httpx2

from perdure.errors import ModelError, RequestRefused
from perdure.model.window import says_over_window

# A wait beyond it is longer than a user will sit through; the next attempt asks anew.
LONGEST_WAIT = 60.0

# An error inside a stream comes with status 200, and only its type tells what it is.
STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_RETRYABLE = (408, 409, 429)
_REFUSED = (400, 413, 422)


def failure(error: Exception, address: str, model: str) -> ModelError:
    """The ModelError for what the SDK or its transport raised; `address` is the base URL."""
    if isinstance(error, ModelError):
        return error
    if isinstance(error, anthropic.APIStatusError):
        headers = error.response.headers
        if "html" in headers.get("content-type", ""):
            return not_the_api(address, error.status_code)
        return answered(error.status_code, error.body, headers, address, model)
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        return ModelError(f"{address} gave no sign of life in time", kind="timeout", retryable=True)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return broken(address)
    cause = error.__cause__ or error
    return ModelError(
        f"the connection to {address} failed: {_line(cause) or type(cause).__name__}",
        kind="connection",
        retryable=True,
    )


def not_the_api(address: str, status: int = 200) -> ModelError:
    """The answer is a web page or of some other kind that the API never sends."""
    return ModelError(
        f"{address} answered with status {status} and a page that is not from a Messages API; "
        "check ANTHROPIC_BASE_URL",
        kind="not_the_api",
        retryable=status >= 500,
        status=status,
    )


def broken(address: str) -> ModelError:
    """The answer has status 200 and cannot be read."""
    return ModelError(
        f"{address} answered with JSON that cannot be read",
        kind="broken_answer",
        retryable=True,
        status=200,
    )


def cut_off(address: str) -> ModelError:
    """The stream ended before the model said why it stopped."""
    return ModelError(
        f"{address} cut the reply off in the middle", kind="cut_off", retryable=True, status=200
    )


def answered(
    status: int, body: object, headers: Mapping[str, str], address: str, model: str
) -> ModelError:
    """The ModelError for an error that the API described, or tried to."""
    kind, text = _described(body)
    if status < 400:
        status = STATUS_OF.get(kind, 500)
    kind = kind or next((k for k, s in STATUS_OF.items() if s == status), f"http_{status}")
    if says_over_window(text):
        kind = "over_window"
    elif "credit balance" in text:
        # Sent with status 400, but nothing is wrong with the request.
        kind, status = "billing_error", 402
    sentence = _sentence(status, text, address, model)
    refused = status in _REFUSED
    return (RequestRefused if refused else ModelError)(
        sentence,
        kind=kind,
        retryable=status >= 500 or status in _RETRYABLE,
        retry_after=_wait(headers),
        status=status,
    )


def _described(body: object) -> tuple[str, str]:
    error: Any = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return str(error.get("type") or ""), _line(error.get("message"))
    return "", _line(error)


def _line(text: object) -> str:
    return " ".join(str(text or "").split())[:500]


def _sentence(status: int, text: str, address: str, model: str) -> str:
    says = f": {text}" if text else ""
    if status == 401:
        return (
            f"{address} does not accept the API key; check ANTHROPIC_API_KEY{says and f' ({text})'}"
        )
    if status == 404 and "model" in text:
        return f"the model {model!r} is not known at {address}; check its name"
    if status == 404:
        return f"there is no Messages API at {address}; check ANTHROPIC_BASE_URL"
    what = {
        402: "the account cannot pay for the call",
        403: f"the API key has no right to use {model!r}",
        413: "the request is too large for the API",
        429: "the rate limit of the API key is reached",
        529: "the API is overloaded",
    }.get(status)
    if what is None:
        verb = "refused the request" if status < 500 else "failed"
        what = f"the API {verb} with status {status}"
    return f"{what}{says}"


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after`, a number or a date, between 0 and LONGEST_WAIT."""
    given = headers.get("retry-after")
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            until = email.utils.parsedate_to_datetime(given)
        except ValueError:
            return None
        seconds = (until.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None
