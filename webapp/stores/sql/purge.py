"""Purging in SQL: whole ended trees with everything that hangs on them, the audit trail excepted (spec 3.20, 8.10).

Every statement goes by an index that was made for it, and every one that deletes is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from msgspec import structs
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Delete,
    Select,
    Table,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    tuple_,
    union_all,
    update,
)

from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.purge import (
    PurgeBacklog,
    Purged,
    PurgePick,
    PurgePlace,
    PurgeRun,
    PurgeTree,
    PurgeWish,
    TreeSize,
)
from webapp.engine.ports.stores import Partition
from webapp.stores.purging import LOOKED, Tree, choose
from webapp.stores.rows import of_table, pick, purgeable
from webapp.stores.sql.chunks import delete_some
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.deliveries import SqlDeliveries, is_settled
from webapp.stores.sql.dialects import Instant, upsert
from webapp.stores.sql.queries import of_tenant
from webapp.stores.sql.savepoints import SqlSavepoint
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

MARKS_AT_ONCE = 200
DELIVERIES_AT_ONCE = 1_000
RETENTION = "retention"
_BEGINNING = PurgePlace(datetime(1970, 1, 1, tzinfo=UTC), -1, "")
_LOCKED_OUT = -1
"""The revision of a child of a marked tree that could else be operated on: no command has read it."""


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        self._tables = tables
        table, marks = tables.instances, tables.purge_marks
        before = bindparam("p_before", type_=Instant())
        self._limit: BindParameter[int] = bindparam("p_limit")
        self._ids: BindParameter[Any] = bindparam("p_ids", expanding=True)
        is_child = table.c.parent_instance_id.is_not(None)
        ended_root = (
            table.c.status == bindparam("p_status"),
            table.c.ended_at <= before,
            table.c.parent_instance_id.is_(None),
            of_tenant(table),
        )
        self.roots, self.roots_of = self._roots(*ended_root)
        some = select(literal(1)).select_from(table).where(*ended_root).limit(self._limit).subquery()
        self.count_roots: Select[Any] = select(func.count()).select_from(some)
        self.oldest = select(table.c.ended_at).where(*ended_root).order_by(table.c.ended_at).limit(1)
        in_trees = (is_child, table.c.root_instance_id.in_(self._ids), of_tenant(table))
        members: BindParameter[Any] = bindparam("p_members", expanding=True)
        lives = or_(table.c.status.not_in(members), table.c.ended_at > before)
        self.families: Select[Any] = (
            select(table.c.root_instance_id, func.count(), func.sum(case((lives, 1), else_=0)))
            .where(*in_trees)
            .group_by(table.c.root_instance_id)
        )
        # Locked, so that what runs again at this moment stays: its row is looked at anew, or its writer finds it gone.
        self.lock_roots: Select[Any] = (
            select(table.c.id)
            .where(
                table.c.id.in_(self._ids),
                table.c.status.in_(bindparam("p_statuses", expanding=True)),
                table.c.ended_at <= before,
                of_tenant(table),
            )
            .order_by(table.c.id)
            .with_for_update(skip_locked=True)
        )
        self.lock_children: Select[Any] = (
            select(table.c.id, table.c.root_instance_id, table.c.status, table.c.ended_at)
            .where(*in_trees)
            .order_by(table.c.id)
            .with_for_update()
        )
        self.lock_out = (
            update(table).where(*in_trees, table.c.status == InstanceStatus.FAULTED.value).values(revision=_LOCKED_OUT)
        )
        self.some_children = select(table.c.id).where(*in_trees).limit(self._limit)
        self.delete_instances: Delete = delete(table).where(table.c.id.in_(self._ids), of_tenant(table))
        # What people see goes first.
        self.details = (
            tables.notices,
            tables.task_records,
            tables.task_copies,
            tables.bookmarks,
            tables.node_instances,
        )
        self.count_own, self.count_of_children = self._counts(in_trees)
        self.deletes = [delete(one).where(one.c.instance_id.in_(self._ids), of_tenant(one)) for one in self.details]
        self.delete_parts = [delete_some(one, one.c.instance_id.in_(self._ids), of_tenant(one)) for one in self.details]
        self.mark = insert(marks)
        self.marks = (
            select(marks.c.id, marks.c.has_children)
            .where(of_tenant(marks))
            .order_by(marks.c.marked_at, marks.c.id)
            .limit(self._limit)
        )
        self.unmark: Delete = delete(marks).where(marks.c.id.in_(self._ids), of_tenant(marks))
        marked = select(literal(1)).select_from(marks).where(of_tenant(marks)).limit(self._limit).subquery()
        self.count_marks: Select[Any] = select(func.count()).select_from(marked)
        runs = tables.purge_runs
        self.last_run = select(*runs.c).where(runs.c.name == RETENTION, of_tenant(runs))
        self.save_run = upsert(dialect, runs)

    def _roots(self, *conditions: ColumnElement[bool]) -> tuple[Select[Any], Select[Any]]:
        """Return the query of ended roots of one status behind a place, and that of one definition's."""
        table = self._tables.instances
        place = (table.c.ended_at, table.c.sequence, table.c.id)
        after = bindparam("p_after_at", type_=Instant())
        behind = tuple_(*place) > tuple_(after, bindparam("p_after_sequence"), bindparam("p_after_id"))
        # The first condition says nothing new, but every database goes to that place of its index by it.
        roots = select(*place).where(table.c.ended_at >= after, behind, *conditions).order_by(*place).limit(self._limit)
        return roots, roots.where(table.c.definition_name == bindparam("p_definition_name"))

    def _counts(self, in_trees: Sequence[ColumnElement[bool]]) -> tuple[Any, Any]:
        """Return the queries of how many rows hang on roots, and on the children of roots."""
        child, sent = self._tables.instances, self._tables.deliveries
        hanging: dict[Table, ColumnElement[bool]] = {**dict.fromkeys(self.details, true()), sent: is_settled(sent)}
        own = [
            select(one.c.instance_id, func.count())
            .where(one.c.instance_id.in_(self._ids), of_tenant(one), condition)
            .group_by(one.c.instance_id)
            for one, condition in hanging.items()
        ]
        of_children = [
            select(child.c.root_instance_id, func.count())
            .select_from(child.join(one, one.c.instance_id == child.c.id))
            .where(*in_trees, of_tenant(one), condition)
            .group_by(child.c.root_instance_id)
            for one, condition in hanging.items()
        ]
        return union_all(*own), union_all(*of_children)


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


