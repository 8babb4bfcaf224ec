"""Deliveries and their attempts in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from webapp.engine.notifications.model import OPEN_STATES, Delivery, DeliveryAttempt, DeliveryState
from webapp.engine.ports.notices import DeliveryQuery
from webapp.engine.ports.queries import Page
from webapp.engine.ports.stores import Partition
from webapp.stores import notice_rows
from webapp.stores.memory.bookmarks import is_free
from webapp.stores.memory.lists import ordered, page
from webapp.stores.memory.notices import insert_once
from webapp.stores.memory.tables import Transaction
from webapp.stores.ordering import NEWEST_FIRST
from webapp.stores.rows import Row, check_partition

_UNCLAIMED = {"claim_token": None, "claimed_until": None}


class MemoryDeliveries:
    """The store of deliveries."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, partition: Partition, deliveries: Sequence[Delivery]) -> None:
        """Insert deliveries; those that are there stay as they are."""
        check_partition(partition, deliveries)
        for delivery in deliveries:
            insert_once(self._transaction, "deliveries", notice_rows.delivery_row(delivery))

    def any_due(self, now: datetime, without: Collection[Partition] = ()) -> bool:
        """Whether there is something to claim."""
        return bool(self._claimable(now, without))

    def next_due(self, without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest time at which something unclaimed may be sent."""
        lines, served = self._lines(), self._transaction.served(without)
        found = self._rows(
            lambda row: (
                row["due_at"] is not None
                and row["claim_token"] is None
                and served(row)
                and next(_before(lines, row), None) is None
            )
        )
        return min((row["due_at"] for row in found), default=None)

    def claim_due(
        self,
        now: datetime,
        limit: int,
        token: str,
        until: datetime,
        without: Collection[Partition] = (),
        bundle: str | None = None,
    ) -> Sequence[Delivery]:
        """Claim what may be sent now."""
        own = token if bundle is not None else None
        rows = [row for row in self._claimable(now, without, own) if bundle in (None, row["bundle"])]
        found = sorted(rows, key=lambda row: (row["due_at"], row["sequence"], row["id"]))
        claimed = []
        for row in found[:limit]:
            self._note_lost(row)
            self._transaction.update(
                "deliveries",
                row,
                state=DeliveryState.SENDING.value,
                attempts=row["attempts"] + 1,
                attempted_at=now,
                claim_token=token,
                claimed_until=until,
            )
            claimed.append(self._get(row["tenant_id"], row["id"]))
        return [notice_rows.delivery(row) for row in claimed if row is not None]

    def settle(self, partition: Partition, delivery: Delivery, attempt: DeliveryAttempt, token: str) -> bool:
        """Write how an attempt ended and free the claim, if it is still that token's."""
        check_partition(partition, [delivery])
        row = self._get(partition, delivery.id)
        if row is None or row["claim_token"] != token:
            return False
        self._transaction.update("deliveries", row, **notice_rows.outcome_columns(delivery), **_UNCLAIMED)
        self._transaction.put("delivery_attempts", notice_rows.attempt_row(partition, attempt), new=True)
        return True

    def settle_all(self, partition: Partition, ends: Sequence[tuple[Delivery, DeliveryAttempt]], token: str) -> int:
        """Do as ``settle`` for each that the token still has, and return their number."""
        return sum(self.settle(partition, one, attempt, token) for one, attempt in ends)

    def give_back(
        self, token: str, delivery_ids: Sequence[str], until: datetime | None = None, reason: str | None = None
    ) -> int:
        """Free claims of deliveries that were not tried."""
        found = self._rows(lambda row: row["claim_token"] == token and row["id"] in delivery_ids)
        put_off = {} if until is None else {"due_at": until, "next_attempt_at": until, "last_error": reason}
        for row in found:
            before = DeliveryState.FAILED if row["attempts"] > 1 else DeliveryState.PENDING
            values = {"state": before.value, "attempts": row["attempts"] - 1, **_UNCLAIMED, **put_off}
            self._transaction.update("deliveries", row, **values)
        return len(found)

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so."""
        found = self._rows(lambda row: row["claim_token"] is not None and row["claim_token"].startswith(token_prefix))
        for row in found:
            self._note_lost(row)
            self._transaction.update("deliveries", row, state=DeliveryState.FAILED.value, **_UNCLAIMED)
        return len(found)

    def claim_tokens(self) -> Sequence[str]:
        """Return the distinct tokens of claims, sorted."""
        return sorted({row["claim_token"] for row in self._rows(lambda row: row["claim_token"] is not None)})

    def list(self, partition: Partition, query: DeliveryQuery) -> Page[Delivery]:
        """Return a page and the total."""
        found = self._rows(
            lambda row: (
                row["tenant_id"] == partition
                and (not query.states or row["state"] in query.states)
                and query.endpoint_id in (None, row["endpoint_id"])
                and query.instance_id in (None, row["instance_id"])
                and query.recipient_id in (None, row["recipient_id"])
                and query.topic in (None, row["topic"])
            )
        )
        return page(ordered(found, NEWEST_FIRST), query.paging, notice_rows.delivery)

    def counts(self, partition: Partition, sent_since: datetime) -> dict[str, int]:
        """Return the number of deliveries by state."""
        sent = DeliveryState.SENT.value
        found = self._rows(
            lambda row: (
                row["tenant_id"] == partition
                and (row["state"] != sent or (row["ended_at"] is not None and row["ended_at"] >= sent_since))
            )
        )
        return dict(Counter(row["state"] for row in found))

    def find(self, partition: Partition, delivery_id: str) -> Delivery | None:
        """Return the delivery, or None."""
        row = self._get(partition, delivery_id)
        return None if row is None else notice_rows.delivery(row)

    def attempts(self, partition: Partition, delivery_id: str) -> Sequence[DeliveryAttempt]:
        """Return its attempts, the first one first."""
        found = self._attempts(partition, delivery_id)
        return [notice_rows.attempt(row) for row in sorted(found, key=lambda row: row["number"])]

    def retry(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Make dead, dropped or failed deliveries pending and due."""
        return self._set(partition, delivery_ids, notice_rows.RETRIED_STATES, DeliveryState.PENDING, at)

    def drop(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Mark open or dead deliveries that nobody has claimed as settled."""
        return self._set(partition, delivery_ids, notice_rows.DROPPED_STATES, DeliveryState.DROPPED, at)

    def replay(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Make sent deliveries pending and due again."""
        return self._set(partition, delivery_ids, [DeliveryState.SENT], DeliveryState.PENDING, at)

    def put_back_stranded(self, partition: Partition, limit: int) -> int:
        """Make due again what waits for nothing: nothing is ever put aside here."""
        return 0

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* settled deliveries that ended before, with their attempts."""
        old = self._rows(
            lambda row: (
                row["tenant_id"] == partition
                and row["state"] in notice_rows.SETTLED_STATES
                and row["ended_at"] is not None
                and row["ended_at"] < before
            )
        )
        for row in (gone := sorted(old, key=lambda row: row["ended_at"])[:limit]):
            self.remove(partition, row["id"])
        return len(gone)

    def remove(self, partition: Partition, delivery_id: str) -> None:
        """Delete a delivery with its attempts."""
        for row in self._attempts(partition, delivery_id):
            self._transaction.remove("delivery_attempts", (delivery_id, row["number"]), partition)
        self._transaction.remove("deliveries", (delivery_id,), partition)

    def _rows(self, where: Callable[[Row], bool]) -> Sequence[Row]:
        return self._transaction.rows("deliveries", where)

    def _get(self, partition: Partition, delivery_id: str) -> Row | None:
        return self._transaction.get("deliveries", (delivery_id,), partition)

    def _attempts(self, partition: Partition, delivery_id: str) -> Sequence[Row]:
        wanted = (partition, delivery_id)
        return self._transaction.rows("delivery_attempts", lambda row: (row["tenant_id"], row["delivery_id"]) == wanted)

    def _lines(self) -> dict[tuple[Partition, str], Sequence[Row]]:
        """Return what is open or dead, by line, in its order."""
        lines: dict[tuple[Partition, str], list[Row]] = {}
        for row in self._rows(lambda row: row["open_line"] is not None):
            lines.setdefault((row["tenant_id"], row["open_line"]), []).append(row)
        return {line: sorted(rows, key=_place) for line, rows in lines.items()}

    def _claimable(self, now: datetime, without: Collection[Partition], own: str | None = None) -> Sequence[Row]:
        """Return what may be sent now, or goes with what the token *own* has claimed."""

        def may_go(row: Row) -> bool:
            return row["due_at"] is not None and row["due_at"] <= now and is_free(row, now)

        def goes(row: Row) -> bool:
            return may_go(row) or (own is not None and row["claim_token"] == own)

        lines, served = self._lines(), self._transaction.served(without)
        return self._rows(
            lambda row: (
                served(row) and may_go(row) and all(_goes_with(one, row) and goes(one) for one in _before(lines, row))
            )
        )

    def _note_lost(self, row: Row) -> None:
        """Keep that the last attempt's end is unknown, if a claim was never settled."""
        if row["claim_token"] is not None:
            lost = notice_rows.lost_attempt_row(row["tenant_id"], row)
            self._transaction.put("delivery_attempts", lost, new=True)

    def _set(
        self,
        partition: Partition,
        delivery_ids: Sequence[str],
        states: Collection[DeliveryState],
        state: DeliveryState,
        at: datetime,
    ) -> int:
        found = [self._get(partition, one) for one in dict.fromkeys(delivery_ids)]
        rows = [one for one in found if one is not None and one["state"] in states and one["claim_token"] is None]
        for row in rows:
            is_open = state in OPEN_STATES
            values = notice_rows.state_columns(state, row["line"], at if is_open else row["next_attempt_at"])
            self._transaction.update("deliveries", row, **values, ended_at=None if is_open else at)
        return len(rows)


def _before(lines: dict[tuple[Partition, str], Sequence[Row]], row: Row) -> Iterator[Row]:
    """Return what comes before the row in its line and is open or dead."""
    return takewhile(lambda one: _place(one) < _place(row), lines[row["tenant_id"], row["line"]])


def _place(row: Row) -> tuple[int, str]:
    return row["sequence"], row["id"]


def _goes_with(one: Row, row: Row) -> bool:
    return row["bundle"] is not None and one["bundle"] == row["bundle"]
