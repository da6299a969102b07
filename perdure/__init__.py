"""Agent conversations that never end: durable, compressed, replayable.

from perdure import Conversation, ConversationConfig, MemoryPolicy
"""

from perdure.contract import ConversationConfig, ImportReceipt
from perdure.conversation import Conversation, Reply
from perdure.errors import PerdureError
from perdure.memory.observation import Observation
from perdure.memory.policy import MemoryPolicy

__all__ = [
    "Conversation",
    "ConversationConfig",
    "ImportReceipt",
    "MemoryPolicy",
    "Observation",
    "PerdureError",
    "Reply",
]
