"""What must survive a compaction: facts collected by code and written beside the summary."""

from perdure.memory.facts.collect import collect
from perdure.memory.facts.fact import Fact, Kind
from perdure.memory.facts.guard import SHARE, guard, reserve, told

__all__ = ["SHARE", "Fact", "Kind", "collect", "guard", "reserve", "told"]
