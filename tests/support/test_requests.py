from typing import Any

import pytest

from tests.support.requests import violations

SYSTEM = [{"type": "text", "text": "Be brief."}]
HELLO = {"role": "user", "content": [{"type": "text", "text": "Hello."}]}
MARK = {"type": "ephemeral"}


def request(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 10, "system": SYSTEM, "messages": list(messages), **fields}


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "look", "input": {}}


def result(name: str, content: Any = "found") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def test_sound_requests_violate_nothing() -> None:
    assert not violations(request(HELLO), window=50)
    assert not violations({**request(HELLO), "system": "Be brief."})
    assert not violations(request({"role": "user", "content": "Hello."}))
    assert not violations(request(said("user", text("the letters \\u0000"))))
    looping = request(
        HELLO,
        said("assistant", text("I look."), call("a"), call("b")),
        said("user", result("b"), result("a", ""), text("Go on.", cache_control=MARK)),
        said("assistant", {"type": "thinking", "thinking": "", "signature": "s"}, text("Done.")),
        HELLO,
    )
    assert not violations(looping)


LOOP = (HELLO, said("assistant", call("a")), said("user", result("a")))


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (request(HELLO, system=""), "no system prompt"),
        ({"messages": [HELLO]}, "no system prompt"),
        (request(), "no messages"),
        (request(said("assistant", text("Hi."))), "first message"),
        (request(HELLO, said("system", text("Hi."))), "has the role 'system'"),
        (request(HELLO, said("assistant")), "has no content"),
        (request(HELLO, said("assistant", text("Hi. "))), "ends in white space"),
        (request(said("user", text(" \n"))), "blank text block"),
        (request(HELLO, system=[text("")]), "blank text block"),
        (request(*LOOP[:2], said("user", result("a", [text("")]))), "blank text block"),
        (request(HELLO, said("assistant", {"type": "thinking", "thinking": ""})), "signature"),
        (request(HELLO, said("user", result("a"))), "message before does not call"),
        (request(*LOOP[:2], HELLO), "message after does not answer"),
        (request(*LOOP[:2]), "message after does not answer"),
        (request(*LOOP[:2], HELLO, LOOP[2]), "message before does not call"),
        (request(*LOOP, *LOOP[1:]), "tool_use a occurs 2 times"),
        (request(*LOOP[:2], said("user", result("a"), result("a"))), "tool_result a occurs 2"),
        (request(*LOOP[:2], said("user", text("So:"), result("a"))), "behind other blocks"),
        (
            request(said("user", *[text("x", cache_control=MARK)] * 5)),
            "5 cache marks, more than 4",
        ),
        (
            request(
                said("user", *[text("x", cache_control=MARK)] * 3),
                tools=[{"name": "t", "cache_control": MARK}],
                cache_control=MARK,
            ),
            "5 cache marks, more than 4",
        ),
        (request(said("user", text("", cache_control=MARK))), "cache mark on an empty block"),
        (
            request(
                HELLO,
                said(
                    "assistant",
                    {"type": "thinking", "thinking": "", "signature": "s", "cache_control": MARK},
                ),
            ),
            "cache mark on thinking",
        ),
        (request(said("user", text("x\ud83dy"))), "not valid UTF-8 JSON"),
        (request(HELLO, top=float("nan")), "not valid UTF-8 JSON"),
        (request(said("user", text("a\x00b"))), "NUL"),
        (request(said("user", text("word " * 100))), "more than the window of 50"),
        (request(HELLO, tools=[{"name": "word " * 100}]), "more than the window of 50"),
    ],
)
def test_each_broken_rule_is_named(broken: dict[str, Any], sentence: str) -> None:
    found = violations(broken, window=50)
    assert any(sentence in violation for violation in found), found
