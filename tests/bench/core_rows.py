"""The bare rows: what Waypost stores for a workload, written and read again by plain SQLAlchemy Core.

The rows are recorded once from what Waypost left in its own tables, then copied under new ids: the same tables, the
same columns, the same sizes, with no engine in between. Statements are built once; one a table and transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tests.bench.targets import Target
from webapp.engine.clock import SystemIds

_new_id = SystemIds().new
"""Ids that rise, as Waypost's do: random ones would spread each insert over the whole index."""

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""Table → its rows."""

_OF_AN_INSTANCE = ("instances", "node_instances", "bookmarks", "task_records", "audit")
"""The tables that the workloads write, parents first."""

_LIST_LIMIT = 50


@dataclass(frozen=True)
class Recording:
    """What an instance has left: after its start, and after its task was completed (W1, W3: the same twice)."""

    started: Rows
    ended: Rows


class Tables:
    """Waypost's tables as they are in the database, read from its catalog and not from Waypost's code."""

    def __init__(self, engine: sa.Engine, prefix: str) -> None:
        metadata = sa.MetaData()
        metadata.reflect(engine, only=[prefix + name for name in _OF_AN_INSTANCE])
        self._tables = {name: metadata.tables[prefix + name] for name in _OF_AN_INSTANCE}

    def __getitem__(self, name: str) -> sa.Table:
        return self._tables[name]

    def rows_of(self, engine: sa.Engine, instance_id: str) -> Rows:
        """Return every row of an instance."""
        found: Rows = {}
        with engine.connect() as connection:
            for name, table in self._tables.items():
                column = table.c.id if name == "instances" else table.c.instance_id
                # What the database computes itself nobody writes.
                written = [each for each in table.c if each.computed is None]
                rows = connection.execute(sa.select(*written).where(column == instance_id)).mappings()
                found[name] = [dict(row) for row in rows]
        return found


class CoreRows:
    """Runs the workloads as bare rows."""

    name = "SQLAlchemy Core"

    def __init__(self, target: Target, tables: Tables, straight: Recording, cycle: Recording, fork: Recording) -> None:
        self._engine = target.engine()
        self._tables = tables
        self._straight = Template(straight.ended)
        self._cycle = Template(cycle.started, cycle.ended)
        self._fork = Template(fork.ended)
        self._inserts = {name: sa.insert(tables[name]) for name in _OF_AN_INSTANCE}
        self._updates = {name: _update(tables[name]) for name in _OF_AN_INSTANCE}
        self._deletes = {name: _delete(tables[name]) for name in _OF_AN_INSTANCE}
        self._reads = _Reads(tables)

    def straight(self) -> None:
        """W1: the rows of an instance that ran ten nodes, in one transaction."""
        self._write(self._straight)

    def fork(self) -> None:
        """W3: the rows of an instance that forked and joined, in one transaction."""
        self._write(self._fork)

    def cycle(self) -> None:
        """W2: the rows of a start; a page of the inbox and its total; the reads and rows of a completion."""
        started, ended = self._cycle.copies()
        with self._engine.begin() as connection:
            for name, items in started.items():
                connection.execute(self._inserts[name], items)
        (task,) = started["bookmarks"]
        with self._engine.connect() as connection:
            connection.execute(self._reads.inbox, {"who": task["key"]}).all()
            connection.execute(self._reads.total, {"who": task["key"]}).scalar_one()
        with self._engine.connect() as connection:
            connection.execute(self._reads.bookmark, {"which": task["id"]}).one()
            for statement in self._reads.of_instance:
                connection.execute(statement, {"which": task["instance_id"]}).all()
        with self._engine.begin() as connection:
            self._write_difference(connection, started, ended)

    def close(self) -> None:
        """Let the connections go."""
        self._engine.dispose()

    def _write(self, template: Template) -> None:
        (rows,) = template.copies()
        with self._engine.begin() as connection:
            for name, items in rows.items():
                connection.execute(self._inserts[name], items)

    def _write_difference(self, connection: sa.Connection, before: Rows, after: Rows) -> None:
        for name in _OF_AN_INSTANCE:
            keys = [column.name for column in self._tables[name].primary_key]
            old = {tuple(row[key] for key in keys): row for row in before.get(name, [])}
            new = {tuple(row[key] for key in keys): row for row in after.get(name, [])}
            added = [row for key, row in new.items() if key not in old]
            changed = [_bound(row) for key, row in new.items() if key in old and old[key] != row]
            gone = [_bound(row) for key, row in old.items() if key not in new]
            for statement, parameters in (
                (self._inserts[name], added),
                (self._updates[name], changed),
                (self._deletes[name], gone),
            ):
                if parameters:
                    connection.execute(statement, parameters)


class _Reads:
    """The statements that read: an inbox page with its total, and what a completion needs."""

    def __init__(self, tables: Tables) -> None:
        mark, node, instance = tables["bookmarks"].c, tables["node_instances"].c, tables["instances"].c
        mine = sa.and_(mark.kind == "UserTask", mark.key == sa.bindparam("who"), mark.instance_status == "Running")
        shown = [mark.id, mark.instance_id, mark.title, mark.instance_title, mark.definition_title, mark.created_at]
        order = (mark.created_at, mark.sequence, mark.id)
        self.inbox = sa.select(*shown).where(mine).order_by(*order).limit(_LIST_LIMIT)
        self.total = sa.select(sa.func.count()).select_from(tables["bookmarks"]).where(mine)
        self.bookmark = sa.select(mark.instance_id, mark.document).where(mark.id == sa.bindparam("which"))
        which: sa.BindParameter[str] = sa.bindparam("which")
        self.of_instance = (
            sa.select(instance.document, instance.revision).where(instance.id == which),
            sa.select(node.document).where(node.instance_id == which, node.status.in_(["Running", "Suspended"])),
            sa.select(mark.document).where(mark.instance_id == which).order_by(mark.created_at, mark.sequence),
        )


def _update(table: sa.Table) -> sa.Update:
    keys = set(table.primary_key)
    values: dict[str, sa.BindParameter[Any]] = {
        column.name: sa.bindparam(f"b_{column.name}") for column in table.columns if column not in keys
    }
    return sa.update(table).where(*_is_row(table)).values(values)


def _delete(table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(*_is_row(table))


def _is_row(table: sa.Table) -> list[sa.ColumnElement[bool]]:
    return [column == sa.bindparam(f"b_{column.name}") for column in table.primary_key]


def _bound(row: Row) -> Row:
    return {f"b_{name}": value for name, value in row.items()}


class Template:
    """Recorded rows that are copied quickly under new ids, so that copying is no cost of the baseline."""

    def __init__(self, *recorded: Rows) -> None:
        self._ids = list(dict.fromkeys(old for rows in recorded for old in _ids(rows)))
        known = set(self._ids)
        self._rows = [
            {
                name: [
                    (row, [(key, value) for key, value in row.items() if isinstance(value, str) and value in known])
                    for row in items
                ]
                for name, items in rows.items()
                if items
            }
            for rows in recorded
        ]

    def copies(self) -> list[Rows]:
        """Return a copy of each of the recorded rows, all under the same new ids."""
        new = {old: _new_id() for old in self._ids}
        return [
            {
                name: [{**row, **{key: new[old] for key, old in places}} for row, places in items]
                for name, items in rows.items()
            }
            for rows in self._rows
        ]


def _ids(rows: Rows) -> Iterable[str]:
    for name, items in rows.items():
        for row in items:
            yield row["task_id"] if name == "task_records" else row["id"]
