"""Taking an installation elsewhere: backups while it runs, and its move to another database (spec 13, 8.10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import quote

from webapp.accounts.ports import AccountStore
from webapp.engine.errors import Conflict
from webapp.engine.ports.relocation import CopiedTable, Heard, Relocation
from webapp.services.storage import answered

SQLITE = "sqlite:"


@dataclass(frozen=True, kw_only=True)
class BackupFile:
    """A file that was written, and its bytes."""

    path: str
    size: int


@dataclass(frozen=True, kw_only=True)
class BackupReport:
    """What was written; *elsewhere* are tenants whose databases have a backup of their own to be made."""

    files: tuple[BackupFile, ...]
    elsewhere: tuple[str, ...] = ()


class RelocationService:
    """The use cases of whoever runs the installation."""

    def __init__(self, *, relocation: Relocation, accounts: AccountStore, poller_live: Callable[[], bool]) -> None:
        self._relocation = relocation
        self._accounts = accounts
        self._poller_live = poller_live

    def backup(self, path: str, heard: Heard) -> BackupReport:
        """Copy the database, and those of tenants that have one of their own on SQLite, to new files.

        A tenant's file stands beside *path* and has the tenant's id in its name. Each is consistent by itself.

        :raises Conflict: the installation is on a database server. :raises InputInvalid: a file is there already.
        """
        files = [BackupFile(path=path, size=answered(lambda: self._relocation.backup(None, path, heard)))]
        elsewhere = []
        for tenant in answered(self._accounts.tenants):
            url = tenant.database_url
            if url is None:
                continue
            if not url.startswith(SQLITE):
                elsewhere.append(tenant.id)
                continue
            beside = tenant_path(path, tenant.id)
            files.append(BackupFile(path=beside, size=self._backup_of(url, beside, heard)))
        return BackupReport(files=tuple(files), elsewhere=tuple(elsewhere))

    def _backup_of(self, url: str, path: str, heard: Heard) -> int:
        return answered(lambda: self._relocation.backup(url, path, heard))

    def copy(self, target: str, heard: Heard, *, source: str | None = None) -> Sequence[CopiedTable]:
        """Copy the installation's database, or the one of the URL *source*, into the one of the URL *target*.

        :raises Conflict: the installation runs: stop it, or copy a backup.
        """
        if source is None and answered(self._poller_live):
            raise Conflict("copy.running")
        return answered(lambda: self._relocation.copy(source, target, heard))


def tenant_path(path: str, tenant_id: str) -> str:
    """Return where the backup of a tenant's own database goes."""
    main = PurePath(path)
    return str(main.with_name(f"{main.stem}-{quote(tenant_id, safe='')}{main.suffix}"))
