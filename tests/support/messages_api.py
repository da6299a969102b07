"""A Messages API server for tests and benches: it records every request and answers by script.

    async with MessagesApi() as api:
        api.script(text("Hello."), overloaded())
        provider = AnthropicProvider(api_key="test", base_url=api.url)

Answers are taken from the script in their order, summaries from a script of their own; with the
script empty, `api.rule` answers. As a process: `python -m tests.support.messages_api --port N`
prints its address; `GET /requests` gives what it has recorded.
"""

import argparse
import asyncio
import contextlib
import json
import re
import sys
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.support.answers import Answer, events, message, text
from tests.support.requests import violations

Body = dict[str, Any]
Rule = Callable[[Body], Answer]
_SOURCE = re.compile(
    r'<(?:message role="(?P<role>\w+)" time="(?P<day>[\d-]+)[^>]*'
    r'|observation from="(?P<start>[\d-]+)[^>]*)>\n'
    r"(?P<text>.*?)\n</(?:message|observation)>",
    re.DOTALL,
)
_WORDS = re.compile(r"at most (\d+) words")
LARGEST = 64_000_000


def last_text(request: Body) -> str:
    """The last text of the last message."""
    content = request["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return next((b["text"] for b in reversed(content) if b.get("type") == "text"), "")


def is_summary(request: Body) -> bool:
    """Whether a request asks for an observation or a reflection."""
    return "<sources>\n" in last_text(request)


def tokens_of(body: Body) -> int:
    """What the counting endpoint says of a request without its model."""
    return len(json.dumps(body)) // 4


def summary_of(request: Body) -> str:
    """A short real summary: the first words of each source, within the words asked for."""
    asked = last_text(request)
    limit = int(found[1]) if (found := _WORDS.search(asked)) else 100
    sources = list(_SOURCE.finditer(asked))
    each = max(2, limit // 2 // max(1, len(sources)))
    entries = []
    for source in sources:
        said = " ".join(source["text"].split()[:each])
        speaker = source["role"] or "user"
        entries.append({"day": source["day"] or source["start"], "speaker": speaker, "text": said})
    return json.dumps({"gist": f"{len(sources)} in short.", "entries": entries})


def default_rule(request: Body) -> Answer:
    """Repeats the user's last text, or summarises."""
    return text(summary_of(request) if is_summary(request) else f"Reply to: {last_text(request)}")


class MessagesApi:
    """The server; use it as an async context manager. `url` is its base URL.

    `requests` are the bodies of all calls to /v1/messages in their order, `headers` theirs;
    `counted` are those of /v1/messages/count_tokens, which says what `counting` gives for one.
    """

    def __init__(self, rule: Rule = default_rule, port: int = 0) -> None:
        self.rule = rule
        self.requests: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self.counted: list[Body] = []
        self.counting: Callable[[Body], int] = tokens_of
        self.url = ""
        self._port = port
        self._replies: deque[Answer] = deque()
        self._summaries: deque[Answer] = deque()
        self._arrived = asyncio.Condition()
        app = web.Application(client_max_size=LARGEST)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count_tokens)
        app.router.add_get("/requests", self._recorded)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)

    def script(self, *answers: Answer) -> None:
        """Adds answers for the calls to come, summaries excepted."""
        self._replies.extend(answers)

    def script_summaries(self, *answers: Answer) -> None:
        """Adds answers for the summaries to come."""
        self._summaries.extend(answers)

    def restart(self, rule: Rule = default_rule) -> None:
        """Forgets what was scripted and recorded."""
        self.rule, self.counting = rule, tokens_of
        for kept in (self.requests, self.headers, self.counted, self._replies, self._summaries):
            kept.clear()

    @property
    def asked(self) -> list[Body]:
        """The requests for replies: summaries are asked for whenever another conversation likes."""
        return [request for request in self.requests if not is_summary(request)]

    async def arrived(self, number: int) -> list[Body]:
        """The requests, as soon as there are `number` of them."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= number)
        return self.requests

    def check(self, window: int | None = None) -> None:
        """Raises AssertionError that lists what any recorded request violates."""
        found = [
            f"request {number}: {sentence}"
            for number, request in enumerate(self.requests)
            for sentence in violations(request, window)
        ]
        assert not found, "\n".join(found)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def _recorded(self, _: web.Request) -> web.Response:
        return web.json_response(self.requests)

    async def _count_tokens(self, http: web.Request) -> web.Response:
        body = await http.json()
        self.counted.append(dict(body))
        body.pop("model", None)
        return web.json_response({"input_tokens": self.counting(body)})

    async def _messages(self, http: web.Request) -> web.StreamResponse:
        body: Body = await http.json()
        async with self._arrived:
            self.requests.append(body)
            self.headers.append(http.headers)
            self._arrived.notify_all()
        scripted = self._summaries if is_summary(body) else self._replies
        answer = scripted.popleft() if scripted else self.rule(body)
        if answer.delay is not None:
            await _wait(answer.delay)
        if answer.reset_after == 0:
            return _reset(http)
        if answer.raw is not None:
            return web.Response(
                status=answer.status,
                body=answer.raw.encode(),
                headers={"content-type": answer.content_type, **answer.headers},
            )
        if body.get("stream"):
            return await _stream(http, answer, body)
        return web.json_response(message(answer, body), headers=dict(answer.headers))


async def _wait(delay: float | asyncio.Event) -> None:
    if isinstance(delay, asyncio.Event):
        await delay.wait()
    else:
        await asyncio.sleep(delay)


def _reset(http: web.Request) -> web.StreamResponse:
    if http.transport is not None:
        http.transport.abort()
    return web.Response()


async def _stream(http: web.Request, answer: Answer, body: Body) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"content-type": "text/event-stream; charset=utf-8", **answer.headers}
    )
    # A client that went away has seen enough.
    with contextlib.suppress(ConnectionError):
        await response.prepare(http)
        for number, event in enumerate(events(answer, body)):
            if answer.hold_at == number and answer.held is not None:
                await answer.held.wait()
            if answer.reset_after == number:
                return _reset(http)
            if answer.cut_after == number:
                break
            data = json.dumps(event, ensure_ascii=answer.escapes)
            await response.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
        await response.write_eof()
    return response


async def _serve(port: int) -> None:
    async with MessagesApi(port=port) as api:
        sys.stdout.write(f"{api.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Serves until it is interrupted."""
    parser = argparse.ArgumentParser(description="A Messages API that repeats what it is told.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
