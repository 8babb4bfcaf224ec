"""What a call is refused with because of its store's failure."""

from __future__ import annotations

from webapp.engine.errors import UNAVAILABLE_STORE, Unavailable
from webapp.engine.ports.stores import StoreFailure


def store_unavailable(failure: StoreFailure) -> Unavailable:
    """Return the refusal that a store's failure becomes.

    Its reason is the failure's kind alone: what the database says beside it, such as its address, is for the log.
    """
    key = "workflow.store.disk_full" if failure.full else "workflow.store.unavailable"
    kind = "full" if failure.full else failure.reason.partition(":")[0]
    return Unavailable(key, code=UNAVAILABLE_STORE, details={"reason": kind})
