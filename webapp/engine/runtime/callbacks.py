"""Callbacks that write: activities, assignee providers, outcome handlers, compensations (spec 3.22).

What they write by ``context.transaction()`` goes into the transaction that the wave is stored in. Each callback that
fails is undone by itself: its first write begins a savepoint.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from webapp.engine.ports import transactions
from webapp.engine.ports.stores import Partition, Savepoint


class _Mark:
    """One running callback, and where its writes began, if it has written."""

    __slots__ = ("savepoint",)

    def __init__(self) -> None:
        self.savepoint: Savepoint | None = None


class Callbacks:
    """The callbacks of one wave; one may run inside another."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._running: list[_Mark] = []

    def run(self) -> Callbacks:
        """Run one callback, or several that stand or fall together: what they wrote is undone when the block raises."""
        return self

    def __enter__(self) -> None:
        self._running.append(_Mark())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is not None:
                self.undo()
                return
            savepoint = self._running[-1].savepoint
            if savepoint is not None:
                savepoint.keep()
        finally:
            self._running.pop()

    def undo(self) -> None:
        """Undo what the innermost callback has written: it failed, although it did not raise."""
        if self._running:
            mark = self._running[-1]
            savepoint, mark.savepoint = mark.savepoint, None
            if savepoint is not None:
                savepoint.undo()

    def transaction(self) -> Any:
        """Return the connection that the running callback writes with.

        :raises Unexpected: the wave is stored in no database. :raises StoreFailure: the transaction cannot begin.
        """
        if not self._running:
            raise TypeError("context.transaction() is for callbacks while they run")
        work = transactions.begin(self._partition)
        connection = work.application()
        mark = self._running[-1]
        if mark.savepoint is None:
            mark.savepoint = work.savepoint()
        return connection
