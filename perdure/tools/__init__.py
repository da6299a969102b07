"""Tools for the model: typed Python functions, each call of which is a Temporal activity.

    @tool(approval="ask")
    def refund(order: str, euros: int) -> str:
        "Pay money back for an order."
        return f"{euros} euros for {order}"

The worker finds them in the module that `PERDURE_TOOLS` names, the model in the request of a
conversation whose configuration has their names in `tools`.
"""

from perdure.tools.context import OwnConversation, ToolContext, ToolError
from perdure.tools.output import Document, Image
from perdure.tools.server import ServerTool
from perdure.tools.tool import Tool, tool

__all__ = [
    "Document",
    "Image",
    "OwnConversation",
    "ServerTool",
    "Tool",
    "ToolContext",
    "ToolError",
    "tool",
]
