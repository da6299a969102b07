"""What a provider says of a request that does not fit the model's window."""

import re

from perdure.errors import ModelError

# The API's own words, and those of other endpoints that speak its language.
_OVER_WINDOW = re.compile(
    r"(?:prompt|input|context|request) is too (?:long|large)"
    r"|exceeds? (?:the )?(?:maximum |model'?s? )*(?:context|input)",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(r"(\d[\d,]*) tokens > (\d[\d,]*)")


def says_over_window(text: str) -> bool:
    """Whether the text of an error is about the window."""
    return _OVER_WINDOW.search(text) is not None


def too_long(error: ModelError) -> tuple[int, int] | None:
    """Tokens of a request that was too long, and of the window, where the provider told them."""
    found = _TOO_LONG.search(str(error)) if error.kind == "over_window" else None
    return (int(found[1].replace(",", "")), int(found[2].replace(",", ""))) if found else None
