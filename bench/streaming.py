"""From sending a message to its first word at the client, beside a direct call of the model.

    python -m bench.streaming [TURNS]

The model is a local server that answers at once. The direct call is the anthropic client's own
stream in this process; everything else goes through Temporal, the worker and the archive.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

from anthropic import AsyncAnthropic

from bench.chain import extent
from bench.stage import scripted
from perdure.archive import Archive, Piece
from perdure.conversation import Conversation
from perdure.settings import Settings

QUESTION = "Tell me of the harbour, the boats and the weather. " * 8
WARM = 5


async def median(turns: int, first_word: Callable[[], Awaitable[float]]) -> tuple[float, float]:
    """Median and 95th percentile of milliseconds."""
    seconds = [await first_word() for _ in range(WARM + turns)][WARM:]
    return 1000 * statistics.median(seconds), 1000 * statistics.quantiles(seconds, n=20)[-1]


async def main(turns: int) -> None:
    """Measure, and print a table."""
    async with scripted() as (client, api):
        url = str(Settings().database_url)
        async with await Archive.open(url) as archive, AsyncAnthropic(base_url=api.url) as direct:
            conversation = await Conversation.open(client, "streaming", archive=archive)

            async def directly() -> float:
                began = time.perf_counter()
                async with direct.messages.stream(
                    model="scripted",
                    max_tokens=1000,
                    messages=[{"role": "user", "content": QUESTION}],
                ) as stream:
                    async for _ in stream.text_stream:
                        seconds = time.perf_counter() - began
                        break
                return seconds

            async def streamed() -> float:
                began, seconds = time.perf_counter(), 0.0
                async for event in conversation.stream(QUESTION):
                    if isinstance(event, Piece) and not seconds:
                        seconds = time.perf_counter() - began
                return seconds

            async def asked() -> float:
                began = time.perf_counter()
                await conversation.ask(QUESTION)
                return time.perf_counter() - began

            rows = {
                "direct call, first word": await median(turns, directly),
                "streamed, first word": await median(turns, streamed),
                "asked, whole reply": await median(turns, asked),
            }
            events = (await extent(client, conversation.id)).events
    floor = rows["direct call, first word"][0]
    for name, (middle, slow) in rows.items():
        print(f"{name:<26}{middle:8.1f} ms{slow:8.1f} ms (p95){middle / floor:7.1f} x")
    print(f"events of the history a turn: {events / (2 * (turns + WARM)):.1f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
