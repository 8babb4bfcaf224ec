"""Batches as rows, and back; both sets of stores use them."""

from __future__ import annotations

from typing import Any

from webapp.engine.instances.batches import Batch, BatchItem, BatchItemStatus, BatchStatus
from webapp.engine.numbers import decode, encode
from webapp.stores.rows import Row

_COUNTED = ("status", "total", "done", "failed", "ended_at")


def batch_row(batch: Batch) -> Row:
    """Return the columns of a batch."""
    return {
        "id": batch.id,
        "tenant_id": batch.tenant_id,
        "action": batch.action,
        "status": batch.status.value,
        "actor_id": batch.actor_id,
        "total": batch.total,
        "done": batch.done,
        "failed": batch.failed,
        "created_at": batch.created_at,
        "ended_at": batch.ended_at,
        "document": encode(batch).decode(),
    }


def batch(row: Any) -> Batch:
    """Return a row as a batch; what is counted stands in the columns."""
    kept = decode(row["document"], Batch)
    values = {name: getattr(kept, name) for name in Batch.__struct_fields__}
    values |= {name: row[name] for name in _COUNTED}
    return Batch(**{**values, "status": BatchStatus(row["status"])})


def item_row(item: BatchItem, tenant_id: str | None) -> Row:
    """Return the columns of an item."""
    return {
        "batch_id": item.batch_id,
        "sequence": item.sequence,
        "tenant_id": tenant_id,
        "instance_id": item.instance_id,
        "status": item.status.value,
        "ended_at": item.ended_at,
        "problem": None if item.problem is None else encode(item.problem).decode(),
    }


def item(row: Any) -> BatchItem:
    """Return a row as an item."""
    return BatchItem(
        batch_id=row["batch_id"],
        sequence=row["sequence"],
        instance_id=row["instance_id"],
        status=BatchItemStatus(row["status"]),
        ended_at=row["ended_at"],
        problem=None if row["problem"] is None else decode(row["problem"], dict[str, Any]),
    )
