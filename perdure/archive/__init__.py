"""Originals in PostgreSQL: nothing that leaves the context is lost."""

from typing import TYPE_CHECKING, Any

from perdure.archive.records import Batch, Blob, Chain, ChainKey, Piece, Removed

if TYPE_CHECKING:
    from perdure.archive.archive import Archive

__all__ = ["Archive", "Batch", "Blob", "Chain", "ChainKey", "Piece", "Removed"]


def __getattr__(name: str) -> Any:
    # Imported on first use: a client without an archive needs no PostgreSQL driver.
    if name == "Archive":
        from perdure.archive.archive import Archive

        return Archive
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
