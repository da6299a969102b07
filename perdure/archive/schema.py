"""The schema `perdure` in the database: which version it has, and how it gets a newer one."""

from importlib.resources import files

from psycopg import AsyncConnection

from perdure.errors import ArchiveTooNew, SettingsError

LOCK = 0x7065726475726500
"""Key of the advisory lock of whoever migrates: "perdure" in ASCII and a zero."""

_VERSION_TABLE = """
create schema if not exists perdure;
create table perdure.migrations (
    version integer primary key,
    name text not null,
    applied_at timestamptz not null default now()
);
"""


def migrations() -> list[tuple[int, str, str]]:
    """Every migration that this code knows: version from 1 without gaps, file name, SQL."""
    folder = files("perdure.archive") / "migrations"
    found = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )
    return [(int(e.name[:4]), e.name, e.read_text(encoding="utf-8")) for e in found]


async def migrate(connection: AsyncConnection) -> int:
    """Bring the schema to this code's version, and give that version.

    Each migration is one transaction, made under a lock, so any number of processes may do
    this at once. Raises `ArchiveTooNew` when the schema is newer than the code.
    """
    steps = migrations()
    while (version := await _version(connection)) < len(steps):
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock(%s::bigint)", [LOCK])
            # Somebody else may have been faster while we waited for the lock.
            if await _version(connection) == version:
                await _apply(connection, *steps[version])
    if version > len(steps):
        raise ArchiveTooNew(
            f"The archive's schema has version {version} and this perdure knows versions up to "
            f"{len(steps)}; upgrade perdure."
        )
    return version


async def _apply(connection: AsyncConnection, version: int, name: str, sql: str) -> None:
    if version == 1:
        await _refuse_encoding(connection)
        await connection.execute(_VERSION_TABLE)
    await connection.execute(sql.encode())
    await connection.execute(
        "insert into perdure.migrations (version, name) values (%s, %s)", [version, name]
    )


async def _version(connection: AsyncConnection) -> int:
    cursor = await connection.execute("select to_regclass('perdure.migrations') is not null")
    if await cursor.fetchone() != (True,):
        return 0
    cursor = await connection.execute("select coalesce(max(version), 0) from perdure.migrations")
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def _refuse_encoding(connection: AsyncConnection) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise SettingsError(
            f"The database of PERDURE_DATABASE_URL has the encoding {encoding}; the archive needs "
            "one with UTF8."
        )
