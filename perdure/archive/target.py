"""Where the database is, and what a failure to reach it means to a user."""

import re
from dataclasses import dataclass, field

import psycopg
from psycopg.conninfo import conninfo_to_dict

from perdure.errors import ArchiveUnavailable, PerdureError, SettingsError

MALFORMED = (
    "{} cannot be read; it must look like "
    "postgresql://user:password@host:5432/database, with special characters in the password "
    "percent-encoded (@ is %40)."
)

REASONS = {
    "Connection refused": "connection refused",
    "No such file or directory": "nothing listens on its socket",
    "failed to resolve host": "unknown host",
    "timeout expired": "no answer",
    "the database system is": "it is starting or stopping",
    "too many": "it has no free connection",
    "remaining connection slots": "it has no free connection",
}
"""What PostgreSQL's connection failures contain when waiting may help, and what that means."""


@dataclass(frozen=True)
class Target:
    """A database; `name` is for people and says everything but the password.

    `setting` is the variable that named it.
    """

    url: str = field(repr=False)
    name: str
    database: str
    password: str = field(repr=False, default="")
    setting: str = "PERDURE_DATABASE_URL"


def parse(url: str, setting: str = "PERDURE_DATABASE_URL") -> Target:
    """Read a PostgreSQL URL; raises `SettingsError`, without showing any of it."""
    try:
        options = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise SettingsError(MALFORMED.format(setting)) from None
    host = str(options.get("host") or "localhost")
    port = str(options.get("port") or 5432)
    # An unescaped @ in the password makes its end part of the host: nothing to show around.
    if "@" in host or not re.fullmatch(r"[\d,]+", port):
        raise SettingsError(MALFORMED.format(setting))
    database = str(options.get("dbname") or options.get("user") or "")
    place = host if host.startswith("/") else f"{host}:{port}"
    password = str(options.get("password") or "")
    return Target(url, f"{place}/{database}", database, password, setting)


def cannot_connect(target: Target, error: psycopg.Error) -> PerdureError:
    """The error that says why no connection could be made.

    A `SettingsError` when PostgreSQL answered that the URL is wrong, else `ArchiveUnavailable`.
    """
    # The server's words: with a connection that fails, psycopg passes no SQLSTATE on.
    said = str(error)
    if re.search(r'FATAL: +database ".*" does not exist', said):
        return SettingsError(
            f"PostgreSQL at {target.name} has no database {target.database!r}; create it, or "
            f"correct {target.setting}."
        )
    if re.search(r'authentication failed|no password supplied|role ".*" does not exist', said):
        return SettingsError(
            f"PostgreSQL at {target.name} refused the user or the password of {target.setting}."
        )
    known = (reason for sign, reason in REASONS.items() if sign in said)
    return unavailable(target, next(known, None) or _told(target, said))


def unavailable(target: Target, reason: str) -> ArchiveUnavailable:
    """The error that says that the database does not answer, and why."""
    return ArchiveUnavailable(
        f"The archive's database at {target.name} does not answer ({reason}); check that it runs "
        f"and that {target.setting} is right."
    )


def _told(target: Target, said: str) -> str:
    text = " ".join(said.split()) or "the connection failed"
    return text.replace(target.password, "***") if target.password else text
