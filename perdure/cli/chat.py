"""`perdure chat`: at a terminal, or with a message on each line of stdin."""

import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any

import typer

from perdure.cli.approving import answered, at_rest, decide, described
from perdure.cli.options import DEFAULT_ID, Config, conversation_id, read_config
from perdure.cli.output import DIM, console, counted, remark, say, show, styled
from perdure.cli.sending import checked
from perdure.cli.serving import OFFLINE_LINE, model_line
from perdure.cli.session import Call, Session, in_background, session
from perdure.cli.speech import speak
from perdure.cli.tables import memory_table
from perdure.contract import AWAITING_APPROVAL, ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import PerdureError, Refused, TurnFailed
from perdure.reply import Reply
from perdure.settings import OFFLINE_MODEL, Settings

_PROMPT = "you> "
_COMMANDS = {
    "/context": "what the model would be sent now",
    "/memory": "the levels of the memory",
    "/help": "these commands",
    "/quit": "leave; the conversation stays",
}


def chat(
    id: Annotated[  # noqa: A002
        str, typer.Argument(metavar="ID", help="The conversation.", callback=conversation_id)
    ] = DEFAULT_ID,
    config: Config = None,
) -> None:
    """Talk; Ctrl-C stops a reply, and leaves where there is none.

    With stdin from a pipe, every line is a message.
    """
    configured = read_config(config)
    with in_background(session(Settings())) as (opened, call):
        talk = _Talk(opened, call, id, configured)
        if not sys.stdin.isatty():
            talk.through_pipe()
            return
        try:
            talk.at_terminal()
        except (KeyboardInterrupt, EOFError):
            say(f"\nleft; {id} stays", DIM)


class _Talk:
    """A conversation and what was last known about it."""

    def __init__(
        self,
        opened: Session,
        call: Call[Any],
        id: str,  # noqa: A002
        config: ConversationConfig | None,
    ) -> None:
        self._call = call
        self._session = opened
        self._conversation: Conversation = call(opened.open(id, config))
        if self._conversation.resumed:
            call(self._conversation.ready())
        self._status: dict[str, Any] = call(self._conversation.status())

    def at_terminal(self) -> None:
        _edit_lines()
        say(self._introduction(), DIM)
        self._attempt(self._take_up)
        while True:
            try:
                line = input(_PROMPT)
            except EOFError:
                say()
                return
            if line.strip() == "/quit":
                return
            if line.startswith("/"):
                self._obey(line.strip())
            elif line.strip():
                self._attempt(partial(self._exchange, line.strip()))

    def _attempt(self, part: Callable[[], None]) -> None:
        """A part of the talk; what is wrong with it does not end the chat."""
        try:
            part()
        except (Refused, TurnFailed) as error:
            console(stderr=True).print(styled(str(error), "red"), soft_wrap=True)

    def through_pipe(self) -> None:
        for line in sys.stdin:
            if line.strip():
                say(self._answer(line.strip()))
                sys.stdout.flush()

    def _answer(self, message: str) -> str:
        """The reply to a message; calls that wait are approved elsewhere."""
        text = self._checked(message)
        reply: Reply = self._call(self._conversation.ask(text))
        while reply.stop_reason == AWAITING_APPROVAL:
            for call in reply.awaiting:
                remark(f"{described(call)} waits for `perdure approve {self._conversation.id}`")
            self._call(answered(self._conversation))
            reply = self._call(self._conversation.ask(text, id=reply.message_id))
        return reply.text

    def _introduction(self) -> str:
        turns = self._status["turn"]
        stands = f"goes on after {counted(turns, 'turn')}" if turns else "is new"
        return f"{self._conversation.id} {stands}. Model: {self._model()}. /help lists commands."

    def _model(self) -> str:
        model: str | None = self._status["model"]
        if model == OFFLINE_MODEL:
            return OFFLINE_LINE
        if model is None and self._session.servers.owns:
            return model_line(self._session.settings)
        return model or "the default of the worker that serves"

    def _exchange(self, message: str) -> None:
        """One message and its reply."""
        text = self._checked(message)
        spoken = self._heard(speak(self._conversation, text, sys.stdout))
        while spoken is not None and spoken[0].stop_reason == AWAITING_APPROVAL:
            reply, step = spoken
            decide(self._call, self._conversation, reply.awaiting)
            spoken = self._heard(
                speak(self._conversation, text, sys.stdout, reply.message_id, step)
            )
        self._tell_compactions()

    def _heard(self, speaking: Coroutine[Any, Any, tuple[Reply, int]]) -> tuple[Reply, int] | None:
        """A reply to its end; None when Ctrl-C has stopped its turn, and not the chat."""
        try:
            spoken: tuple[Reply, int] = self._call(speaking)
        except KeyboardInterrupt:
            self._call(self._conversation.interrupt())
            self._call(at_rest(self._conversation))
            say("\ninterrupted", DIM)
            return None
        return spoken

    def _checked(self, message: str) -> str:
        return checked(message, archive=self._session.archive is not None)

    def _take_up(self) -> None:
        """Have the calls decided that wait since an earlier chat, and tell what came of it."""
        turn = self._status["turn"]
        while waiting := self._status["awaiting"]:
            decide(self._call, self._conversation, waiting)
            self._status = self._call(at_rest(self._conversation))
            if not self._status["awaiting"]:
                say(self._call(self._conversation.reply(turn)).text)

    def _tell_compactions(self) -> None:
        before, self._status = self._status, self._call(self._conversation.status())
        made = self._status["totals"]["compactions"] - before["totals"]["compactions"]
        if made > 0:
            say(
                f"{counted(made, 'compaction')}: {self._status['context_tokens']:,} tokens in "
                f"the context, of {self._status['raw_tokens']:,} said",
                DIM,
            )

    def _obey(self, command: str) -> None:
        try:
            if command == "/context":
                say(self._call(self._conversation.context_text()))
            elif command == "/memory":
                show(memory_table(self._call(self._conversation.memory())))
            elif command == "/help":
                for name, meaning in _COMMANDS.items():
                    say(f"{name:<10}{meaning}")
                say("To send a line that begins with /, put a space before it.", DIM)
            else:
                say(f"there is no {command.split()[0]}; there are {', '.join(_COMMANDS)}", "red")
        except PerdureError as error:
            console(stderr=True).print(styled(str(error), "red"), soft_wrap=True)


def _edit_lines() -> None:
    """Give `input` the arrow keys and a history, where Python has readline."""
    try:
        import readline  # noqa: F401
    except ImportError:
        return
