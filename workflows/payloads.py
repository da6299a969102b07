"""Payloads as plain data, decoded by hand, so that none of them can fail a workflow task."""

import json
import math
from typing import Any, NoReturn

from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from perdure.memory.blocks import ContentError

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
        return json.loads(raw.payload.data, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ContentError(f"the payload is not JSON that can be read: {error}") from None
