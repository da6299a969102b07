"""The provider for everything that speaks the Messages API."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import httpx2

from perdure.errors import ModelError, RequestRefused
from perdure.memory.blocks import clean
from perdure.memory.wire import sha256
from perdure.model.answer import schema_of
from perdure.model.failure import answered, broken, cut_off, failure, not_the_api
from perdure.model.provider import ModelReply, OnText, ReplyCall, Stopped, Summary, SummaryCall
from perdure.model.request import Body, reply_request, without_thinking
from perdure.model.stream import Assembly, BrokenStream, whole
from perdure.model.summary import accepted, summary_request

# The API sends a ping every few seconds while the model thinks.
SILENCE = 120.0
CONNECT = 10.0
# What an API says that cannot hold an answer to a schema, or not to this one.
_UNSTRUCTURED = re.compile(r"output[_ ](?:config|format)|structured[_ ]output|json_schema", re.I)


class AnthropicProvider:
    """Asks once and never retries what may succeed later: that is for who calls it.

    Key and address come from `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` or the SDK's other
    sources, unless they are given. `silence` is how many seconds a call may bring nothing at
    all. Raises ModelError of the kind `no_key` when there is no key.
    """

    def __init__(
        self, *, api_key: str | None = None, base_url: str | None = None, silence: float = SILENCE
    ) -> None:
        try:
            self._client = anthropic.AsyncAnthropic(
                api_key=api_key,
                base_url=base_url,
                max_retries=0,
                timeout=anthropic.Timeout(silence, connect=min(CONNECT, silence)),
            )
        except anthropic.AnthropicError as error:
            raise _no_key(f"the Anthropic SDK finds no usable key ({error})") from error
        if not (self._client.api_key or self._client.auth_token or self._client.credentials):
            raise _no_key("there is no key for the Anthropic API")
        self._unstructured: dict[str, None] = {}
        url = self._client.base_url
        # For messages: without the user name and password that a URL may hold.
        self._address = f"{url.scheme}://{url.netloc.decode()}{url.path}".rstrip("/")

    async def reply(self, call: ReplyCall, on_text: OnText) -> ModelReply:
        """The model's next message, whatever its stop reason; `content` may be empty.

        `on_text` gets each piece of text as it arrives, and "" for every other event of the
        stream, so that a heartbeat goes on while the model thinks. Raises ModelError, or
        RequestRefused if the request is bad or over 32 MB.
        """
        body = _request(call)
        try:
            return await self._ask(body, on_text)
        except RequestRefused as error:
            # Thinking is bound to its model and to what stood before it. Where either has changed
            # it may be refused; the call then succeeds without it, and never succeeds with it.
            bare = without_thinking(body) if "thinking" in str(error) else body
            if bare == body:
                raise
        return await self._ask(bare, on_text)

    async def count(self, call: ReplyCall) -> int | None:
        """What the API's own counting says; None when it is refused or not to be had."""
        body = _request(call)
        counted = {k: v for k, v in body.items() if k not in ("max_tokens", "stream")}
        try:
            tokens = (await self._client.messages.count_tokens(**counted)).input_tokens
        except (anthropic.AnthropicError, httpx2.HTTPError, OSError, ValueError, AttributeError):
            return None
        return int(tokens)

    async def summarise(self, call: SummaryCall) -> Summary:
        """An entry written by the model, as structured output.

        An endpoint or a model without structured output is asked once more, with the schema in
        the prompt, and from then on so at once. Raises ModelError; BadSummary when the answer is
        empty, cut off, refused, repeats itself or does not keep to the schema.
        """
        schema = schema_of(call)
        name = sha256({"model": call.model, "schema": schema})
        if name not in self._unstructured:
            try:
                body = summary_request(call)
                body["output_config"] = {"format": _output_format(schema)}
                return accepted(await self._thought(body), call)
            except RequestRefused as error:
                if not _UNSTRUCTURED.search(str(error)):
                    raise
                self._unstructured[name] = None
        return accepted(await self._thought(summary_request(call, schema)), call)

    async def _thought(self, body: Body) -> ModelReply:
        """The answer to a summary's request, without thinking where the model cannot think."""
        try:
            return await self._ask(body, _ignore)
        except RequestRefused as error:
            if "thinking" not in body or "thinking" not in str(error):
                raise
        return await self._ask({k: v for k, v in body.items() if k != "thinking"}, _ignore)

    async def close(self) -> None:
        """Ends the connections."""
        await self._client.close()

    async def _ask(self, body: Body, on_text: OnText) -> ModelReply:
        try:
            async with self._response(body) as response:
                kind = response.headers.get("content-type", "")
                if "event-stream" in kind:
                    return await self._streamed(response, body["model"], on_text)
                if "json" in kind:
                    return self._in_one_piece(await response.aread(), body["model"], on_text)
                raise not_the_api(self._address, response.status_code)
        except BrokenStream:
            raise broken(self._address) from None
        except (anthropic.AnthropicError, httpx2.HTTPError, OSError, ValueError) as error:
            raise failure(error, self._address, body["model"]) from error

    @asynccontextmanager
    async def _response(self, body: Body) -> AsyncIterator[httpx2.Response]:
        create: Callable[..., Any] = self._client.messages.with_streaming_response.create
        async with create(**body) as response:
            yield response.http_response

    async def _streamed(self, response: httpx2.Response, model: str, on_text: OnText) -> ModelReply:
        assembly = Assembly()
        try:
            # The raw events, since the SDK's iterator hides the pings.
            async for sent in anthropic.AsyncStream.raw_events(response):
                event = json.loads(sent.data or "{}")
                if not isinstance(event, dict):
                    raise BrokenStream("an event must be an object")
                if "error" in (sent.event, event.get("type")):
                    raise answered(200, event, response.headers, self._address, model)
                on_text(clean(assembly.feed(event)))
                # Events may come in a burst, and their words go out beside that.
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            raise Stopped(assembly.usage) from None
        if not assembly.is_complete:
            raise cut_off(self._address)
        return assembly.reply()

    def _in_one_piece(self, answer: bytes, model: str, on_text: OnText) -> ModelReply:
        """The answer of an endpoint that does not stream."""
        message = json.loads(answer)
        if not isinstance(message, dict):
            raise broken(self._address)
        if message.get("type") == "error":
            raise answered(200, message, {}, self._address, model)
        reply = whole(message)
        on_text("".join(b["text"] for b in reply.content if b.get("type") == "text"))
        return reply


def _request(call: ReplyCall) -> Body:
    return reply_request(call.model, call.context, call.max_tokens, call.tools, call.background)


def _output_format(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as the API takes it: limits that it does not enforce become descriptions."""
    return {"type": "json_schema", "schema": anthropic.transform_schema(schema)}


def _no_key(why: str) -> ModelError:
    return ModelError(
        f'{why}; set ANTHROPIC_API_KEY, or use the model "offline"', kind="no_key", retryable=False
    )


def _ignore(_: str) -> None:
    """A summary is of use only as a whole."""
