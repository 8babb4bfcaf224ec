"""Deliveries and their attempts in SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Table, Text, Update, bindparam, delete, func, insert, select, union_all, update

from webapp.engine.notifications.model import Delivery, DeliveryAttempt, DeliveryState
from webapp.engine.ports.notices import DeliveryQuery
from webapp.engine.ports.queries import Page
from webapp.engine.ports.stores import Partition
from webapp.stores import notice_rows
from webapp.stores.ordering import NEWEST_FIRST
from webapp.stores.rows import Row, check_partition, of_table
from webapp.stores.sql import delivery_claims, delivery_lines
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant, upsert, upsert_many
from webapp.stores.sql.listing import Branch, Listing, read_page, walking
from webapp.stores.sql.queries import by_key, columns, of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

_MODEL = (*notice_rows.DELIVERY_OVERLAY, "state", "document")
_FILTERS = ("endpoint_id", "instance_id", "recipient_id", "topic")
_OUTCOME = ("state", "next_attempt_at", "due_at", "open_line", "receipt", "last_error", "ended_at")


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table, attempts = tables.deliveries, tables.delivery_attempts
        ids: Any = bindparam("p_ids", expanding=True)
        self.save = upsert(dialect, table, replace=False)
        self.save_many = upsert_many(dialect, table, replace=False)
        self.find = select(*columns(table, *_MODEL)).where(*by_key(table))
        self.settle = (
            update(table)
            .where(*by_key(table), table.c.claim_token == bindparam("p_token", type_=Text()))
            .values(
                **{name: bindparam(f"p_{name}", type_=table.c[name].type) for name in _OUTCOME},
                claim_token=None,
                claimed_until=None,
            )
        )
        self.add_attempt = insert(attempts)
        self.attempts = select(*attempts.c).where(*by_key(attempts, "delivery_id")).order_by(attempts.c.number)
        self.counts = _counts(tables)
        self.retry = _reopen(tables, notice_rows.RETRIED_STATES)
        self.replay = _reopen(tables, [DeliveryState.SENT])
        at = bindparam("p_at", type_=Instant())
        self.drop = _of_states(tables, notice_rows.DROPPED_STATES).values(
            state=DeliveryState.DROPPED.value, due_at=None, open_line=None, ended_at=at
        )
        settled = (is_settled(table), of_tenant(table))
        before = table.c.ended_at < bindparam("p_before", type_=Instant())
        limit: Any = bindparam("p_limit")
        self.old = select(table.c.id).where(before, *settled).order_by(table.c.ended_at).limit(limit)
        self.of_instances = select(table.c.id).where(table.c.instance_id.in_(ids), *settled).limit(limit)
        self.delete_attempts = delete(attempts).where(attempts.c.delivery_id.in_(ids), of_tenant(attempts))
        self.delete = delete(table).where(table.c.id.in_(ids), of_tenant(table))


def is_settled(table: Table) -> ColumnElement[bool]:
    """Return the condition that a delivery may be purged."""
    return table.c.state.in_(notice_rows.SETTLED_STATES)


def _of_states(tables: TableSet, states: Collection[DeliveryState]) -> Update:
    """Return an update of chosen deliveries that are in one of the states and that nobody has claimed."""
    table = tables.deliveries
    chosen = table.c.id.in_(bindparam("p_ids", expanding=True))
    return update(table).where(chosen, table.c.state.in_(states), table.c.claim_token.is_(None), of_tenant(table))


def _reopen(tables: TableSet, states: Collection[DeliveryState]) -> Update:
    at = bindparam("p_at", type_=Instant())
    return _of_states(tables, states).values(
        state=DeliveryState.PENDING.value,
        next_attempt_at=at,
        due_at=at,
        open_line=tables.deliveries.c.line,
        ended_at=None,
    )


def _counts(tables: TableSet) -> Any:
    """Return the statement for how many there are in each state: those sent by their end, all others by their state."""
    table, sent = tables.deliveries, DeliveryState.SENT
    others = [state for state in DeliveryState if state is not sent]
    since = table.c.ended_at >= bindparam("p_since", type_=Instant())
    return union_all(
        *(
            select(table.c.state, func.count()).where(*conditions, of_tenant(table)).group_by(table.c.state)
            for conditions in ([table.c.state.in_(others)], [table.c.state == sent, since])
        )
    )


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


@lru_cache(maxsize=128)
def _listing(tenant: bool, states: tuple[DeliveryState, ...], filters: tuple[str, ...]) -> Listing:
    table = (TENANT_SET if tenant else PLATFORM_SET).deliveries
    conditions: list[ColumnElement[bool]] = [of_tenant(table)]
    conditions += [table.c[name] == bindparam(f"p_{name}") for name in filters]
    of_state = [table.c.state == state.value for state in states]
    shown = columns(table, *_MODEL)
    if len(states) == 1:
        return walking(table, shown, [*conditions, *of_state], NEWEST_FIRST)
    conditions.append(table.c.state.in_(states))
    return walking(table, shown, conditions, NEWEST_FIRST, [Branch(one, NEWEST_FIRST) for one in of_state])


class SqlDeliveries:
    """The store of deliveries."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, partition: Partition, deliveries: Sequence[Delivery]) -> None:
        """Insert deliveries; those that are there stay as they are."""
        check_partition(partition, deliveries)
        own = self._of(partition)
        found = [of_table(partition, notice_rows.delivery_row(one)) for one in deliveries]
        self._transaction.write_all(own.save, own.save_many, found)

    def any_due(self, now: datetime, without: Collection[Partition] = ()) -> bool:
        """Whether there is something to claim."""
        return delivery_claims.any_due(self._transaction, now, without)

    def next_due(self, without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest time at which something unclaimed may be sent."""
        return delivery_claims.next_due(self._transaction, without)

    def claim_due(
        self,
        now: datetime,
        limit: int,
        token: str,
        until: datetime,
        without: Collection[Partition] = (),
        bundle: str | None = None,
    ) -> Sequence[Delivery]:
        """Claim what may be sent now; the claim stands from the commit on."""
        found = delivery_claims.claim_due(self._transaction, now, limit, token, until, without, bundle)
        return [notice_rows.delivery(row) for row in found]

    def settle(self, partition: Partition, delivery: Delivery, attempt: DeliveryAttempt, token: str) -> bool:
        """Write how an attempt ended and free the claim, if it is still that token's."""
        return bool(self.settle_all(partition, [(delivery, attempt)], token))

    def settle_all(self, partition: Partition, ends: Sequence[tuple[Delivery, DeliveryAttempt]], token: str) -> int:
        """Do as ``settle`` for each that the token still has, and return their number."""
        check_partition(partition, [delivery for delivery, _ in ends])
        own, settled, attempts = self._of(partition), list[Delivery](), list[Row]()
        for delivery, attempt in ends:
            values = {f"p_{name}": value for name, value in notice_rows.outcome_columns(delivery).items()}
            asked = scope(partition, p_id=delivery.id, p_token=token, **values)
            if self._transaction.write_counted(own.settle, asked):
                settled.append(delivery)
                attempts.append(of_table(partition, notice_rows.attempt_row(partition, attempt)))
        if attempts:
            self._transaction.write(own.add_attempt, attempts[0] if len(attempts) == 1 else attempts)
        over = [one.id for one in settled if one.state in notice_rows.SETTLED_STATES]
        if over:
            delivery_lines.hand_over(self._transaction, partition, over)
        return len(settled)

    def give_back(
        self, token: str, delivery_ids: Sequence[str], until: datetime | None = None, reason: str | None = None
    ) -> int:
        """Free claims of deliveries that were not tried."""
        return delivery_claims.give_back(self._transaction, token, delivery_ids, until, reason)

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so."""
        return delivery_claims.release_claims(self._transaction, token_prefix)

    def claim_tokens(self) -> Sequence[str]:
        """Return the distinct tokens of claims, sorted."""
        return delivery_claims.claim_tokens(self._transaction)

    def list(self, partition: Partition, query: DeliveryQuery) -> Page[Delivery]:
        """Return a page and the total."""
        given = {name: value for name in _FILTERS if (value := getattr(query, name)) is not None}
        states = tuple(state for state in DeliveryState if not query.states or state in query.states)
        listing = _listing(partition is not None, states, tuple(given))
        parameters = scope(partition, **{f"p_{name}": value for name, value in given.items()})
        found, total = read_page(self._transaction, listing, query.paging, parameters)
        return Page([notice_rows.delivery(row) for row in found], total)

    def counts(self, partition: Partition, sent_since: datetime) -> dict[str, int]:
        """Return the number of deliveries by state."""
        found = self._transaction.rows(self._of(partition).counts, scope(partition, p_since=sent_since))
        return {row[0]: row[1] for row in found}

    def find(self, partition: Partition, delivery_id: str) -> Delivery | None:
        """Return the delivery, or None."""
        found = self._transaction.mappings(self._of(partition).find, scope(partition, p_id=delivery_id))
        return notice_rows.delivery(found[0]) if found else None

    def attempts(self, partition: Partition, delivery_id: str) -> Sequence[DeliveryAttempt]:
        """Return its attempts, the first one first."""
        found = self._transaction.mappings(self._of(partition).attempts, scope(partition, p_delivery_id=delivery_id))
        return [notice_rows.attempt(row) for row in found]

    def retry(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Make dead, dropped or failed deliveries pending and due."""
        return self._change(self._of(partition).retry, partition, delivery_ids, at)

    def drop(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Mark open or dead deliveries that nobody has claimed as settled."""
        dropped = self._change(self._of(partition).drop, partition, delivery_ids, at)
        if dropped:
            delivery_lines.hand_over(self._transaction, partition, delivery_ids)
        return dropped

    def replay(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Make sent deliveries pending and due again."""
        return self._change(self._of(partition).replay, partition, delivery_ids, at)

    def put_back_stranded(self, partition: Partition, limit: int) -> int:
        """Make due again what waits for nothing."""
        return delivery_lines.put_back_stranded(self._transaction, partition, limit)

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* settled deliveries that ended before, with their attempts."""
        asked = scope(partition, p_before=before, p_limit=limit)
        return self._delete(partition, self._transaction.read(self._of(partition).old, asked).scalars().all())

    def purge_of(self, partition: Partition, instance_ids: Sequence[str], limit: int) -> int:
        """Delete at most *limit* settled deliveries of instances, with their attempts."""
        asked = scope(partition, p_ids=list(instance_ids), p_limit=limit)
        return self._delete(partition, self._transaction.read(self._of(partition).of_instances, asked).scalars().all())

    def _delete(self, partition: Partition, ids: Sequence[str]) -> int:
        if not ids:
            return 0
        own, asked = self._of(partition), scope(partition, p_ids=list(ids))
        self._transaction.write(own.delete_attempts, asked)
        return self._transaction.write(own.delete, asked).rowcount

    def _change(self, statement: Update, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        if not ids:
            return 0
        return self._transaction.write(statement, scope(partition, p_ids=list(ids), p_at=at)).rowcount

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)
