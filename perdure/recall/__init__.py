"""Recall: the words of a conversation again, found by a question.

    found = await recall(archive, key, tail, "Which oven did I reserve?", limit_tokens=1_000)
    found.text        # dated excerpts with their seqs, in their order, for a model or a person
    found.excerpts    # the same as data, best first

`archive` has what left the workflow (None: there is none), `key` is the chain that knows it
(`Past.key`), `tail` are the messages that still stand in the workflow and `entries` those of its
memory, for a `level`. Where nothing was found, `excerpts` is empty and `text` says why in one
sentence. Raises `Refused` for limits and filters that cannot be, and `ArchiveUnavailable` while
the database is away.
"""

from perdure.recall.ask import LIMIT_TOKENS, recall
from perdure.recall.found import Excerpt, Recalled

__all__ = ["LIMIT_TOKENS", "Excerpt", "Recalled", "recall"]
