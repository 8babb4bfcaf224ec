"""A process that dies at a chosen moment of its writing, and leaves the rest to others (spec 3.11, 3.22)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from typing import Any

from webapp.engine.ports.stores import StoreFailure


class Killed(BaseException):
    """The process is gone."""


class Moment(Enum):
    """Where in a write something happens."""

    BEFORE_THE_COMMIT = "everything is handed to the database, nothing is committed"
    AFTER_THE_COMMIT = "it is committed, nobody has been told, no follow-up has run"
    ANSWER_LOST = "it is committed, the connection breaks before the answer, the process lives"


class CrashingStores:
    """Stores whose process meets its *moment* in the n-th write from :meth:`plan` on.

    A dead process neither reads nor writes: what it would still do on its way out is refused.
    """

    def __init__(self, stores: Any) -> None:
        self._stores = stores
        self._moment = Moment.AFTER_THE_COMMIT
        self._number = 0
        self.writes = 0
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stores, name)

    def plan(self, moment: Moment, number: int) -> None:
        """Let it happen in the *number*-th write from now; 0: never."""
        self._moment, self._number, self.writes = moment, number, 0

    def reading(self, partition: str | None) -> AbstractContextManager[Any]:
        """Open a unit of work for reading."""
        self._require_life()
        opened: AbstractContextManager[Any] = self._stores.reading(partition)
        return opened

    def writing(self, partition: str | None) -> AbstractContextManager[Any]:
        """Open a unit of work for writing."""
        self._require_life()
        return self._writing(partition)

    @contextmanager
    def _writing(self, partition: str | None) -> Iterator[Any]:
        self.writes += 1
        struck = self.writes == self._number
        with self._stores.writing(partition) as work:
            yield work
            if struck and self._moment is Moment.BEFORE_THE_COMMIT:
                self._die()
        if struck and self._moment is Moment.AFTER_THE_COMMIT:
            self._die()
        if struck and self._moment is Moment.ANSWER_LOST:
            raise StoreFailure("connection lost", transient=True)

    def _die(self) -> None:
        self.dead = True
        raise Killed

    def _require_life(self) -> None:
        if self.dead:
            raise Killed
