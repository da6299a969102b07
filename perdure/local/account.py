"""Under which account of the system PostgreSQL runs: it refuses to be root."""

import os
import pwd
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perdure.errors import ServerError

USER = "pgserver"
# In a namespace of its own root's processes can have another number: PostgreSQL sees that it is
# not root, and still gets to directories that are root's alone.
_NAMESPACE = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")


@dataclass(frozen=True)
class Account:
    """Who PostgreSQL's programs run as; `name` none is whoever runs perdure.

    `prefix` stands before each of their commands.
    """

    name: str | None = None
    prefix: tuple[str, ...] = ()
    uid: int = -1
    gid: int = -1

    def options(self) -> dict[str, Any]:
        """How to start a program as this account, for `subprocess`."""
        if self.name is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def give(self, directory: Path) -> None:
        """Make a directory this account's own."""
        if self.name is not None:
            os.chown(directory, self.uid, self.gid)

    def check_reach(self, path: Path, otherwise: str) -> None:
        """Raise `ServerError` naming the first directory on the way to `path` that is shut.

        `otherwise` is what the user can do instead of opening it.
        """
        if self.name is None:
            return
        for directory in reversed(path.parents):
            if not self._may_pass(directory):
                raise ServerError(
                    f"PostgreSQL cannot run as root, and the user {self.name} that it runs as "
                    f"instead may not pass {directory} on the way to {path}; run "
                    f"`chmod o+x {directory}`, or {otherwise}."
                )

    def _may_pass(self, directory: Path) -> bool:
        status = directory.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def account(files: Path) -> Account:
    """The account for the server on `files`, which need not exist yet.

    For root a user namespace, or where the system has none a system user, which is created
    when it is missing; existing files stay with whom they belong to.
    """
    if os.geteuid() != 0:
        return Account()
    ours = not files.exists() or files.stat().st_uid == 0
    if ours and _has_namespaces():
        return Account(prefix=_NAMESPACE)
    return system_user()


def _has_namespaces() -> bool:
    try:
        tried = subprocess.run([*_NAMESPACE, "true"], capture_output=True, check=False)
    except OSError:
        return False
    return tried.returncode == 0


def system_user() -> Account:
    """The system user that PostgreSQL runs as for root; created when it is missing."""
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        entry = _created()
    return Account(entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


def _created() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USER]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
        return pwd.getpwnam(USER)
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise ServerError(
            f"PostgreSQL cannot run as root, and the user {USER} that it would run as cannot be "
            f"created ({said.strip()}); run perdure as another user, or set PERDURE_DATABASE_URL."
        ) from error
