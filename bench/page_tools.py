"""A tool that gives 5 KB: `PERDURE_TOOLS=bench.page_tools`."""

from bench.words import passage
from perdure.tools import tool

BYTES = 5_000


@tool
def read_page(number: int) -> str:
    """Read a page of the book."""
    return passage(f"page {number}", BYTES)
