"""Follow-ups in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.stores import Partition
from webapp.stores import journal_rows
from webapp.stores.memory.bookmarks import is_free, release_claims
from webapp.stores.memory.tables import Transaction
from webapp.stores.rows import Row


class MemoryFollowUps:
    """The follow-up store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def any_due(self, now: datetime, without: Collection[Partition] = ()) -> bool:
        """Whether there is something to claim."""
        return bool(self._claimable(now, without))

    def next_due(self, without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest due time of unclaimed follow-ups."""
        served = self._transaction.served(without)
        found = self._transaction.rows("follow_ups", lambda row: row["claim_token"] is None and served(row))
        return min((row["due_at"] for row in found), default=None)

    def claim_due(
        self, now: datetime, limit: int, token: str, until: datetime, without: Collection[Partition] = ()
    ) -> Sequence[FollowUp]:
        """Claim due follow-ups of all partitions but some."""
        found = sorted(self._claimable(now, without), key=lambda row: (row["due_at"], row["id"]))
        for row in found[:limit]:
            self._transaction.update("follow_ups", row, claim_token=token, claimed_until=until)
        return [journal_rows.follow_up(row) for row in found[:limit]]

    def claim(
        self, partition: Partition, follow_up_id: str, now: datetime, token: str, until: datetime
    ) -> FollowUp | None:
        """Claim one follow-up if it is there and unclaimed."""
        row = self._transaction.get("follow_ups", (follow_up_id,), partition)
        if row is None or not is_free(row, now):
            return None
        self._transaction.update("follow_ups", row, claim_token=token, claimed_until=until)
        return journal_rows.follow_up(row)

    def _claimable(self, now: datetime, without: Collection[Partition]) -> Sequence[Row]:
        served = self._transaction.served(without)
        return self._transaction.rows(
            "follow_ups", lambda row: row["due_at"] <= now and is_free(row, now) and served(row)
        )

    def delete(self, partition: Partition, follow_up_id: str) -> bool:
        """Delete a follow-up; False: it was gone."""
        there = self._transaction.get("follow_ups", (follow_up_id,), partition) is not None
        self._transaction.remove("follow_ups", (follow_up_id,), partition)
        return there

    def push_back(self, partition: Partition, follow_up_id: str, due_at: datetime, failures: int) -> None:
        """Set a new due time and drop the claim."""
        row = self._transaction.get("follow_ups", (follow_up_id,), partition)
        if row is not None:
            self._transaction.update(
                "follow_ups", row, due_at=due_at, failures=failures, claim_token=None, claimed_until=None
            )

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so."""
        return release_claims(self._transaction, "follow_ups", token_prefix)
