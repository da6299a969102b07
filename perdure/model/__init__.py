"""The providers of models, and what stands beside them: token counts and a process pool."""

from perdure.errors import ModelError, RequestRefused
from perdure.model.choose import Providers
from perdure.model.extractive import summarise_extractively
from perdure.model.offline import OfflineProvider
from perdure.model.pool import Pool
from perdure.model.prices import prices
from perdure.model.provider import (
    ModelReply,
    OnText,
    Provider,
    ReplyCall,
    Summary,
    SummaryCall,
)
from perdure.model.summary import prompt_version
from perdure.model.tokens import count, count_blocks, count_each

__all__ = [
    "ModelError",
    "ModelReply",
    "OfflineProvider",
    "OnText",
    "Pool",
    "Provider",
    "Providers",
    "ReplyCall",
    "RequestRefused",
    "Summary",
    "SummaryCall",
    "count",
    "count_blocks",
    "count_each",
    "prices",
    "prompt_version",
    "summarise_extractively",
]
