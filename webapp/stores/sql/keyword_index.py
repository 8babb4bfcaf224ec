"""The index of keywords by bigrams (spec 8.10): what it is made of in each database, how it is kept, how it is asked.

PostgreSQL has an expression that gives a row's bigrams, in a GIN index: the server keeps it. SQLite has a full-text
table of bigrams; writing to it costs more than a whole command, so triggers note in a table of their own which rows are
new or gone, and now and then a command takes a batch of them over (:class:`Upkeep`). What is not taken over yet is
looked through besides. MariaDB has none and looks through the rows. The index only proposes rows: each is compared
literally afterwards (spec 8.5).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ARRAY,
    DDL,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    Select,
    Table,
    Text,
    bindparam,
    event,
    func,
    select,
    table,
    union_all,
)
from sqlalchemy import column as sql_column
from sqlalchemy import literal_column as literal
from sqlalchemy.exc import DatabaseError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from webapp.engine.ports.stores import StoreFailure
from webapp.stores.keywords import SEPARATOR
from webapp.stores.sql.dialects import MARIADB, POSTGRESQL, SQLITE, limited

if TYPE_CHECKING:
    from webapp.stores.sql.database import Transaction

log = logging.getLogger("waypost.stores")

BRIEF = 180
"""So many characters of search text stand in the inbox index; PostgreSQL bounds the size of an index's entry."""

BIGRAMS_FUNCTION = r"""
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
"""PostgreSQL's bigrams of some fields, those from odd places and those from even ones; what is cut in two at the
separator is no bigram and never asked for. So dear that no plan calls it for a row that an index has not found."""

PENDING_KILOBYTES = 1024
"""How much PostgreSQL lets wait before it takes new rows over into the index; a search reads all that waits."""

TAKEN_AT_ONCE = 256
"""Rows that SQLite's index takes over together."""

_LOOKED_AFTER_EVERY = 64
_PAUSED_FOR = 4_096
"""So many commands after a failure it is tried again, and told again."""

REMEDY = "flask --app webapp db reindex makes it anew"

_MANY = 5_000


class brief(FunctionElement[str]):
    """The searched fields of a row in one short text, null if they are long; given by the names of two columns."""

    inherit_cache = True
    name = "brief"

    def __init__(self, *names: str) -> None:
        super().__init__(*(sql_column(name) for name in names))


@compiles(brief)
def _brief(element: brief, compiler: SQLCompiler, **options: Any) -> str:
    names = [compiler.process(one, **options) for one in element.clauses]
    lengths = " + ".join(f"length({name})" for name in names)
    if compiler.dialect.name == MARIADB:
        joined = f"concat_ws(char(31 USING utf8mb4), {', '.join(names)})"
    else:
        joined = (" || chr(31) || " if compiler.dialect.name == POSTGRESQL else " || char(31) || ").join(names)
    return f"CASE WHEN {lengths} <= {BRIEF} THEN {joined} END"


def index_words(source: Table, *columns: str, where: ColumnElement[bool] | None = None) -> None:
    """Have the columns' bigrams indexed wherever the table is made, of rows under a condition on their kind."""
    words = func.waypost_bigrams(*(source.c[name] for name in columns), type_=ARRAY(Text))
    index = Index(
        f"ix_{source.name}_words",
        words,
        postgresql_using="gin",
        postgresql_where=where,
        postgresql_with={"gin_pending_list_limit": PENDING_KILOBYTES},
    )
    limited(index, POSTGRESQL)
    event.listen(source, "before_create", _ddl(BIGRAMS_FUNCTION).execute_if(dialect=POSTGRESQL))
    for statement in _sqlite(source.name, columns, of_tasks=where is not None):
        event.listen(source, "after_create", _ddl(statement).execute_if(dialect=SQLITE))


def _ddl(statement: str) -> DDL:
    return DDL(statement.replace("%", "%%"))  # type: ignore[no-untyped-call]  # its class has no annotations


def _sqlite(source: str, columns: Sequence[str], *, of_tasks: bool) -> Iterator[str]:
    """Yield the statements that make SQLite's index: which rows there are, their bigrams, and what keeps the former.

    A row is new until its words are taken over (``indexed`` is 0), and gone once it has no ``id``.
    """
    words = f"{source}_words"
    new = "WHEN new.kind = 'UserTask' " if of_tasks else ""
    old = "WHEN old.kind = 'UserTask' " if of_tasks else ""
    changed = " OR ".join(f"new.{name} IS NOT old.{name}" for name in columns)
    forget = f"DELETE FROM {words} WHERE id = old.id AND indexed = 0; UPDATE {words} SET id = NULL WHERE id = old.id;"
    note = f"INSERT INTO {words} (id, indexed) VALUES (new.id, 0);"
    yield f"CREATE TABLE {words} (number INTEGER PRIMARY KEY, id TEXT UNIQUE, indexed INTEGER NOT NULL)"
    yield f"CREATE INDEX ix_{words}_new ON {words} (number) WHERE indexed = 0"
    yield _index_of(words)
    yield f"CREATE TRIGGER {words}_insert AFTER INSERT ON {source} {new}BEGIN {note} END"
    yield f"CREATE TRIGGER {words}_delete AFTER DELETE ON {source} {old}BEGIN {forget} END"
    also = "new.kind = 'UserTask' AND " if of_tasks else ""
    yield (
        f"CREATE TRIGGER {words}_update AFTER UPDATE OF {', '.join(columns)} ON {source} "
        f"WHEN {also}({changed}) BEGIN {forget} {note} END"
    )


