"""The port to a host application's own transaction, which calls of services join (spec 3.1, 8.10)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from webapp.engine.ports.stores import UnitOfWork


class HostTransaction(Protocol):
    """One root transaction of a host's session, from its beginning to its commit or rollback."""

    @property
    def work(self) -> UnitOfWork:
        """The unit of work over the host's connection; it commits nothing."""

    def require_unfenced(self, tenant: str) -> None:
        """Let nobody put up a fence for the tenant before the transaction ends.

        :raises Fenced: there is one; the transaction is as it was. :raises StoreFailure: it cannot be asked.
        """

    def at_end(self, release: Callable[[], None]) -> None:
        """Have something done when the root transaction has ended, whichever way."""

    def after_commit(self, tell: Callable[[], None]) -> None:
        """Have something done after the root's commit; dropped with the savepoint it is asked in, or with the root."""

    def abandon(self) -> None:
        """Act as if the transaction had been rolled back: the safety net for one that never ends."""


class HostSession(Protocol):
    """A host's session."""

    @property
    def read_only(self) -> bool:
        """Whether calls that join may only read."""

    def begin(self) -> None:
        """Begin the session's transaction so that it may be joined for writing: in SQLite, IMMEDIATE.

        :raises Unexpected: it is in a transaction that began otherwise.
        """

    def transaction(self) -> HostTransaction:
        """Return the present root transaction, begun and checked if it is new.

        :raises Unexpected: it cannot be joined: another database, another isolation, not begun for writing.
        """

    def joined(self) -> AbstractContextManager[None]:
        """Mark the thread as one that must open no other transaction for writing: it would wait for itself."""
