"""Lists of a million rows: indexes that hold a list's whole order, and the index of keywords by bigrams.

Revision: 0005
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

BOUNDED = mysql.VARCHAR(255, collation="utf8mb4_nopad_bin")
AGE = ("created_at", "sequence", "id")
TASK = "kind = 'UserTask'"
SEARCHED = {"bookmarks": ("search_title", "search_instance_text"), "instances": ("search_text",)}
BATCH = 1_000

BIGRAMS = r"""
CREATE OR REPLACE FUNCTION waypost_bigrams(VARIADIC fields text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 AS $$
DECLARE
    joined text := array_to_string(fields, chr(31));
    parted text := '\1' || chr(31);
BEGIN
    RETURN array_remove(string_to_array(
        regexp_replace(joined, '(..)', parted, 'g') || chr(31)
        || regexp_replace(substr(joined, 2), '(..)', parted, 'g'),
        chr(31)
    ), '');
END $$"""

STATISTICS = {
    "definitions_name_status_version": (500, (125, 3, 2, 1)),
    "instances_newest": (100_000, (25_000, 1, 1, 1, 1, 1)),
    "instances_starter_id_created_at_sequence_id": (100_000, (25_000, 50, 1, 1, 1)),
    "instances_status": (100_000, (25_000, 6_250, 1, 1, 1, 1)),
    "instances_definition_name_status_definition_id": (100_000, (25_000, 500, 125, 31)),
    "bookmarks_key_kind_created_at": (10_000, (2, 1, 1)),
    "bookmarks_inbox": (20_000, (5_000, 4, *[1] * 10)),
    "bookmarks_tasks": (20_000, (5_000, 1_250, 1, 1, 1, 1, 1, 1)),
    "bookmarks_tasks_due": (10_000, (2_500, 1, 1, 1, 1, 1, 1)),
    "task_records_done": (100_000, (25_000, 50, 1, 1, 1, 1, 1)),
}
"""Rows of each index, and how many a value of each more column leads to, as far as SQLite has to be told."""


class _Set:
    """The tables of tenants, or their twins of the platform."""

    def __init__(self, *, tenant: bool) -> None:
        self.tenant = tenant
        self.prefix = "" if tenant else "platform_"
        self.is_sqlite = op.get_bind().dialect.name == "sqlite"

    def key(self, *columns: str) -> list[str]:
        return ["tenant_id", *columns] if self.tenant else [*columns]

    def drop(self, name: str, *columns: str) -> None:
        self._drop(name, f"ix_{self.prefix}{name}_{'_'.join(columns)}")

    def drop_by_tenant(self, name: str, *columns: str) -> None:
        self.drop(name, *self.key(*columns))

    def _drop(self, name: str, index: str) -> None:
        op.drop_index(index, self.prefix + name)
        if self.is_sqlite:
            op.get_bind().exec_driver_sql("DELETE FROM sqlite_stat1 WHERE idx = ?", (index,))

    def index(self, name: str, *columns: str, by_tenant: bool = True, where: str | None = None) -> None:
        names = self.key(*columns) if by_tenant else [*columns]
        index = f"ix_{self.prefix}{name}_{'_'.join(names)}"
        self._create(name, index, names, (), where)
        self._tell(name, index, "_".join(columns), by_tenant=by_tenant)

    def covering(
        self, name: str, short: str, columns: Sequence[str], shown: Sequence[str], where: str | None = None
    ) -> None:
        index = f"ix_{self.prefix}{name}_{short}"
        self._create(name, index, self.key(*columns), shown, where)
        self._tell(name, index, short, by_tenant=True)

    def _create(self, name: str, index: str, by: Sequence[str], shown: Sequence[str], where: str | None) -> None:
        condition = None if where is None else sa.text(where)
        columns = [*by, *shown] if self.is_sqlite else [*by]
        op.create_index(
            index,
            self.prefix + name,
            columns,
            sqlite_where=condition,
            postgresql_where=condition,
            postgresql_include=list(shown),
        )

    def _tell(self, name: str, index: str, short: str, *, by_tenant: bool) -> None:
        """Tell SQLite what the index will be like; without it plans are blind guesses."""
        if self.is_sqlite:
            rows, numbers = STATISTICS[f"{name}_{short}"]
            told = numbers if self.tenant or not by_tenant else numbers[1:]
            values = (self.prefix + name, index, " ".join(map(str, (rows, *told))))
            op.get_bind().exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", values)


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute(BIGRAMS)
    for tenant in (True, False):
        tables = _Set(tenant=tenant)
        _definitions(tables)
        _instances(tables)
        _bookmarks(tables, dialect)
        _task_records(tables)
        for name in SEARCHED:
            if dialect == "postgresql":
                _words_of_postgresql(tables, name)
            elif dialect == "sqlite":
                _words_of_sqlite(tables, name)
    if dialect == "sqlite":
        # Reads them again, or this connection would not use them.
        op.get_bind().exec_driver_sql("ANALYZE sqlite_schema")


def _definitions(tables: _Set) -> None:
    tables.index("definitions", "name", "status", "version")


def _instances(tables: _Set) -> None:
    for column in ((), ("starter_id",), ("status",)):
        tables.drop_by_tenant("instances", *column, "created_at")
    tables.covering("instances", "newest", AGE, ["status", "parent_instance_id"])
    tables.covering("instances", "status", ["status", *AGE], ["parent_instance_id"])
    tables.index("instances", "starter_id", *AGE)
    tables.drop_by_tenant("instances", "status", "definition_name")
    tables.index("instances", "definition_name", "status", "definition_id")


def _bookmarks(tables: _Set, dialect: str) -> None:
    joined = {
        "sqlite": "search_title || char(31) || search_instance_text",
        "postgresql": "search_title || chr(31) || search_instance_text",
        "mariadb": "concat_ws(char(31 USING utf8mb4), search_title, search_instance_text)",
    }[dialect]
    brief = f"CASE WHEN length(search_title) + length(search_instance_text) <= 180 THEN {joined} END"
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql").with_variant(BOUNDED, "mariadb")
    # SQLite adds no stored column to a table that is there; it computes this one for the index alone.
    stored = None if dialect == "sqlite" else True
    op.add_column(
        f"{tables.prefix}bookmarks",
        sa.Column("search_brief", text, sa.Computed(brief, persisted=stored), nullable=True),
    )
    tables.drop("bookmarks", "key", "kind", "created_at")
    tables.index("bookmarks", "key", "kind", "created_at", by_tenant=False, where="kind != 'UserTask'")
    state = ("instance_status", "available_at")
    shown = (*state, "claimed_by", "claimable", "task_due_at", "priority", "search_brief")
    tables.covering("bookmarks", "inbox", ["key", *AGE], shown, TASK)
    tables.covering("bookmarks", "tasks", ["priority", *AGE], [*state, "definition_name"], TASK)
    tables.covering("bookmarks", "tasks_due", ["task_due_at", *AGE], state, f"{TASK} AND task_due_at IS NOT NULL")


def _task_records(tables: _Set) -> None:
    tables.drop("task_records", "actor_id", "ended_at")
    order = ["actor_id", "ended_at", "sequence", "task_id", "round"]
    tables.covering("task_records", "done", order, ["end_reason"], "actor_id IS NOT NULL")


def _words_of_postgresql(tables: _Set, name: str) -> None:
    table = tables.prefix + name
    where = f" WHERE {TASK}" if name == "bookmarks" else ""
    op.execute(
        f"CREATE INDEX ix_{table}_words ON {table} USING gin (waypost_bigrams({', '.join(SEARCHED[name])})) "
        f"WITH (gin_pending_list_limit = 1024){where}"
    )


def _words_of_sqlite(tables: _Set, name: str) -> None:
    source, columns = tables.prefix + name, SEARCHED[name]
    words, is_task = f"{source}_words", name == "bookmarks"
    changed = " OR ".join(f"new.{column} IS NOT old.{column}" for column in columns)
    forget = f"DELETE FROM {words} WHERE id = old.id AND indexed = 0; UPDATE {words} SET id = NULL WHERE id = old.id;"
    note = f"INSERT INTO {words} (id, indexed) VALUES (new.id, 0);"
    new, old = ("WHEN new.kind = 'UserTask' ", "WHEN old.kind = 'UserTask' ") if is_task else ("", "")
    also = "new.kind = 'UserTask' AND " if is_task else ""
    for statement in (
        f"CREATE TABLE {words} (number INTEGER PRIMARY KEY, id TEXT UNIQUE, indexed INTEGER NOT NULL)",
        f"CREATE INDEX ix_{words}_new ON {words} (number) WHERE indexed = 0",
        f"CREATE VIRTUAL TABLE {words}_index USING fts5 (words, detail = none, columnsize = 0, tokenize = 'ascii')",
        f"CREATE TRIGGER {words}_insert AFTER INSERT ON {source} {new}BEGIN {note} END",
        f"CREATE TRIGGER {words}_delete AFTER DELETE ON {source} {old}BEGIN {forget} END",
        f"CREATE TRIGGER {words}_update AFTER UPDATE OF {', '.join(columns)} ON {source} "
        f"WHEN {also}({changed}) BEGIN {forget} {note} END",
        f"INSERT INTO {words} (id, indexed) SELECT id, 0 FROM {source}{f' WHERE {TASK}' if is_task else ''}",
    ):
        op.get_bind().exec_driver_sql(statement)
    while _take_over(source, words, columns):
        pass


def _take_over(source: str, words: str, columns: Sequence[str]) -> int:
    """Put the bigrams of a batch of rows that were there before into the index."""
    connection = op.get_bind()
    found = connection.exec_driver_sql(
        f"SELECT noted.number, {', '.join(f'row.{one}' for one in columns)} FROM {words} AS noted "
        # From what is noted to its row, never the other way.
        f"INDEXED BY ix_{words}_new CROSS JOIN {source} AS row ON row.id = noted.id WHERE noted.indexed = 0 "
        f"LIMIT {BATCH}"
    ).all()
    if found:
        connection.exec_driver_sql(
            f"INSERT INTO {words}_index (rowid, words) VALUES (?, ?)", [(n, _bigrams(fields)) for n, *fields in found]
        )
        connection.exec_driver_sql(f"UPDATE {words} SET indexed = 1 WHERE number = ?", [(n,) for n, *_ in found])
    return len(found)


_TOKENS = {code: 0xE000 + code for code in range(128) if not chr(code).isalnum()}


def _bigrams(fields: Sequence[str | None]) -> str:
    found: dict[str, None] = {}
    for part in (part for field in fields for part in (field or "").split("\x1f")):
        text = part.translate(_TOKENS)
        found |= dict.fromkeys(map("".join, pairwise(text)))
    return " ".join(found)
