"""Bad summaries are asked for again in grades, a bounded number of times, and never kept."""

import json
from collections.abc import Awaitable, Callable

import pytest

from perdure.contract import Usage
from perdure.errors import ModelError
from perdure.memory.observation import Observation
from perdure.model.anthropic import AnthropicProvider
from perdure.model.graded import CALLS
from perdure.model.guarded import Guarded, extractively, summarise
from perdure.model.pool import Pool
from perdure.model.provider import SummaryCall
from perdure.model.splitting import parted, weigh
from tests.model.calls import MODEL, message, observation, observe_call
from tests.support import answers
from tests.support.answers import Answer, notes, text
from tests.support.messages_api import Body, MessagesApi, last_text, summary_of

GOOD = notes(("2026-03-01", "The cat is called Pixel."), gist="About a cat.")
CALL = observe_call(
    message(0, "My cat is called Pixel. " + "It rained all day and we stayed at home. " * 20),
    message(1, "That sounds cosy. " * 30, role="assistant"),
    message(2, "The code of the gate is QX-4711."),
    message(3, "Noted.", role="assistant"),
    source_tokens=530,
)
BAD = {
    "empty": text(""),
    "cut off": text('{"gist": "The cat is ca', stop_reason="max_tokens"),
    "refused": answers.refusal("I would rather not."),
    "repetitive": notes(gist="The user likes rye bread. " * 60),
    "plain text": text("Error generating summary: the user has a cat."),
    "broken JSON": text('{"gist": "The cat",'),
    "of another schema": notes(mood="Error generating summary"),
    "as long as its source": notes(facts=[f"Fact {n} is {n * 7919}." for n in range(150)]),
}

Maker = Callable[..., Awaitable[Guarded]]


@pytest.fixture
def make(provider: AnthropicProvider, pool: Pool) -> Maker:
    async def made(call: SummaryCall = CALL) -> Guarded:
        return await summarise(provider, pool, call)

    return made


def asked(api: MessagesApi) -> list[str]:
    return [last_text(request) for request in api.requests]


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_summary_is_asked_for_again_shorter(
    api: MessagesApi, make: Maker, kind: str
) -> None:
    api.script_summaries(BAD[kind], GOOD)
    made = await make()
    assert made.summary.content == "About a cat.\n1 March 2026:\nuser: The cat is called Pixel."
    assert (made.calls, made.fault) == (2, None)
    first, second = asked(api)
    assert "could not be used" not in first
    assert " Your last answer could not be used: it " in second or "the field" in second
    assert second.index("</sources>") < second.index("could not be used")
    words = [int(one.split("at most ")[1].split()[0]) for one in (first, second)]
    assert words[1] < words[0]


@pytest.mark.parametrize("kind", BAD)
async def test_then_from_halves_of_its_source(api: MessagesApi, make: Maker, kind: str) -> None:
    older = notes(("2026-03-01", "The cat is called Pixel."), current_task="Feed it.", gist="A.")
    newer = notes(("2026-03-02", "The gate has a code."), gist="B.")
    api.script_summaries(BAD[kind], BAD[kind], older, newer)
    made = await make()
    assert made.summary.content == (
        "A. B.\nCurrent task: Feed it.\n1 March 2026:\nuser: The cat is called Pixel.\n"
        "2 March 2026:\nuser: The gate has a code."
    )
    assert (made.calls, made.fault) == (4, None)
    halves = asked(api)[2:]
    assert ["Pixel" in half for half in halves] == [True, False]
    assert ["QX-4711" in half for half in halves] == [False, True]


@pytest.mark.parametrize("kind", BAD)
async def test_and_in_the_end_without_the_model(api: MessagesApi, make: Maker, kind: str) -> None:
    api.rule = lambda _: BAD[kind]
    made = await make()
    plain = extractively(CALL)
    assert (made.summary, made.facts) == (plain.summary, plain.facts)
    assert made.summary.method == "extractive"
    assert made.fault
    assert 3 <= made.calls == len(api.requests) <= 4
    said = "\n".join([made.summary.content, *made.facts])
    assert "QX-4711" in said
    assert "Error generating" not in said
    assert made.usage is not None
    assert made.usage.input > 0


async def test_what_bad_answers_cost_is_counted(api: MessagesApi, make: Maker) -> None:
    used = {"input_tokens": 100, "output_tokens": 10}
    api.script_summaries(BAD["empty"].but(usage=used), GOOD.but(usage=used))
    usage = (await make()).usage or Usage()
    assert (usage.input, usage.output) == (200, 20)


@pytest.mark.parametrize(
    "answer", [answers.overloaded(), answers.rate_limited("2"), GOOD.but(cut_after=4)]
)
async def test_an_outage_is_left_to_who_can_wait(
    api: MessagesApi, make: Maker, answer: Answer
) -> None:
    api.script_summaries(BAD["empty"], answer)
    with pytest.raises(ModelError) as raised:
        await make()
    assert raised.value.retryable
    assert raised.value.kind != "bad_summary"
    assert len(api.requests) == 2


@pytest.mark.parametrize("answer", [answers.bad_request(), answers.wrong_key()])
async def test_a_refused_request_is_not_sent_again(
    api: MessagesApi, make: Maker, answer: Answer
) -> None:
    api.rule = lambda _: answer
    with pytest.raises(ModelError) as raised:
        await make()
    assert not raised.value.retryable
    assert len(api.requests) == 1


