import json
from importlib.resources import files

import pytest

from perdure.memory.project import Context
from perdure.model.offline import OfflineProvider, compose
from perdure.model.pool import Pool
from perdure.model.provider import ReplyCall
from tests.model.calls import assistant, context, message, observe_call, user

ENTRY = "[Summary 2026-01-05 09:00 - 2026-01-09 10:00]\n8 January 2026:\n"


def said(given: Context) -> str:
    return str(compose(given, ())[0][0]["text"])


def test_a_question_is_answered_with_the_best_sentence_and_its_date() -> None:
    memory = (
        f"{ENTRY}user: My daughter Ines is allergic to hazelnuts. The shop has a cellar.",
        f"{ENTRY}assistant: The oven weighs 870 kilos.",
    )
    reply = said(context(user("What is Ines allergic to?"), memory=memory))
    assert reply == (
        '(offline) On 8 January 2026 you said: "My daughter Ines is allergic to hazelnuts."'
    )
    reply = said(context(user("How many kilos does the oven weigh?"), memory=memory))
    assert "On 8 January 2026 I said" in reply
    assert "870 kilos" in reply


def test_verbatim_messages_are_quoted_too() -> None:
    reply = said(
        context(
            user("My cat is called Pixel."), assistant("(offline) Noted."), user("What is my cat?")
        )
    )
    assert reply == '(offline) You said: "My cat is called Pixel."'


def test_pinned_texts_are_quoted_too() -> None:
    memory = ("[Pinned, word for word]\nuser: The alarm code is 4417.",)
    assert "4417" in said(context(user("What is the alarm code?"), memory=memory))


def test_what_is_not_remembered_is_not_invented() -> None:
    reply = said(
        context(user("I like rye."), assistant("(offline) Noted."), user("Who rules Mars?"))
    )
    assert reply.startswith("(offline) I do not know")


def test_neither_its_own_replies_nor_questions_are_quoted() -> None:
    reply = said(
        context(
            user("The rent for Tannery Lane is 1,150 euros."),
            assistant("(offline) Noted."),
            user("What is the rent for Tannery Lane?"),
            assistant('(offline) You said: "The rent for Tannery Lane is 1,150 euros."'),
            user("Remind me what the rent for Tannery Lane is."),
        )
    )
    assert reply == '(offline) You said: "The rent for Tannery Lane is 1,150 euros."'


@pytest.mark.parametrize(
    "statement",
    ["I bought an oven.", "When the reference arrives I will pass it on.", "买了一个烤箱。", "ok"],
)
def test_a_statement_is_acknowledged_without_an_echo(statement: str) -> None:
    reply = said(context(user(statement)))
    assert reply.startswith("(offline) ")
    assert statement not in reply
    assert len(reply) < 60


def test_thanks_are_answered() -> None:
    assert said(context(user("thanks, that helps"))) == "(offline) You are welcome."


def test_a_statement_brings_up_what_clearly_belongs_to_it() -> None:
    reply = said(
        context(
            user("A man called Emeric sands floors for 1,460."),
            assistant("(offline) Noted."),
            user("The rent is high. I like rye. We open on Monday. The cellar is damp."),
            assistant("(offline) Noted."),
            user("ok, go with Emeric"),
        )
    )
    assert '"A man called Emeric sands floors for 1,460."' in reply


def test_a_context_that_ends_with_the_assistant_does_not_break_it() -> None:
    assert said(context(user("Hello."), assistant("Hi."))).startswith("(offline) ")
    assert said(Context(system="", messages=[], tokens=0)).startswith("(offline) ")


async def test_the_provider_replies_and_summarises(pool: Pool) -> None:
    provider = OfflineProvider(pool)
    heard: list[str] = []
    call = ReplyCall("offline", context(user("I bought an oven.")), 100)
    reply = await provider.reply(call, heard.append)
    assert [b["text"] for b in reply.content] == ["".join(heard)]
    assert (reply.stop_reason, reply.model) == ("end_turn", "offline")
    assert reply.usage.input == 100
    assert reply.usage.output > 0
    summary = await provider.summarise(observe_call(message(0, "The code is RX-1.")))
    assert "RX-1" in summary.content


def test_the_demo_is_answered_from_its_verbatim_messages() -> None:
    path = files("perdure.demo").joinpath("conversation.json")
    demo = json.loads(path.read_text(encoding="utf-8"))
    told = [m for text in demo["messages"] for m in (user(text), assistant("(offline) Noted."))]
    for question in demo["questions"]:
        reply = said(context(*told, user(question["question"])))
        assert question["expected_answer"] in reply, reply
