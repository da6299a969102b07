"""Tools that the provider carries out itself."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class ServerTool:
    """A tool of the Messages API, such as its web search; a module offers it beside its own.

        web_search = ServerTool({"type": "web_search_20250305", "name": "web_search"})

    `definition` stands in requests as it is. What it does is not seen before it is done, so no
    approval is asked. Raises ValueError when it has no `type` and `name`, or is not JSON.
    """

    definition: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Refuse what cannot be sent."""
        if not isinstance(self.definition.get("type"), str):
            raise ValueError('a server tool needs a type, such as "web_search_20250305"')
        if not _NAME.fullmatch(self.name):
            raise ValueError('a server tool needs a name, such as "web_search"')
        try:
            json.dumps(self.definition, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the server tool {self.name!r} is not JSON ({error})") from None

    @property
    def name(self) -> str:
        """By which a configuration names it."""
        return str(self.definition.get("name") or "")

    @property
    def description(self) -> str:
        """For people; the model knows what it does."""
        return f"{self.definition['type']}, carried out by the provider."