def narrow(characters: int) -> Callable[[Body], Answer]:
    """A model that takes so many characters."""

    def rule(request: Body) -> Answer:
        if (size := len(json.dumps(request["messages"]))) > characters:
            return answers.bad_request(f"prompt is too long: {size} tokens > {characters} maximum")
        return text(summary_of(request))

    return rule


LONG = [message(n, f"Note {n} of the log. " + f"crate {n} " * 400) for n in range(6)]


async def test_sources_beyond_the_window_are_cut_before_they_are_sent(
    api: MessagesApi, make: Maker
) -> None:
    call = observe_call(*LONG, target_tokens=600, window=8_000)
    made = await make(call)
    assert made.fault is None
    assert 2 <= made.calls == len(api.requests) <= 6
    for number in range(6):
        assert sum(f"Note {number} of" in one for one in asked(api)) == 1
        assert f"Note {number} of" in made.summary.content


async def test_sources_that_the_model_calls_too_long_are_cut_until_they_fit(
    api: MessagesApi, make: Maker
) -> None:
    """O27: the limit is not known beforehand; what was learnt holds for the pieces to come."""
    api.rule = narrow(8_000)
    made = await make(observe_call(*LONG, target_tokens=600))
    assert made.fault is None
    assert made.calls <= CALLS
    for number in range(6):
        assert f"Note {number} of" in made.summary.content
    refused = [r for r in api.requests if len(json.dumps(r["messages"])) > 8_000]
    assert len(refused) <= 3


async def test_a_single_message_beyond_the_window_is_cut_in_its_text(
    api: MessagesApi, make: Maker
) -> None:
    api.rule = narrow(9_000)
    said = " ".join(f"crate-{n}" for n in range(2_000))
    made = await make(observe_call(message(0, said), target_tokens=600))
    assert made.fault is None
    assert made.calls <= CALLS
    heard = [word for one in asked(api) if len(one) < 9_000 for word in one.split()]
    assert [word for word in said.split() if word not in heard] == []


async def test_the_number_of_calls_is_bounded_whatever_the_model_takes(
    api: MessagesApi, make: Maker
) -> None:
    api.rule = narrow(10)
    made = await make(observe_call(*LONG, target_tokens=600))
    assert made.calls == len(api.requests) <= CALLS
    assert made.summary.method == "extractive"
    assert "too long" in (made.fault or "")


async def test_nor_by_how_many_pieces_the_source_has(api: MessagesApi, make: Maker) -> None:
    made = await make(observe_call(*LONG, target_tokens=600, window=1_000))
    assert made.calls == len(api.requests) == CALLS
    assert "in vain" in (made.fault or "")


def test_pieces_hold_every_source_once_and_in_order() -> None:
    call = observe_call(*LONG, target_tokens=600, previous="before")
    parts = parted(call, weigh(call) // 4)
    assert [s.seq for part in parts for s in part.sources if not isinstance(s, Observation)] == [
        *range(6)
    ]
    assert [part.previous for part in parts] == ["before", *[""] * (len(parts) - 1)]
    assert sum(part.target_tokens for part in parts) <= 600
    entries = [observation(0, "user: " + "one two three. " * 50)]
    cut = parted(SummaryCall(MODEL, 2, 100, entries), 60)
    assert len(cut) > 2
    rejoined = " ".join(s.content for p in cut for s in p.sources if isinstance(s, Observation))
    assert rejoined.split() == entries[0].content.split()


def test_what_cannot_be_cut_stays_whole() -> None:
    call = observe_call(message(0, "x"))
    assert parted(call, 1) == [call]


async def test_facts_that_the_fields_say_are_not_repeated(api: MessagesApi, make: Maker) -> None:
    api.script_summaries(notes(gist="A gate.", facts=["The code of the gate is QX-4711."]))
    made = await make()
    assert "QX-4711" in made.summary.content
    assert not [fact for fact in made.facts if "QX-4711" in fact]
    api.script_summaries(GOOD)
    assert [fact for fact in (await make()).facts if "QX-4711" in fact]


async def test_an_own_schema_is_held_to_and_its_parts_are_merged(
    api: MessagesApi, make: Maker
) -> None:
    schema = {
        "type": "object",
        "required": ["goal", "places"],
        "properties": {
            "goal": {"type": "string", "maxLength": 20},
            "places": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
    }
    call = observe_call(*CALL.sources, schema=schema, template="To {goal} in:\n{places}")
    too_long = text(json.dumps({"goal": "x" * 21, "places": []}))
    older, newer = (
        text(json.dumps({"goal": goal, "places": places}))
        for goal, places in (("bake", ["Rome", "Oslo"]), ("", ["Oslo", "Bonn"]))
    )
    api.script_summaries(too_long, GOOD, older, newer)
    made = await make(call)
    assert made.summary.content == "To bake in:\n- Oslo\n- Bonn"
    assert "the field 'goal' does not keep to maxLength 20" in asked(api)[1]
    assert made.summary.answer is not None
    assert "current_task" not in json.dumps(api.requests[0]["output_config"])
