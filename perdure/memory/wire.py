"""The one byte form of data that hashes are taken over."""

import hashlib
import json
from typing import Any


def without_nulls(value: Any) -> Any:
    """`value` with every null mapping entry removed: absent and null mean the same."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(v) for v in value]
    return value


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no blanks, no nulls and characters as themselves (UTF-8 later)."""
    return json.dumps(
        without_nulls(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def sha256(value: Any) -> str:
    """Hex SHA-256 of `value`'s canonical JSON, 64 characters."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
