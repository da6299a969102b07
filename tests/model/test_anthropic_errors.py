"""Everything that goes wrong becomes a ModelError with one sentence, and says whether to retry."""

import asyncio
import email.utils
import socket
from datetime import UTC, datetime, timedelta

import pytest

from perdure.errors import ModelError, PerdureError, RequestRefused
from perdure.model.anthropic import AnthropicProvider
from tests.model.calls import reply_call
from tests.support import answers
from tests.support.answers import Answer, fails, text
from tests.support.messages_api import MessagesApi

LONG = text("Once upon a time there was a bakery in Tannery Lane, and it had an oven.")


def in_seconds(seconds: float) -> str:
    return email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=seconds))


async def error_of(provider: AnthropicProvider) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await provider.reply(reply_call(), lambda _: None)
    assert isinstance(raised.value, PerdureError)
    assert "\n" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ("answer", "status", "kind", "sentence"),
    [
        (
            answers.bad_request(),
            400,
            "invalid_request_error",
            "refused the request with status 400",
        ),
        (answers.wrong_key(), 401, "authentication_error", "check ANTHROPIC_API_KEY"),
        (fails(403, "permission_error", "No."), 403, "permission_error", "no right to use"),
        (answers.unknown_model("claude-sonet"), 404, "not_found_error", "is not known at"),
        (fails(404, "not_found_error", "Not found"), 404, "not_found_error", "ANTHROPIC_BASE_URL"),
        (Answer(status=404, raw=""), 404, "not_found_error", "no Messages API at"),
        (answers.html(404), 404, "not_the_api", "check ANTHROPIC_BASE_URL"),
        (answers.html(), 200, "not_the_api", "check ANTHROPIC_BASE_URL"),
        (fails(413, "request_too_large", "Too big"), 413, "request_too_large", "too large"),
        (fails(422, "invalid_request_error", "No"), 422, "invalid_request_error", "status 422"),
        (
            answers.bad_request("prompt is too long: 208310 tokens > 200000 maximum"),
            400,
            "over_window",
            "prompt is too long",
        ),
        (
            answers.bad_request("Your credit balance is too low to access the Anthropic API."),
            402,
            "billing_error",
            "cannot pay",
        ),
        (answers.error_event("invalid_request_error"), 400, "invalid_request_error", "refused"),
        (answers.error_event("authentication_error"), 401, "authentication_error", "API_KEY"),
    ],
)
async def test_errors_that_stay(
    api: MessagesApi,
    provider: AnthropicProvider,
    answer: Answer,
    status: int,
    kind: str,
    sentence: str,
) -> None:
    api.script(answer)
    error = await error_of(provider)
    assert (error.status, error.kind, error.retryable) == (status, kind, False)
    assert sentence in str(error)
    assert isinstance(error, RequestRefused) == (status in (400, 413, 422))
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("answer", "status", "kind"),
    [
        (fails(408, "timeout_error", "Slow"), 408, "timeout_error"),
        (fails(409, "conflict_error", "Conflict"), 409, "conflict_error"),
        (answers.rate_limited("20"), 429, "rate_limit_error"),
        (fails(500, "api_error", "Internal server error"), 500, "api_error"),
        (Answer(status=503, raw="upstream connect error"), 503, "http_503"),
        (answers.html(502), 502, "not_the_api"),
        (answers.overloaded(), 529, "overloaded_error"),
        (answers.broken_json(), 200, "broken_answer"),
        (Answer(raw="[]"), 200, "broken_answer"),
        (Answer(raw="{}"), 200, "broken_answer"),
        (Answer(raw="data: {\n\n", content_type="text/event-stream"), 200, "broken_answer"),
        (Answer(raw="data: 1\n\n", content_type="text/event-stream"), 200, "broken_answer"),
        (Answer(raw="", content_type="text/event-stream"), 200, "cut_off"),
        (LONG.but(cut_after=0), 200, "cut_off"),
        (LONG.but(cut_after=1), 200, "cut_off"),
        (LONG.but(cut_after=5), 200, "cut_off"),
        (LONG.but(stop_reason=None), 200, "cut_off"),
        (LONG.but(reset_after=0), None, "connection"),
        (LONG.but(reset_after=5), None, "connection"),
        (answers.error_event(), 529, "overloaded_error"),
        (answers.error_event("api_error"), 500, "api_error"),
        (answers.error_event("rate_limit_error"), 429, "rate_limit_error"),
        (answers.error_event("never_seen_error"), 500, "never_seen_error"),
    ],
)
async def test_errors_that_pass(
    api: MessagesApi, provider: AnthropicProvider, answer: Answer, status: int | None, kind: str
) -> None:
    api.script(answer)
    error = await error_of(provider)
    assert (error.status, error.kind, error.retryable) == (status, kind, True)
    assert len(api.requests) == 1, "the SDK must not retry"
    assert (await provider.reply(reply_call(), lambda _: None)).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ("20", 20, 20),
        ("0.5", 0.5, 0.5),
        ("86400", 60, 60),
        ("-3", 0, 0),
        (in_seconds(3_600), 60, 60),
        (in_seconds(-60), 0, 0),
    ],
    ids=["whole", "half", "a day", "negative", "a date to come", "a date that has passed"],
)
async def test_retry_after_is_read_and_capped(
    api: MessagesApi, provider: AnthropicProvider, given: str, least: float, most: float
) -> None:
    api.script(answers.rate_limited(given))
    error = await error_of(provider)
    assert error.retry_after is not None
    assert least <= error.retry_after <= most


@pytest.mark.parametrize("given", ["soon", "nan", None])
async def test_retry_after_that_says_nothing(
    api: MessagesApi, provider: AnthropicProvider, given: str | None
) -> None:
    api.script(answers.rate_limited(given))
    assert (await error_of(provider)).retry_after is None


async def test_a_server_that_falls_silent(api: MessagesApi) -> None:
    provider = AnthropicProvider(api_key="key", base_url=api.url, silence=0.2)
    never = asyncio.Event()
    for answer in (LONG.but(delay=never), LONG.but(hold_at=3, held=never)):
        api.script(answer)
        error = await error_of(provider)
        assert (error.status, error.kind, error.retryable) == (None, "timeout", True)
        assert "no sign of life" in str(error)
    await provider.close()


async def test_a_password_in_the_address_is_not_repeated(api: MessagesApi) -> None:
    provider = AnthropicProvider(api_key="key", base_url=api.url.replace("//", "//me:secret@"))
    api.script(answers.html())
    error = await error_of(provider)
    assert api.url in str(error)
    assert "secret" not in str(error)
    await provider.close()


async def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    provider = AnthropicProvider(api_key="key", base_url=address)
    error = await error_of(provider)
    assert (error.kind, error.retryable) == ("connection", True)
    assert address in str(error)
    await provider.close()
