"""How long an update waits for what it has brought."""

from datetime import UTC, datetime

from workflows.inbox import take_batch, take_configure, take_message
from workflows.state import ConversationState

AT = datetime(2026, 3, 1, tzinfo=UTC)


def test_only_what_has_a_word_for_later_leaves_early() -> None:
    """The result of `configure` is a configuration and that of an import a range."""
    state = ConversationState()
    batch = {"messages": [{"role": "user", "content": "one"}], "id": "b"}
    assert not take_message(state, "hello", AT).endless
    assert take_configure(state, {"title": "t"}, AT).endless
    assert take_batch(state, batch, AT).endless
    assert take_batch(state, batch, AT).endless
