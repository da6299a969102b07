"""The tools of the recorded trajectories, which answer as they did: the setting
`PERDURE_TOOLS=bench.recorded_tools` gives a worker all of them.

A conversation that is named after a trajectory gets the recorded result for each of its calls.
"""

from typing import Any

from pydantic import ConfigDict, Field, create_model

from bench.data import trajectories
from perdure.tools import Tool, ToolContext, ToolError
from perdure.tools.schema import plain_schema
from perdure.tools.signature import Signature

RESULTS: dict[tuple[str, str], str] = {}
_PARAMETERS: dict[str, dict[str, None]] = {}

for _line in trajectories():
    for _message in _line["messages"]:
        for _block in _message["content"]:
            if _block["type"] == "tool_use":
                _PARAMETERS.setdefault(_block["name"], {}).update(dict.fromkeys(_block["input"]))
            elif _block["type"] == "tool_result":
                RESULTS[_line["id"], _block["tool_use_id"]] = _block["content"]


def _recorded(name: str) -> Tool:
    def answer(this_call: ToolContext, **_: Any) -> str:
        found = RESULTS.get((this_call.conversation.id, this_call.tool_use_id))
        if found is None:
            raise ToolError("no such call was recorded")
        return found

    fields: dict[str, Any] = {
        f"argument_{number}": (Any, Field(None, alias=parameter))
        for number, parameter in enumerate(_PARAMETERS[name])
    }
    model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return Tool(
        name=name,
        description=f"The recorded {name}.",
        input_schema=plain_schema(model),
        approval="always",
        timeout=60,
        attempts=3,
        function=answer,
        signature=Signature(model, plain_schema(model), "this_call"),
    )


globals().update({_name: _recorded(_name) for _name in _PARAMETERS})
