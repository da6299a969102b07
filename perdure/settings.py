"""What the environment decides: the variables `PERDURE_*`, and which model speaks by default."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from perdure.errors import SettingsError

ANTHROPIC_MODEL = "claude-sonnet-5-5"
OFFLINE_MODEL = "offline"

POSTGRES_SCHEMES = ("postgresql://", "postgres://")
MAX_TASK_QUEUE = 1000
"""Temporal's limit for the length of a task queue's name."""


def _variable(field: str | None) -> str:
    return f"PERDURE_{field}".upper()


def _not_blank(value: str, info: ValidationInfo) -> str:
    if not value:
        raise SettingsError(
            f"{_variable(info.field_name)} is blank; give it a name or leave it unset."
        )
    return value


Name = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_not_blank)]


class Settings(BaseModel):
    """The settings, read from the environment when constructed; an empty variable is unset.

    Temporal's own connection is not among them: it follows Temporal's convention
    (`TEMPORAL_ADDRESS` and its kin, see `perdure.connect`).

    Raises `SettingsError` for a wrong value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    model: Name | None = None
    """The model that replies; `default_model` says which one when it is unset."""
    summary_model: Name | None = None
    """The model that observes and reflects; unset: the one that replies."""
    database_url: str | None = Field(default=None, repr=False)
    """PostgreSQL for the archive; unset: an embedded server in `data_dir`. Holds a password."""
    stream_url: str | None = Field(default=None, repr=False)
    """The same database, reached without a pooler, to watch replies while they are said."""
    data_dir: Path = Path(".perdure")
    """Where the embedded servers keep their state; created when it is needed."""
    prices: Path | None = None
    """A JSON file with the prices of models, over those that come with the package."""
    task_queue: Name = "perdure"
    """The Temporal task queue of workflows and activities."""
    tools: Name | None = None
    """A module whose tools the worker offers beside its own; see `perdure.tools`."""

    importance: Name | None = None
    """`module:function` that weighs sentences without a model; unset: perdure's own."""

    @model_validator(mode="before")
    @classmethod
    def _from_environment(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        variables = {name: os.environ.get(_variable(name)) for name in cls.model_fields}
        return {name: value for name, value in variables.items() if value} | dict(given)

    @field_validator("importance")
    @classmethod
    def _is_function(cls, value: str | None) -> str | None:
        parts = [] if value is None else value.replace(":", ".").split(".")
        if value is not None and (value.count(":") != 1 or not all(map(str.isidentifier, parts))):
            raise SettingsError(
                f"PERDURE_IMPORTANCE is {value!r}; it must name a function as module:function."
            )
        return value

    @field_validator("database_url", "stream_url")
    @classmethod
    def _is_postgres(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and not value.startswith(POSTGRES_SCHEMES):
            raise SettingsError(
                f"{_variable(info.field_name)} is not a PostgreSQL URL; it must look like "
                "postgresql://user:password@host:5432/database."
            )
        return value

    @field_validator("data_dir")
    @classmethod
    def _is_directory(cls, value: Path) -> Path:
        try:
            directory = value.expanduser()
            fault = "is a file" if directory.is_file() else None
        except (OSError, RuntimeError) as error:
            fault = f"cannot be used ({str(error).rstrip('.')})"
        if fault is not None:
            raise SettingsError(
                f"PERDURE_DATA_DIR is {value}, which {fault}; it must be the path of a "
                "directory, which is created when missing."
            )
        return directory

    @field_validator("tools")
    @classmethod
    def _is_module(cls, value: str | None) -> str | None:
        if value is not None and not all(part.isidentifier() for part in value.split(".")):
            raise SettingsError(
                f"PERDURE_TOOLS is {value!r}, which is not the name of a module; it must look "
                "like desk_tools or package.desk_tools."
            )
        return value

    @field_validator("task_queue")
    @classmethod
    def _is_task_queue(cls, value: str) -> str:
        if len(value) > MAX_TASK_QUEUE:
            raise SettingsError(
                f"PERDURE_TASK_QUEUE has {len(value)} characters; Temporal allows {MAX_TASK_QUEUE}."
            )
        return value


def default_model(settings: Settings) -> str:
    """The model of a conversation that names none: as set, else by whether there is a key."""
    if settings.model is not None:
        return settings.model
    return ANTHROPIC_MODEL if os.environ.get("ANTHROPIC_API_KEY") else OFFLINE_MODEL
