"""The unit of work that a wave's callbacks write in and that the wave is then stored in (spec 3.22)."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from types import TracebackType

from webapp.engine.ports.stores import Partition, Savepoint, StoreFailure, UnitOfWork, WriteSet
from webapp.services.storage import Storage, unavailable

log = logging.getLogger("waypost.commands")


class CallbackWork:
    """One wave's transaction, if a callback begins it.

    Such a wave is written once: what its callbacks wrote cannot be applied again, and running them again without being
    asked could do twice what they do outside the database.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._own = ExitStack()
        self._work: UnitOfWork | None = None
        self._savepoint: Savepoint | None = None

    @property
    def used(self) -> bool:
        """Whether a callback has begun the transaction."""
        return self._work is not None

    def begin(self, partition: Partition) -> UnitOfWork:
        """Return the unit of work, begun by the first call. :raises StoreFailure: it cannot be begun."""
        if self._work is None:
            self._work = self._begun(partition)
        return self._work

    def _begun(self, partition: Partition) -> UnitOfWork:
        storage = self._storage
        scope = storage.scopes.current
        if scope is not None:
            work = scope.open(partition)
            # The transaction is not the wave's alone: a wave that comes to nothing must leave nothing.
            self._savepoint = work.savepoint()
            return work
        return storage.passing_over(lambda: self._own.enter_context(storage.stores.writing(partition)))

    def store(self, write_set: WriteSet) -> None:
        """Write the wave where its callbacks wrote, and commit; in a scope the commit is the scope's.

        :raises RevisionConflict: somebody else wrote the instance. :raises Unavailable: the store cannot do it.
        """
        work = self.begin(write_set.partition)
        try:
            work.apply(write_set)
            if self._savepoint is not None:
                self._savepoint.keep()
                self._savepoint = None
        except StoreFailure as failure:
            raise unavailable(failure) from failure
        try:
            self._own.close()
        except StoreFailure as failure:
            if not (failure.transient and self._was_committed(write_set)):
                raise unavailable(failure) from failure
            log.info("a commit was made, although its answer was lost")

    def _was_committed(self, write_set: WriteSet) -> bool:
        partition, instance = write_set.partition, write_set.instance

        def block(work: UnitOfWork) -> bool:
            if instance is not None:
                there = work.instances.find(partition, instance.id)
                if there is not None and there.command_id == instance.command_id:
                    return True
            return any(work.audit.holds(partition, entry.id) for entry in write_set.audit[:1])

        return self._storage.own_read(partition, block)

    def __enter__(self) -> CallbackWork:
        """Begin nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo what was not stored."""
        if kind is None:
            self._own.close()
            return
        if self._savepoint is not None:
            self._savepoint.undo()
        self._own.__exit__(kind, error, trace)
