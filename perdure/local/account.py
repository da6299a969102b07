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


@dataclass(frozen=True)
class Account:
    """Who PostgreSQL's programs run as; `name` none is whoever runs perdure."""

    name: str | None = None
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


def account() -> Account:
    """The account to use; for root a system user, which is created when it is missing."""
    if os.geteuid() != 0:
        return Account()
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        entry = _created()
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


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
