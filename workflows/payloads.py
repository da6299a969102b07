"""Payloads as plain data, decoded by hand, so that none of them can fail a workflow task."""

import json
import math
from typing import Any, NoReturn

from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from perdure.memory.blocks import ContentError

# Readers of JSON give up at some depth, pydantic's at 200; what we add around it takes a few.
DEPTH = 100
# What a handler gets when it is called without an argument.
NOTHING = RawValue(Payload())


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def plain(raw: Any) -> Any:
    """The JSON value of a payload, None for no value. Raises ContentError with one sentence.

    With more arguments than a handler has, Temporal's SDK hands them over decoded.
    """
    if not isinstance(raw, RawValue):
        return raw
    encoding = raw.payload.metadata.get("encoding", b"").decode(errors="replace")
    if encoding in ("", "binary/null"):
        return None
    if encoding != "json/plain":
        raise ContentError(f"the payload is {encoding}; it must be JSON")
    try:
        value = json.loads(raw.payload.data, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ContentError(f"the payload is not JSON that can be read: {error}") from None
    if _is_deeper(value, DEPTH):
        raise ContentError(f"the payload is nested more than {DEPTH} deep")
    return value


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)
