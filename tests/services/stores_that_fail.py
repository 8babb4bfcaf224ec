"""Stores that fail on demand: a busy database, one that is gone, one that loses the answer of a commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from webapp.engine.ports.stores import Partition, StoreFailure, Stores, UnitOfWork


class FailingStores:
    """Wraps stores; ``before`` failures strike before the block of a write, ``after`` ones after its commit."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self.before: list[Exception] = []
        self.after: list[StoreFailure] = []
        self.reading_fails: list[StoreFailure] = []
        self.writes = 0

    @contextmanager
    def reading(self, partition: Partition) -> Iterator[UnitOfWork]:
        """Read, unless a failure is due."""
        if self.reading_fails:
            raise self.reading_fails.pop(0)
        with self._stores.reading(partition) as work:
            yield work

    @contextmanager
    def writing(self, partition: Partition) -> Iterator[UnitOfWork]:
        """Write, unless a failure is due."""
        self.writes += 1
        if self.before:
            raise self.before.pop(0)
        with self._stores.writing(partition) as work:
            yield work
        if self.after:
            raise self.after.pop(0)


def busy() -> StoreFailure:
    """Return what a store says that may do it at the next attempt."""
    return StoreFailure("busy", transient=True)


def gone() -> StoreFailure:
    """Return what a store says that will not do it."""
    return StoreFailure("disk full")
