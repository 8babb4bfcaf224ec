"""The store's side of sealing: which rows of the trail wait, how far each chain has come (spec 13, Amendments).

Each partition has a chain of its own, wherever it lies. Heads are appended with the seals they are of, in one
transaction, and never changed: a chain that is shorter than its newest head has lost rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from webapp.engine.instances.seals import AuditHead, Seal, TrailRow

Partition = str | None


class SealLost(Exception):
    """Another process has sealed these rows meanwhile, or some of them are gone; nothing was changed."""


class Unsealed(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for its seal: how many rows (counted up to a limit), and since when the oldest."""

    count: int
    oldest: datetime | None


class SealStore(Protocol):
    """Numbers, hashes and heads of the trail."""

    def waiting(self) -> Sequence[Partition]:
        """Return the partitions of this database that have unsealed rows, as far as 10,000 rows tell."""

    def unsealed(self, partition: Partition, limit: int) -> Sequence[TrailRow]:
        """Return committed, unsealed rows: sequence ascending, then id."""

    def backlog(self, partition: Partition, most: int) -> Unsealed:
        """Return how many rows are unsealed, counted up to *most*, and when the first of them by sequence was made."""

    def newest_head(self, partition: Partition) -> AuditHead | None:
        """Return how far the chain has come, or None when nothing was ever sealed."""

    def seal(self, partition: Partition, seals: Sequence[Seal], head: AuditHead) -> None:
        """Store seals that follow the newest head, and the head that they lead to.

        :raises SealLost: a number is taken, or a row is sealed already or gone. The transaction must be given up.
        """

    def sealed(self, partition: Partition, after: int, limit: int) -> Sequence[TrailRow]:
        """Return rows with numbers above *after*, by number."""

    def heads(self, partition: Partition, after: int, limit: int) -> Sequence[AuditHead]:
        """Return heads with numbers above *after*, by number."""

    def forget_heads(self, partition: Partition, numbers: Sequence[int]) -> int:
        """Delete heads by their numbers, and return how many there were."""

    def partitions(self) -> Sequence[Partition]:
        """Return the partitions of this database that have rows in the trail or heads, the platform first."""
