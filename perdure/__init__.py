"""Agent conversations that never end: durable, compressed, replayable.

from perdure import Conversation, ConversationConfig, MemoryPolicy
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perdure.contract import ConversationConfig
    from perdure.conversation import Conversation
    from perdure.errors import PerdureError
    from perdure.memory.observation import Observation
    from perdure.memory.policy import MemoryPolicy
    from perdure.reply import Reply

__all__ = [
    "Conversation",
    "ConversationConfig",
    "MemoryPolicy",
    "Observation",
    "PerdureError",
    "Reply",
]

_HOMES = {
    "Conversation": "perdure.conversation",
    "ConversationConfig": "perdure.contract",
    "MemoryPolicy": "perdure.memory.policy",
    "Observation": "perdure.memory.observation",
    "PerdureError": "perdure.errors",
    "Reply": "perdure.reply",
}


def __getattr__(name: str) -> Any:
    # Imported on first use: workflows and pool processes need the memory, not Temporal's client.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
