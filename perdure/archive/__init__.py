"""Originals in PostgreSQL: nothing that leaves the context is lost."""

from perdure.archive.archive import Archive
from perdure.archive.records import Batch, Blob, Chain, ChainKey, Piece, Removed

__all__ = ["Archive", "Batch", "Blob", "Chain", "ChainKey", "Piece", "Removed"]
