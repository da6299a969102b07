import io

from perdure.cli.speech import speak
from perdure.conversation import Conversation
from tests.support.answers import text
from tests.support.messages_api import MessagesApi
from tests.support.talk import soon


async def test_a_reply_is_written_once_however_it_comes(
    conversation: Conversation, api: MessagesApi
) -> None:
    api.script(text("One, two, three, four, and so on to the end."))
    out = io.StringIO()
    await soon(speak(conversation, "Count!", out))
    assert out.getvalue() == "One, two, three, four, and so on to the end.\n"


async def test_a_reply_that_begins_again_stands_on_a_new_line(
    conversation: Conversation, api: MessagesApi
) -> None:
    api.script(text("It was a dark and stormy night.", cut_after=5), text("Once upon a time."))
    out = io.StringIO()
    await soon(speak(conversation, "Tell!", out))
    *lost, told = out.getvalue().splitlines()
    assert told == "Once upon a time."
    assert all("It was a dark and stormy night.".startswith(line) for line in lost)