def _index_of(words: str) -> str:
    return f"CREATE VIRTUAL TABLE {words}_index USING fts5 (words, detail = none, columnsize = 0, tokenize = 'ascii')"


def has_words(dialect: str, source: Table, *columns: str) -> ColumnElement[bool] | None:
    """Return the condition that a row may have the keyword of :func:`asked_words`, None where there is no index."""
    if dialect == POSTGRESQL:
        found = func.waypost_bigrams(*(source.c[name] for name in columns), type_=ARRAY(Text))
        return found.op("@>")(bindparam("p_words", type_=ARRAY(Text)))
    if dialect == SQLITE:
        words = table(f"{source.name}_words", Column("number"), Column("id"), Column("indexed"))
        index = f"{source.name}_words_index"
        rowids: Select[Any] = select(literal("rowid")).select_from(table(index))
        asked = rowids.where(literal(index).op("MATCH")(bindparam("p_words", type_=Text())))
        return source.c.id.in_(
            union_all(
                select(words.c.id).where(words.c.number.in_(asked), words.c.id.is_not(None)),
                select(words.c.id).where(words.c.indexed == literal("0")),
            )
        )
    return None


COMMON = 20_000
"""Fewer proposed rows than these are always taken from SQLite's index."""

SHARE = 4
"""A keyword that the index proposes every fourth row for is sooner found by going through all of them.

Measured: a row that is proposed costs 8 to 12 µs, one that is gone through 2.5 to 3.
"""


@lru_cache(maxsize=8)
def proposing(source: str) -> Select[*tuple[Any, ...]]:
    """Return SQLite's statement that counts what its index proposes, as far as it matters, and says how far that is.

    The number of rows is guessed by their first and last number: both are one step in the table, a count is not.
    """
    index, numbers = f"{source}_words_index", table(f"{source}_words", Column("number", Integer()))
    first, last = (
        select(numbers.c.number).order_by(order).limit(literal("1")).scalar_subquery()
        for order in (numbers.c.number.asc(), numbers.c.number.desc())
    )
    share = (last - first) // bindparam("p_share", type_=Integer())
    bound = func.max(bindparam("p_common", type_=Integer()), func.coalesce(share, literal("0")))
    asked: Select[Any] = select(literal("rowid")).select_from(table(index))
    found = asked.where(literal(index).op("MATCH")(bindparam("p_words", type_=Text()))).limit(bound).subquery()
    return select(func.count(), bound).select_from(found)


def is_common(
    transaction: Transaction, source: Table, words: Any, *, common: int | None = None, share: int = SHARE
) -> bool:
    """Whether so many rows have the keyword that its index is no help, or the index is damaged.

    That is, at least *common* and every *share*-th of all. PostgreSQL's planner knows by itself.
    """
    if transaction.dialect != SQLITE:
        return False
    try:
        asked = {"p_words": words, "p_common": COMMON if common is None else common, "p_share": share}
        number, bound = transaction.rows(proposing(source.name), asked)[0]
    except StoreFailure as failure:
        if failure.transient:
            raise
        log.warning("the index of keywords cannot be read, all rows are looked through (%s); %s", failure, REMEDY)
        return True
    return bool(number >= bound)


def asked_words(dialect: str, words: Sequence[str]) -> Any:
    """Return the parameter ``p_words`` for a keyword's bigrams."""
    return " ".join(f'"{word}"' for word in _tokens(words)) if dialect == SQLITE else list(words)


_NO_LETTERS = "".join(chr(code) for code in range(128) if not chr(code).isalnum())
_TOKENS = str.maketrans({letter: chr(0xE000 + ord(letter)) for letter in _NO_LETTERS})
"""What would end a token stands there as a character for private use. Who looks for that one finds both at first."""


def _tokens(words: Sequence[str]) -> list[str]:
    return [word.translate(_TOKENS) for word in words]


def words_text(*fields: str | None) -> str:
    """Return what SQLite's index holds of a row: the bigrams of its folded fields, each once."""
    found: dict[str, None] = {}
    for field in fields:
        for part in (field or "").split(SEPARATOR):
            text = part.translate(_TOKENS)
            found |= dict.fromkeys([text[start : start + 2] for start in range(len(text) - 1)])
    return " ".join(found)


INDEXED = {"bookmarks": ("search_title", "search_instance_text"), "instances": ("search_text",)}
"""The tables with an index of keywords, and their columns that are searched."""