class SqlPurge:
    """Deletes what is over."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def pick(
        self, partition: Partition, wish: PurgeWish, *, trees: int, rows: int, after: PurgePlace | None = None
    ) -> PurgePick:
        """Look for trees, the oldest end first; only reads."""
        places, at_end = self._roots(partition, wish, after or _BEGINNING, min(trees, LOOKED))
        if not places:
            return PurgePick()
        ids = [place.id for place in places]
        families = self._families(partition, wish, ids)
        sizes = self._sizes(partition, ids, list(families))
        found = [
            Tree(place, children=(family := families.get(place.id, (0, 0)))[0], living=family[1], rows=sizes[place.id])
            for place in places
        ]
        return choose(found, rows=rows, at_end=at_end)

    def take(self, partition: Partition, trees: Sequence[PurgeTree], wish: PurgeWish, now: datetime) -> Purged:
        """Delete the trees, or mark them; one that has changed meanwhile stays."""
        if not trees:
            return Purged()
        own, statuses = self._of(partition), [status.value for status in wish.statuses]
        roots = [tree.root_id for tree in trees]
        parameters = scope(partition, p_ids=roots, p_statuses=statuses, p_before=wish.before)
        there = set(self._transaction.read(own.lock_roots, parameters).scalars())
        whole, marked, wide = (
            [tree.root_id for tree in trees if tree.size is size and tree.root_id in there] for size in TreeSize
        )
        wide = [root for root in wide if self._lock_family_out(partition, root, wish)]
        whole, marked = (self._members(partition, group, wish) for group in (whole, marked))
        rows = self._delete_details(partition, whole)
        self._mark(partition, marked, now)
        self._mark(partition, wide, now, has_children=True)
        ids = [*whole, *marked, *wide]
        self._delete_instances(partition, ids)
        return Purged(len(ids), rows + len(ids))

    def sweep(self, partition: Partition, rows: int, now: datetime) -> Purged:
        """Delete about *rows* rows of what is marked, the oldest mark first."""
        own = self._of(partition)
        found = self._transaction.read(own.marks, scope(partition, p_limit=MARKS_AT_ONCE)).all()
        if not found:
            return Purged()
        ids, left = [row[0] for row in found], rows
        for statement in own.delete_parts:
            left -= self._transaction.write(statement, scope(partition, p_ids=ids, p_limit=left)).rowcount
            if left <= 0:
                return Purged(0, rows)
        left -= SqlDeliveries(self._transaction).purge_of(partition, ids, left)
        if left <= 0:
            return Purged(0, rows)
        wide = [row[0] for row in found if row[1]]
        children = self._some_children(partition, wide, max(1, left // 2))
        self._mark(partition, children, now)
        self._delete_instances(partition, children)
        # Nothing hangs on them any more; a wide tree's mark stays until all its children have marks of their own.
        over = [one for one in ids if not (children and one in wide)]
        self._transaction.write(own.unmark, scope(partition, p_ids=over))
        return Purged(len(children), rows - left + len(children) + len(over))

    def backlog(self, partition: Partition, wish: PurgeWish, most: int) -> PurgeBacklog:
        """Return what waits, counted up to *most* each."""
        own, trees = self._of(partition), 0
        oldest: list[datetime] = []
        for status in wish.statuses:
            parameters = scope(partition, p_status=status.value, p_before=wish.before)
            trees += self._transaction.read(own.count_roots, {**parameters, "p_limit": most}).scalar_one()
            oldest += self._transaction.read(own.oldest, parameters).scalars()
        marked = self._transaction.read(own.count_marks, scope(partition, p_limit=most)).scalar_one()
        return PurgeBacklog(trees=min(most, trees), oldest=min(oldest, default=None), marked=marked)

    def last_run(self, partition: Partition) -> PurgeRun | None:
        """Return the partition's last run, or None."""
        row = self._transaction.read(self._of(partition).last_run, scope(partition)).mappings().first()
        return None if row is None else pick(PurgeRun, row)

    def note(self, partition: Partition, run: PurgeRun) -> None:
        """Store how far a run has come."""
        row = {"tenant_id": partition, "name": RETENTION, **structs.asdict(run)}
        self._transaction.write(self._of(partition).save_run, of_table(partition, row))

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)

    def _roots(
        self, partition: Partition, wish: PurgeWish, after: PurgePlace, limit: int
    ) -> tuple[list[PurgePlace], bool]:
        """Return the next roots that have ended, and whether there are no others behind them."""
        own = self._of(partition)
        query, name = (own.roots, {}) if wish.definition_name is None else (own.roots_of, _name(wish))
        place = {"p_after_at": after.ended_at, "p_after_sequence": after.sequence, "p_after_id": after.id}
        found: list[PurgePlace] = []
        # A query for each status: so the index gives them in their order, and those of other statuses aren't met.
        for status in wish.statuses:
            asked = scope(partition, p_status=status.value, p_before=wish.before, p_limit=limit, **place, **name)
            found += (PurgePlace(*row) for row in self._transaction.read(query, asked))
        found.sort(key=lambda one: (one.ended_at, one.sequence, one.id))
        return found[:limit], len(found) < limit

    def _families(self, partition: Partition, wish: PurgeWish, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return how many descendants roots have, and how many of these may not go; roots without any are not in it."""
        asked = scope(partition, p_ids=ids, p_before=wish.before, p_members=list(purgeable(wish.statuses)))
        found = self._transaction.read(self._of(partition).families, asked)
        return {row[0]: (int(row[1]), int(row[2])) for row in found}

    def _sizes(self, partition: Partition, ids: Sequence[str], parents: Sequence[str]) -> Counter[str]:
        """Return how many rows hang on the instances of each tree."""
        sizes: Counter[str] = Counter()
        own = self._of(partition)
        for query, roots in ((own.count_own, ids), (own.count_of_children, parents)):
            if roots:
                for root, count in self._transaction.read(query, scope(partition, p_ids=list(roots))):
                    sizes[root] += count
        return sizes

    def _members(self, partition: Partition, roots: Sequence[str], wish: PurgeWish) -> list[str]:
        """Return the ids of the instances of trees that may go, locked."""
        if not roots:
            return []
        found = self._transaction.read(self._of(partition).lock_children, scope(partition, p_ids=list(roots))).all()
        statuses = purgeable(wish.statuses)
        alive = {root for _, root, status, ended in found if status not in statuses or ended > wish.before}
        return [
            *(root for root in roots if root not in alive),
            *(child for child, root, *_ in found if root not in alive),
        ]

    def _lock_family_out(self, partition: Partition, root: str, wish: PurgeWish) -> bool:
        """Keep every command away from a wide tree's children; False: one of them may not go, nothing was done."""
        savepoint, ids = SqlSavepoint(self._transaction), scope(partition, p_ids=[root])
        if InstanceStatus.FAULTED in wish.statuses:
            self._transaction.write(self._of(partition).lock_out, ids)
        _, living = self._families(partition, wish, [root]).get(root, (0, 0))
        if living:
            savepoint.undo()
            return False
        savepoint.keep()
        return True

    def _some_children(self, partition: Partition, roots: Sequence[str], limit: int) -> list[str]:
        if not roots:
            return []
        asked = scope(partition, p_ids=list(roots), p_limit=limit)
        return list(self._transaction.read(self._of(partition).some_children, asked).scalars())

    def _mark(self, partition: Partition, ids: Iterable[str], now: datetime, *, has_children: bool = False) -> None:
        rows = [
            of_table(partition, {"tenant_id": partition, "id": one, "has_children": has_children, "marked_at": now})
            for one in ids
        ]
        if rows:
            self._transaction.write(self._of(partition).mark, rows)

    def _delete_details(self, partition: Partition, ids: Sequence[str]) -> int:
        if not ids:
            return 0
        asked, deliveries = scope(partition, p_ids=list(ids)), SqlDeliveries(self._transaction)
        rows = sum(self._transaction.write(statement, asked).rowcount for statement in self._of(partition).deletes)
        while found := deliveries.purge_of(partition, ids, DELIVERIES_AT_ONCE):
            rows += found
        return rows

    def _delete_instances(self, partition: Partition, ids: Sequence[str]) -> None:
        if ids:
            self._transaction.write(self._of(partition).delete_instances, scope(partition, p_ids=list(ids)))


def _name(wish: PurgeWish) -> dict[str, str | None]:
    return {"p_definition_name": wish.definition_name}
