"""Tools for the model: typed Python functions, each call of which is a Temporal activity.

from perdure.tools import tool


@tool(approval="ask")
def refund(order: str, euros: int) -> str:
    "Pay an order back."
"""

from perdure.tools.context import OwnConversation, ToolContext, ToolError
from perdure.tools.output import Document, Image
from perdure.tools.tool import Tool, tool

__all__ = ["Document", "Image", "OwnConversation", "Tool", "ToolContext", "ToolError", "tool"]
