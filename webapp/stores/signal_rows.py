"""Rows of signals: those who wait for one, and those that are kept; for both sets of stores."""

from __future__ import annotations

from webapp.engine.numbers import JsonObject, decode
from webapp.engine.ports.signals import SignalTarget, StoredSignal
from webapp.stores.rows import Columns, Row, document, pick


def target(row: Columns) -> SignalTarget:
    """Return a bookmark that waits for a signal."""
    return pick(SignalTarget, row, bookmark_id=row["id"])


def stored_signal_row(signal: StoredSignal) -> Row:
    """Return the columns of a kept signal."""
    return {
        "id": signal.id,
        "tenant_id": signal.tenant_id,
        "name": signal.name,
        "correlation_id": signal.correlation_id,
        "payload": document(signal.payload),
        "created_at": signal.created_at,
        "expires_at": signal.expires_at,
    }


def stored_signal(row: Columns) -> StoredSignal:
    """Return a kept signal."""
    return pick(StoredSignal, row, payload=decode(row["payload"], JsonObject))
