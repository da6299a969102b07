"""A whole conversation as one file, out of one place and into another."""

from perdure.transfer.exporting import export
from perdure.transfer.restoring import Restored, restore

__all__ = ["Restored", "export", "restore"]
