"""The extractive engine: summaries and answers without a model, the same bytes every time."""

from perdure.memory.extract.answer import answer
from perdure.memory.extract.importance import Importance, Terms, Value, Weights, importance
from perdure.memory.extract.observe import observe
from perdure.memory.extract.reflect import reflect
from perdure.memory.extract.types import Count, Quote, Remembered, Turn

__all__ = [
    "Count",
    "Importance",
    "Quote",
    "Remembered",
    "Terms",
    "Turn",
    "Value",
    "Weights",
    "answer",
    "importance",
    "observe",
    "reflect",
]
