"""A consistent copy of an SQLite database while it is in use (spec 13)."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Engine

from webapp.engine.errors import Conflict, InputInvalid, Unavailable
from webapp.stores.sql.dialects import SQLITE

_PAGES = 2_000
"""Pages copied between two looks at how far it is."""

_MINE = 0o600
"""What is in it is as secret as the database."""


def backup(source: Engine, path: Path, told: Callable[[int, int], None]) -> int:
    """Copy the database as it is at this moment to a new file, and return its size in bytes.

    Writers go on meanwhile: one reading transaction holds the moment. *told* hears pages done and pages in all.
    A copy that is broken off leaves nothing under *path*.

    :raises Conflict: the database is none of SQLite's, or another backup writes that file. :raises InputInvalid: the
        file is there already, or its folder is not. :raises Unavailable: it could not be read or written; details name
        the reason.
    """
    if source.dialect.name != SQLITE:
        raise Conflict("backup.not_sqlite", params={"database": source.dialect.name})
    if path.exists() or path.is_symlink():
        raise InputInvalid("backup.exists", params={"path": str(path)})
    if not path.parent.is_dir():
        raise InputInvalid("backup.no_folder", params={"path": str(path.parent)})
    file = Path(str(source.url.database))
    if not file.is_file():
        raise InputInvalid("backup.no_database", params={"path": str(file)})
    partial = path.with_name(f"{path.name}.partial")
    try:
        with _held(partial, path):
            _copy(file, partial, told)
            _flush(partial)
            # A link is refused where a file has come meanwhile; a rename would replace it.
            os.link(partial, path)
    except FileExistsError as error:
        raise InputInvalid("backup.exists", params={"path": str(path)}) from error
    except (OSError, sqlite3.Error) as error:
        reason = _reason(error)
        params = {"path": str(path), "reason": reason}
        raise Unavailable("backup.failed", params=params, details={"reason": reason}) from error
    return path.stat().st_size


@contextmanager
def _held(partial: Path, path: Path) -> Iterator[None]:
    """Have the file under way for the block alone, empty, whatever a backup left in it that was killed.

    :raises Conflict: another backup is at it.
    """
    leftovers = (partial.with_name(f"{partial.name}-journal"), partial)
    descriptor = os.open(partial, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, _MINE)
    try:
        if not _is_locked(descriptor, partial):
            raise Conflict("backup.running", params={"path": str(path)})
        try:
            os.fchmod(descriptor, _MINE)
            os.ftruncate(descriptor, 0)
            # It would be taken for one of the new file's.
            leftovers[0].unlink(missing_ok=True)
            yield
        finally:
            for left in leftovers:
                with suppress(OSError):
                    left.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, partial: Path) -> bool:
    """Lock the file, which is let go when it is closed; False: another process has it, or has just taken it away."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), partial.lstat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _copy(source: Path, partial: Path, told: Callable[[int, int], None]) -> None:
    with closing(sqlite3.connect(source, isolation_level=None)) as reading:
        reading.execute("PRAGMA busy_timeout=15000")
        reading.execute("BEGIN")
        # The snapshot is that of the first read; the copy stays in it, and needs not begin anew when others write.
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        with closing(sqlite3.connect(partial, isolation_level=None)) as writing:
            reading.backup(writing, pages=_PAGES, progress=lambda _, left, all_: told(all_ - left, all_))
            # A file by itself, without a log beside it; the first use goes back to one.
            writing.execute("PRAGMA journal_mode=DELETE")
            problems = writing.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problems != "ok":
                raise sqlite3.DatabaseError(problems)


def _flush(path: Path) -> None:
    for one in (path, path.parent):
        descriptor = os.open(one, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _reason(error: OSError | sqlite3.Error) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
