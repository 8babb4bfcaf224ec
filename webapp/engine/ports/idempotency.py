"""Stored answers: the same request sent again is answered without being carried out again (spec 11, Amendments)."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import msgspec

Partition = str | None


class IdempotencyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stored answer: the same key with the same body gets it again for 24 hours (spec 11, Amendments)."""

    scope: str
    body_hash: str
    status: int
    headers: dict[str, str]
    body: bytes
    created_at: datetime


class IdempotencyStore(Protocol):
    """Stored answers of commands with an Idempotency-Key."""

    def find(self, partition: Partition, scope: str, not_before: datetime) -> IdempotencyRecord | None:
        """Return the stored answer if it is not older than *not_before*."""

    def insert(self, partition: Partition, record: IdempotencyRecord) -> None:
        """Store an answer, replacing an expired one of the same scope."""

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* records older than *before*, the oldest first; return their number."""
