"""The queries of a file, read for `evaluate`."""

import json
from typing import Any, get_args

from perdure.errors import Refused
from perdure.memory.evaluate import Probe, Query

_KINDS = get_args(Probe)
_FORM = '[{"question": "...", "expected_answer": "..."}]'


def parse_queries(text: str) -> list[Query]:
    """A JSON list of `{"question", "expected_answer", "kind"?}`. Raises Refused."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Refused(f"this is not JSON: {error}") from None
    if not isinstance(found, list):
        raise Refused(f"a list of queries is needed, {_FORM}")
    if not found:
        raise Refused(f"the list holds no query; it should be like {_FORM}")
    return [_query(number, item) for number, item in enumerate(found, start=1)]


def _query(number: int, item: Any) -> Query:
    if not isinstance(item, dict):
        raise Refused(f"query {number} must be an object, as in {_FORM}")
    for name in ("question", "expected_answer"):
        value = item.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            item = {**item, name: str(value)}
        elif not isinstance(value, str) or not value.strip():
            raise Refused(f"query {number} needs {name}, a text")
    for name in item:
        if name not in Query.model_fields:
            raise Refused(f"query {number}: {name} is unknown; {', '.join(Query.model_fields)} are")
    if item.get("kind", "recall") not in _KINDS:
        raise Refused(f"query {number}: kind must be one of {', '.join(_KINDS)}")
    return Query.model_validate(item)
