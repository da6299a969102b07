"""Directories for servers."""

import tempfile
from pathlib import Path


def passable_directory() -> Path:
    """A new directory that PostgreSQL's user may pass; pytest's own are shut to others."""
    directory = Path(tempfile.mkdtemp(prefix="perdure-test-"))
    directory.chmod(0o755)
    return directory
