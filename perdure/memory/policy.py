"""The budgets that say when a memory is compacted and how far."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from perdure.memory.notes.own import field_names
from perdure.memory.notes.schema import Notes
from perdure.memory.notes.template import template_fault

Tokens = Annotated[int, Field(ge=100, le=10_000_000)]
Share = Annotated[float, Field(gt=0, le=1)]
Ratio = Annotated[float, Field(gt=1, le=100)]

# Whether there is such a zone is asked at the door, since what is known of zones changes.
ZoneName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}$", max_length=64)]


class MemoryPolicy(BaseModel):
    """Budgets in tokens, shares of a budget, and ratios of source to result tokens.

    Every field may be set per conversation. With `exact_counts` the provider is asked to count a
    request that comes near the window; with `reflect_thinking` a model is asked to think before it
    writes a reflection. `keep_recent` of the newest message tokens
    stay verbatim (default: a fifth of `message_budget`, at most 6,000), and never fewer
    than `keep_recent_messages`, unless those alone exceed the budget.

    `idle_after` seconds without a message what stands before the newest messages is compacted
    below any threshold, if it weighs at least as much as what stays (None: never).

    With `calendar` what is seven days old becomes an entry a day, after thirty days an entry a
    week, after ninety an entry a month, and after a year the facts of each month (see
    `perdure.memory.tiers`); days are those of `timezone`, a name such as "Europe/Berlin".
    Budgets still compact earlier. Without messages this goes on only with `idle_after`.

    With `recall_share` a model gets, beside the context, excerpts of what has left it that fit the
    user's last message: so many tokens at most, as a share of `message_budget` (None: none). They
    are no part of the conversation nor of the recorded hash, and cost tokens with every reply.

    `instructions` are for the summariser. `summary_schema`, a JSON Schema of an object, takes the
    place of the fields of `Notes` (perdure/memory/notes): the summariser is held to it, an answer
    that breaks a limit of it is asked again. Its fields are asked for and shown in the order of
    `required`, then by name. `summary_template` is how the fields are written, those of the schema
    or of `Notes`; see perdure/memory/notes/template.py for its language.
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
    exact_counts: bool = False
    message_limit: Annotated[int, Field(ge=2)] | None = None
    idle_after: Annotated[int, Field(ge=1, le=31_536_000)] | None = None
    calendar: bool = False
    timezone: ZoneName = "UTC"
    recall_share: Share | None = None
    reflect_thinking: bool = False
    instructions: Annotated[str, Field(max_length=20_000)] = ""
    summary_schema: dict[str, Any] | None = None
    summary_template: Annotated[str, Field(max_length=20_000)] = ""

    @field_validator("summary_schema")
    @classmethod
    def _describes_an_object(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None:
            # Brings a JSON Schema library with it, for the few policies that have one. What runs
            # in Temporal's sandbox must have imported it before.
            from perdure.memory.notes.own_schema import schema_fault

            if fault := schema_fault(schema):
                raise ValueError(fault)
        return schema

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.keep_recent is not None and self.keep_recent >= self.message_budget:
            raise ValueError("keep_recent must be smaller than message_budget")
        if self.reserve_output >= self.context_window:
            raise ValueError("reserve_output must be smaller than context_window")
        if self.message_budget >= self.input_limit:
            raise ValueError("message_budget must be smaller than context_window - reserve_output")
        if self.summary_template and (
            fault := template_fault(self.summary_template, self.summary_fields)
        ):
            raise ValueError(f"summary_template: {fault}")
        return self

    @property
    def summary_fields(self) -> list[str]:
        """The names that `summary_template` may show."""
        if self.summary_schema is not None:
            return field_names(self.summary_schema)
        return [name for name in Notes.model_fields if name != "schema_version"]

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
        # The reserve too: what is left of the window is what a request may hold.
        names = (
            *("message_budget", "observation_budget", "level_budget"),
            *("context_window", "reserve_output"),
        )
        scaled = {name: getattr(self, name) * 1_000 // per_mille for name in names}
        return self.model_copy(update=scaled)
