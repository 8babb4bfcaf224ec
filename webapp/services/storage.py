"""Reading and writing with the store's failures made bearable: transient ones are tried again (spec 3.22)."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import SystemRandom
from typing import TypeVar

from webapp.engine.errors import UNAVAILABLE_STORE, Unavailable
from webapp.engine.ports.stores import Partition, StoreFailure, Stores, UnitOfWork
from webapp.services.settings import ServiceSettings

T = TypeVar("T")

_random = SystemRandom()


def unavailable(failure: StoreFailure) -> Unavailable:
    """Return the refusal that a store's failure becomes.

    Its reason is the failure's kind alone: what the database says beside it, such as its address, is for the log.
    """
    kind = failure.reason.partition(":")[0]
    return Unavailable("workflow.store.unavailable", code=UNAVAILABLE_STORE, details={"reason": kind})


def answered(call: Callable[[], T]) -> T:
    """Return what a store without units of work answers. :raises Unavailable: it cannot."""
    try:
        return call()
    except StoreFailure as failure:
        raise unavailable(failure) from failure


class Storage:
    """Opens units of work; a block that failed for a passing reason runs again, up to five times in all.

    Blocks must be safe to run again: reads are, and writes are because of their revision and command id.
    """

    def __init__(self, stores: Stores, settings: ServiceSettings, pause: Callable[[float], None] = time.sleep) -> None:
        self._stores = stores
        self._settings = settings
        self._pause = pause

    def read(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Run the block in a unit of work for reading. :raises Unavailable: the store cannot do it."""

        def attempt() -> T:
            with self._stores.reading(partition) as work:
                return block(work)

        return self._until_it_holds(attempt)

    def write(
        self,
        partition: Partition,
        block: Callable[[UnitOfWork], T],
        *,
        settled: Callable[[UnitOfWork], T | None] | None = None,
    ) -> T:
        """Run the block in one transaction and commit. :raises Unavailable: the store cannot do it.

        A commit's answer may be lost: before a further attempt *settled* looks whether the earlier one was committed,
        and its result then stands. Wave write sets need none, because ``apply`` settles that by the command's id.
        """
        attempts = 0

        def attempt() -> T:
            nonlocal attempts
            attempts += 1
            with self._stores.writing(partition) as work:
                earlier = settled(work) if settled is not None and attempts > 1 else None
                return block(work) if earlier is None else earlier

        return self._until_it_holds(attempt)

    def _until_it_holds(self, attempt: Callable[[], T]) -> T:
        pause = self._settings.write_pause_seconds
        for _ in range(self._settings.write_attempts - 1):
            try:
                return attempt()
            except StoreFailure as failure:
                if not failure.transient:
                    raise unavailable(failure) from failure
            # Two that met once must not meet again in lockstep.
            self._pause(pause * (0.5 + _random.random()))
            pause *= 2
        try:
            return attempt()
        except StoreFailure as failure:
            raise unavailable(failure) from failure
