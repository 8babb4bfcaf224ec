"""Batches: one operation on many instances, run in small steps (spec 11, 8.10)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from webapp.engine.numbers import JsonObject


class BatchStatus(StrEnum):
    """Completed and Canceled are the ends; a Paused one waits for somebody to resume it."""

    RUNNING = "Running"
    PAUSED = "Paused"
    COMPLETED = "Completed"
    CANCELED = "Canceled"


class BatchItemStatus(StrEnum):
    """What has become of one instance of a batch."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class Batch(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A batch: what is done (``action``, ``parameters``) by whom, to how many, and how far it has come."""

    id: str
    tenant_id: str | None = None
    action: str
    status: BatchStatus = BatchStatus.RUNNING
    actor_id: str | None = None
    as_operator: bool = False
    reason: str | None = None
    parameters: JsonObject = {}
    total: int = 0
    done: int = 0
    failed: int = 0
    created_at: datetime
    ended_at: datetime | None = None


class BatchItem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One instance of a batch; ``problem`` of one that failed: code, key and params."""

    batch_id: str
    sequence: int
    instance_id: str
    status: BatchItemStatus = BatchItemStatus.PENDING
    ended_at: datetime | None = None
    problem: JsonObject | None = None


class BatchItemEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Ends a pending item and counts it, in the transaction of the command that it stands for."""

    batch_id: str
    sequence: int
    status: BatchItemStatus
    ended_at: datetime
    problem: JsonObject | None = None
