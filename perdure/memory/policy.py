"""The budgets that say when a memory is compacted and how far."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Tokens = Annotated[int, Field(ge=100, le=10_000_000)]
Share = Annotated[float, Field(gt=0, le=1)]
Ratio = Annotated[float, Field(gt=1, le=100)]


class MemoryPolicy(BaseModel):
    """Budgets in tokens, shares of a budget, and ratios of source to result tokens.

    Every field may be set per conversation. `keep_recent` of the newest message tokens
    stay verbatim (default: a fifth of `message_budget`, at most 6,000), and never fewer
    than `keep_recent_messages`, unless those alone exceed the budget.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    message_budget: Tokens = 30_000
    observation_budget: Tokens = 40_000
    level_budget: Tokens = 20_000
    keep_recent: Annotated[int, Field(ge=0)] | None = None
    keep_recent_messages: Annotated[int, Field(ge=0, le=1_000)] = 4
    target_ratio: Ratio = 5.0
    reflect_ratio: Ratio = 2.5
    observe_chunk: Tokens = 6_000
    light_at: Share = 0.70
    observe_at: Share = 0.85
    emergency_at: Share = 0.95
    context_window: Annotated[int, Field(ge=1_000, le=10_000_000)] = 200_000
    reserve_output: Annotated[int, Field(ge=1, le=1_000_000)] = 8_000
    message_limit: Annotated[int, Field(ge=2)] | None = None
    instructions: Annotated[str, Field(max_length=20_000)] = ""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.keep_recent is not None and self.keep_recent >= self.message_budget:
            raise ValueError("keep_recent must be smaller than message_budget")
        if self.reserve_output >= self.context_window:
            raise ValueError("reserve_output must be smaller than context_window")
        if self.message_budget >= self.input_limit:
            raise ValueError("message_budget must be smaller than context_window - reserve_output")
        return self

    @property
    def tail_tokens(self) -> int:
        """Tokens of the newest messages that stay verbatim."""
        if self.keep_recent is not None:
            return self.keep_recent
        return min(6_000, self.message_budget // 5)

    @property
    def input_limit(self) -> int:
        """Tokens that a request may hold so that the reply still fits the window."""
        return self.context_window - self.reserve_output

    def budget(self, level: int) -> int:
        """The token budget of a level: 0 messages, 1 observations, 2 and up reflections."""
        return (
            (self.message_budget, self.observation_budget)[level]
            if level < 2
            else (self.level_budget)
        )

    def calibrated(self, per_mille: int) -> Self:
        """The budgets in our tokens, when the provider books `per_mille` for 1,000 of them."""
        if per_mille == 1_000:
            return self
        names = ("message_budget", "observation_budget", "level_budget", "context_window")
        scaled = {name: getattr(self, name) * 1_000 // per_mille for name in names}
        return self.model_copy(update=scaled)
