"""The transaction that a wave's callbacks may write in: offered by the service that runs the wave (spec 3.22)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from webapp.engine.errors import Unexpected
from webapp.engine.ports.stores import Partition, StoreFailure, UnitOfWork

Begin = Callable[[Partition], UnitOfWork]
"""Returns the unit of work that the wave will be stored in, begun by the first call.

:raises StoreFailure: it cannot be begun.
"""


class RunAlone(StoreFailure):
    """Raised out of a wave that cannot be one of a batch: it must be run again, by itself (spec 8.10).

    It wants a transaction of its own, has outside effects at a place that cannot be left to the background, or runs
    code of the application, which may take as long as it likes.
    """

    def __init__(self) -> None:
        super().__init__("the wave must run alone")


_offered: ContextVar[Begin | None] = ContextVar("waypost_callback_transaction", default=None)


@contextmanager
def offered(begin: Begin) -> Iterator[None]:
    """Offer a transaction to the callbacks of the waves that the block runs."""
    token = _offered.set(begin)
    try:
        yield
    finally:
        _offered.reset(token)


def begin(partition: Partition) -> UnitOfWork:
    """Return the unit of work on offer. :raises Unexpected: the wave is run without one."""
    source = _offered.get()
    if source is None:
        raise Unexpected("workflow.transaction.not_offered")
    return source(partition)