def take_over(connection: Connection, source: str, limit: int = TAKEN_AT_ONCE) -> int:
    """Take up to *limit* new and as many gone rows of one of SQLite's tables over into its index; return how many."""
    name, words = source.removeprefix("platform_"), f"{source}_words"
    columns = ", ".join(f"row.{column}" for column in INDEXED[name])
    new = connection.exec_driver_sql(
        # CROSS: from what is noted to its row, never the other way.
        f"SELECT noted.number, {columns} FROM {words} AS noted INDEXED BY ix_{words}_new "
        f"CROSS JOIN {source} AS row ON row.id = noted.id WHERE noted.indexed = 0 ORDER BY noted.number LIMIT ?",
        (limit,),
    ).all()
    if new:
        connection.exec_driver_sql(
            f"INSERT INTO {words}_index (rowid, words) VALUES (?, ?)",
            [(number, words_text(*fields)) for number, *fields in new],
        )
        connection.exec_driver_sql(
            f"UPDATE {words} SET indexed = 1 WHERE number = ?",
            [(number,) for number, *_ in new],
        )
    gone = connection.exec_driver_sql(
        f"SELECT number FROM {words} WHERE id IS NULL LIMIT ?",
        (limit,),
    ).all()
    if gone:
        numbers = [(number,) for (number,) in gone]
        connection.exec_driver_sql(f"DELETE FROM {words}_index WHERE rowid = ?", numbers)
        connection.exec_driver_sql(f"DELETE FROM {words} WHERE number = ?", numbers)
    return len(new) + len(gone)


def take_all_over(connection: Connection) -> None:
    """Take over all that waits, of every table."""
    for source in SOURCES:
        while take_over(connection, source, _MANY):
            pass


def rebuild(connection: Connection) -> list[str]:
    """Make the index of keywords anew from the rows and return what was made: nothing where there is none."""
    if connection.dialect.name == POSTGRESQL:
        indexes = [f"ix_{source}_words" for source in SOURCES]
        for index in indexes:
            connection.exec_driver_sql(f"REINDEX INDEX {index}")
        return indexes
    if connection.dialect.name != SQLITE:
        return []
    for source in SOURCES:
        words = f"{source}_words"
        tasks = " WHERE kind = 'UserTask'" if source.endswith("bookmarks") else ""
        # As it is when it is made: a full-text table that cannot be read cannot be dropped either.
        connection.exec_driver_sql(f"DELETE FROM {words}_index_data")
        connection.exec_driver_sql(
            f"INSERT INTO {words}_index_data VALUES (1, x''), (10, x'00000000000000')"
        )  # our own tables
        connection.exec_driver_sql(f"REPLACE INTO {words}_index_config VALUES ('version', 4)")
        connection.exec_driver_sql(f"DROP TABLE {words}_index")
        connection.exec_driver_sql(_index_of(words))
        connection.exec_driver_sql(f"DELETE FROM {words}")
        connection.exec_driver_sql(
            f"INSERT INTO {words} (id, indexed) SELECT id, 0 FROM {source}{tasks}"  # our own tables
        )
    take_all_over(connection)
    return [f"{source}_words_index" for source in SOURCES]


class Upkeep:
    """Has SQLite's index take new rows over now and then, in the transaction of a command that writes anyway."""

    def __init__(self) -> None:
        self._left = _LOOKED_AFTER_EVERY

    def __call__(self, connection: Callable[[], Connection]) -> None:
        """Look after the index if it is time."""
        self._left -= 1
        if self._left > 0:
            return
        self._left = _LOOKED_AFTER_EVERY
        opened = connection()
        opened.exec_driver_sql("SAVEPOINT upkeep")
        try:
            self._take_over(opened)
            # Here the index writes to its own tables, at the latest: a RELEASE that failed could not be undone.
            opened.exec_driver_sql("SAVEPOINT taken_over")
        except DatabaseError:
            # The command goes on: lists look through what is not taken over, and through all where the index fails.
            opened.exec_driver_sql("ROLLBACK TO upkeep")
            self._left = _PAUSED_FOR
            log.exception("the index of keywords takes no new rows over; %s", REMEDY)
        opened.exec_driver_sql("RELEASE upkeep")

    def _take_over(self, connection: Connection) -> None:
        for source in SOURCES:
            if _waiting(connection, source) >= TAKEN_AT_ONCE and take_over(connection, source) >= TAKEN_AT_ONCE:
                # There may be more; the next command goes on.
                self._left = 1


SOURCES = tuple(prefix + name for prefix in ("", "platform_") for name in INDEXED)


def _waiting(connection: Connection, source: str) -> int:
    counts = (
        f"SELECT count(*) FROM (SELECT 1 FROM {source}_words WHERE {condition} LIMIT ?)"
        for condition in ("indexed = 0", "id IS NULL")
    )
    found: Iterator[int] = (connection.exec_driver_sql(one, (TAKEN_AT_ONCE,)).scalar_one() for one in counts)
    return max(found)
