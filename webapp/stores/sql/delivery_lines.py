"""Lines of deliveries in SQL: what waits behind an earlier one stands aside, and is put back in its turn (spec 10).

A row that stands aside has no ``due_at``, so that claims and looks meet each waiting row once and not every time.
Claims put aside; whatever settles a row hands over to the next of its line, in the same transaction. So that none
stays aside for ever:

- A claim locks an earlier row of the line before it puts one aside, and passes over a row that is locked: whoever
  settles it comes afterwards and sees what stands aside.
- Whoever settles a row hands over to the next one of the line that is surely open, whatever stands before: it waits
  for the lock of the next one, and looks again if that was settled meanwhile. So there is a chain of hand-overs from
  the locked row to each that stands aside.
- One that is put back too early is put aside again: a claim looks at the line anyway.

Housekeeping puts back what stands aside behind nothing: a backup, or a hand, may have taken what it waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Table,
    Text,
    Update,
    and_,
    bindparam,
    literal,
    or_,
    select,
    true,
    update,
)

from webapp.engine.notifications.model import OPEN_STATES
from webapp.engine.ports.stores import Partition
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant
from webapp.stores.sql.queries import of_tenant
from webapp.stores.sql.tables import SETS, TableSet

Key = tuple[Partition, str]
"""The tenant and the id of a delivery."""


@lru_cache(maxsize=2)
def _earlier(table: Table) -> FromClause:
    return table.alias("earlier")


def _precedes(one: FromClause, other: FromClause) -> ColumnElement[bool]:
    """Return the condition that one row stands before another of the same line; the first part goes by the index."""
    same = one.c.tenant_id == other.c.tenant_id if "tenant_id" in one.c else true()
    place = and_(one.c.sequence <= other.c.sequence, or_(one.c.sequence < other.c.sequence, one.c.id < other.c.id))
    return and_(same, place)


def before(table: Table, *conditions: ColumnElement[bool], row: FromClause | None = None) -> ColumnElement[bool]:
    """Return the condition that something before the row in its line is open or dead; an index look-up."""
    one, outer = _earlier(table), table if row is None else row
    blocks = (one.c.open_line == outer.c.line, _precedes(one, outer), *conditions)
    return select(literal(1)).select_from(one).where(*blocks).exists()


def _is_apart(one: FromClause, outer: FromClause) -> ColumnElement[bool]:
    """Return the condition that two rows do not go out as one message.

    Spelled without NOT: for rows without a bundle that would be neither true nor false.
    """
    return or_(outer.c.bundle.is_(None), one.c.bundle.is_(None), one.c.bundle != outer.c.bundle)


def waits(table: Table, *, joins: bool = False, row: FromClause | None = None) -> ColumnElement[bool]:
    """Return the condition that the row waits for one before it that does not go now with the same bundle.

    *joins*: what the token has claimed already goes now.
    """
    one, outer, now = _earlier(table), table if row is None else row, bindparam("p_now", type_=Instant())
    held = one.c.claimed_until > now
    if joins:
        held = and_(held, one.c.claim_token != bindparam("p_token", type_=Text()))
    return before(table, or_(_is_apart(one, outer), one.c.due_at.is_(None), one.c.due_at > now, held), row=row)


def of_tenants(table: Table) -> ColumnElement[bool]:
    """Return the condition that the row is of one of the tenants ``:p_tenants``: ids alone go by no index."""
    return table.c.tenant_id.in_(bindparam("p_tenants", expanding=True)) if "tenant_id" in table.c else true()


def chosen(tables: TableSet, keys: Iterable[Key], **values: Any) -> dict[str, Any]:
    """Return the parameters of a statement over chosen rows of any tenants."""
    found = list(keys)
    tenants = {"p_tenants": sorted({tenant or "" for tenant, _ in found})} if tables.tenant else {}
    return {"p_ids": [one for _, one in found], **tenants, **values}


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table = tables.deliveries
        self._table = table
        self._tenant = table.c.tenant_id if tables.tenant else literal(None, Text()).label("tenant_id")
        self.chosen = (of_tenants(table), table.c.id.in_(bindparam("p_ids", expanding=True)))
        # Not a dead one: it waits for somebody, not for its line.
        self.aside = (table.c.due_at.is_(None), table.c.state.in_([state.value for state in OPEN_STATES]))
        self.waiting = select(self._tenant, table.c.id, self._blocking()).where(*self.chosen, waits(table))
        self.locked = (
            select(self._tenant, table.c.id)
            .where(*self.chosen, table.c.open_line.is_not(None))
            .with_for_update(skip_locked=True, of=table)
        )
        self.put_aside = update(table).where(*self.chosen).values(due_at=None)
        self.following = self._following()
        self.next = (
            select(*(table.c[name] for name in ("id", "line", "bundle", "due_at")))
            .where(of_tenant(table), self.chosen[1], table.c.open_line.is_not(None))
            .order_by(table.c.id)
            .with_for_update(of=table)
        )
        back = update(table).values(due_at=table.c.next_attempt_at)
        self.put_back: Update = back.where(*self.chosen, *self.aside)
        bundle = (
            table.c.open_line == bindparam("p_line", type_=Text()),
            table.c.bundle == bindparam("p_bundle", type_=Text()),
        )
        self.put_back_bundle: Update = back.where(of_tenant(table), *bundle, *self.aside)
        apart = before(table, _is_apart(_earlier(table), table))
        self.stranded = (
            select(self._tenant, table.c.id)
            .where(of_tenant(table), table.c.open_line.is_not(None), *self.aside, ~apart)
            .limit(bindparam("p_limit"))
        )

    def _blocking(self) -> ColumnElement[Any]:
        """Return the id of a row before one that is not of its bundle, None where there is none."""
        table, one = self._table, _earlier(self._table)
        # No order: one database would sort the whole line, and any will do.
        found = select(one.c.id).where(one.c.open_line == table.c.line, _precedes(one, table), _is_apart(one, table))
        return found.limit(1).scalar_subquery().label("blocking")

    def _following(self) -> Select[*tuple[Any, ...]]:
        """Return the statement for the ids of what is open and comes next in the lines of chosen rows."""
        table = self._table
        gone, one = table.alias("gone"), table.alias("one")
        of_gone = gone.c.tenant_id == bindparam("p_tenant") if "tenant_id" in table.c else true()
        next_id = (
            select(one.c.id)
            .where(one.c.open_line == gone.c.line, _precedes(gone, one))
            .order_by(one.c.sequence, one.c.id)
            .limit(1)
            .scalar_subquery()
            .label("id")
        )
        nexts = select(next_id).where(of_gone, gone.c.id.in_(bindparam("p_ids", expanding=True))).subquery("nexts")
        return select(nexts.c.id).where(nexts.c.id.is_not(None)).distinct()


_STATEMENTS = {tables.tenant: Statements(tables) for tables in SETS}


def key_of(row: Mapping[str, Any]) -> Key:
    """Return the key of a row that was read."""
    return row.get("tenant_id"), row["id"]


def put_aside(transaction: Transaction, tables: TableSet, rows: Sequence[Mapping[str, Any]], now: datetime) -> set[Key]:
    """Return which of the rows wait for an earlier one; of these, those that are sure of their turn are put aside.

    The transaction holds the rows' locks.
    """
    if not rows:
        return set()
    own, known = _STATEMENTS[tables.tenant], {key_of(row) for row in rows}
    found = transaction.mappings(own.waiting, chosen(tables, known, p_now=now))
    waiting = {key_of(row): (row.get("tenant_id"), row["blocking"]) for row in found if key_of(row) in known}
    blocking = sorted({one for one in waiting.values() if one[1] is not None}, key=lambda one: (one[0] or "", one[1]))
    if blocking:
        held = {key_of(row) for row in transaction.mappings(own.locked, chosen(tables, blocking))}
        aside = [one for one, earlier in waiting.items() if earlier in held]
        if aside:
            transaction.write(own.put_aside, chosen(tables, aside))
    return set(waiting)


def hand_over(transaction: Transaction, partition: Partition, settled_ids: Sequence[str]) -> None:
    """Put back what comes next in the lines of deliveries that this transaction has settled."""
    own = _STATEMENTS[partition is not None]
    while True:
        nexts = [row[0] for row in transaction.rows(own.following, scope(partition, p_ids=list(settled_ids)))]
        if not nexts:
            return
        found = transaction.mappings(own.next, scope(partition, p_ids=nexts))
        if len(found) == len(nexts):
            break
        # Another transaction has settled one of them meanwhile: what comes after it is the next one now.
    aside = [row for row in found if row["due_at"] is None]
    _put_back(transaction, partition, [(partition, row["id"]) for row in aside])
    for line, bundle in sorted({(row["line"], row["bundle"]) for row in found if row["bundle"] is not None}):
        transaction.write(own.put_back_bundle, scope(partition, p_line=line, p_bundle=bundle))


def put_back_stranded(transaction: Transaction, partition: Partition, limit: int) -> int:
    """Put back at most *limit* deliveries that stand aside behind nothing; return their number."""
    statement = _STATEMENTS[partition is not None].stranded
    found = transaction.mappings(statement, scope(partition, p_limit=limit))
    return _put_back(transaction, partition, [(partition, row["id"]) for row in found])


def _put_back(transaction: Transaction, partition: Partition, keys: Sequence[Key]) -> int:
    if not keys:
        return 0
    tables = next(one for one in SETS if one.tenant == (partition is not None))
    return transaction.write(_STATEMENTS[tables.tenant].put_back, chosen(tables, keys)).rowcount
