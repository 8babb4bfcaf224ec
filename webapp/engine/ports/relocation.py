"""Taking a whole database elsewhere: a backup of the file in use, a copy into another database (spec 13, 8.10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Heard(Protocol):
    """Hears how far it has come."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Hear that *done* of *total* of a step are done."""


class CopiedTable(NamedTuple):
    """A table that stands in both databases: its rows, and the SHA-256 of all of them in the order of the key."""

    name: str
    rows: int
    digest: str


class Relocation(Protocol):
    """Copies databases. Addresses are URLs; None is the installation's own database."""

    def backup(self, source: str | None, path: str, heard: Heard) -> int:
        """Copy an SQLite database, as it is now, to a new file; return its bytes. Writers go on meanwhile.

        :raises Conflict: it is on another database. :raises InputInvalid: the file is there already, or its folder is
            not. :raises Unavailable: it could not be read or written; nothing is left under *path*.
        """

    def copy(self, source: str | None, target: str, heard: Heard) -> Sequence[CopiedTable]:
        """Copy every row of both table sets and of the platform into an empty database, and compare both.

        The source is locked against writing. Broken off, it goes on where it was when it is called again.

        :raises Conflict: the target holds something else, the source is in use or not at head, or a table differs
            afterwards. :raises InputInvalid: source and target are one.
        :raises webapp.engine.ports.stores.StoreFailure: a database cannot be reached or changed.
        """
