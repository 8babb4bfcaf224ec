"""Scopes: calls of services that share one transaction, hold their leases to its end and tell of it afterwards.

A thread that is in no scope gives each command a transaction of its own. In a :class:`HostScope` it joins the
transaction of the application that calls (spec 3.1, 8.10); in an ``AnswerScope`` a command commits together with its
answer (spec 11, Amendments).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol, TypeVar

from webapp.engine.errors import READ_ONLY, Unexpected
from webapp.engine.ports.stores import Partition, UnitOfWork

log = logging.getLogger("waypost.scopes")

T = TypeVar("T")
Lease = Callable[[str], AbstractContextManager[None]]


class Scope(Protocol):
    """What Storage and Commands ask of the scope that their thread is in."""

    @property
    def read_only(self) -> bool:
        """Whether only reading is allowed."""

    def read(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Run a block that reads, seeing what this scope has written."""

    def write(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Run a block that writes; what it wrote is undone when it raises."""

    def open(self, partition: Partition) -> UnitOfWork:
        """Return the scope's unit of work for writing, begun by this if need be."""

    def hold(self, name: str, lease: Lease) -> None:
        """Take a lease and keep it to the end of the transaction; one that the scope holds already is no matter."""

    def afterwards(self, tell: Callable[[], None]) -> None:
        """Have something done after the commit; dropped when what was written by now is rolled back."""

    def take_instance_id(self) -> str | None:
        """Return the id that the instance started next shall have, if it is settled beforehand."""


class Scopes:
    """The scope that each thread is in."""

    def __init__(self) -> None:
        self._thread = threading.local()

    @property
    def current(self) -> Scope | None:
        """The present thread's scope."""
        scope: Scope | None = getattr(self._thread, "scope", None)
        return scope

    @contextmanager
    def entered(self, scope: Scope | None) -> Iterator[None]:
        """Be in a scope, or in none, while the block runs."""
        before = self.current
        self._thread.scope = scope
        try:
            yield
        finally:
            self._thread.scope = before

    def tell(self, tells: list[Callable[[], None]]) -> None:
        """Do what was to be done after a commit, in no scope; a failure is logged, because the commit stands."""
        with self.entered(None):
            for tell in tells:
                try:
                    tell()
                except Exception:
                    log.exception("something that follows a commit failed")


class HeldLeases:
    """The leases of one transaction."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._names: set[str] = set()

    def hold(self, name: str, lease: Lease) -> None:
        """Take a lease, unless it is held already."""
        if name not in self._names:
            self._stack.enter_context(lease(name))
            self._names.add(name)

    def __contains__(self, name: str) -> bool:
        """Whether a lease is held."""
        return name in self._names

    def release(self) -> None:
        """Let go of all."""
        self._names.clear()
        self._stack.close()


@contextmanager
def undone_on_failure(work: UnitOfWork) -> Iterator[None]:
    """Undo what the block wrote when it raises; the transaction goes on."""
    savepoint = work.savepoint()
    try:
        yield
    except BaseException:
        savepoint.undo()
        raise
    savepoint.keep()


def read_only() -> Unexpected:
    """Return the refusal of a write where only reading is allowed (spec 3.1)."""
    return Unexpected("workflow.persistence.read_only", code=READ_ONLY)
