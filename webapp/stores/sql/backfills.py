"""Back-filling: rows written before a column was there get its value from their document (spec 8.2).

A migration adds the column, empty; what fills it stands here. It runs after the migrations, batch by batch, each a
short transaction, while other processes work; the table ``backfills`` holds how far it has come, so that one that was
broken off goes on there, and two at once take turns. Until its turn a row matches no keyword and no category.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Table, bindparam, select, update

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import decode
from webapp.stores import rows
from webapp.stores.sql.dialects import upsert
from webapp.stores.sql.dialects.sessions import WRITES
from webapp.stores.sql.platform_tables import BACKFILLS
from webapp.stores.sql.tables import SETS

BATCH = 500
"""Rows of one transaction."""

_log = logging.getLogger("waypost.backfills")


@dataclass(frozen=True)
class Backfill:
    """What is filled: the rows of a table under a condition that no filled row meets, by values of their document."""

    name: str
    table: Table
    is_empty: ColumnElement[bool]
    columns: Sequence[str]
    row_of: Callable[[str], rows.Row]
    """Make a whole row of a document; the columns are taken from it."""


def _definition_row(document: str) -> rows.Row:
    return rows.definition_row(decode(document, WorkflowDefinition))


def _instance_row(document: str) -> rows.Row:
    return rows.instance_row(decode(document, WorkflowInstance))


def _known() -> Sequence[Backfill]:
    found = []
    for tables in SETS:
        definitions, instances = tables.definitions, tables.instances
        found += [
            Backfill(
                name=f"{definitions.name}.search_text",
                table=definitions,
                is_empty=definitions.c.search_text == "",
                columns=("category", "search_text", "title_sort_key"),
                row_of=_definition_row,
            ),
            Backfill(
                name=f"{instances.name}.search_text",
                table=instances,
                is_empty=instances.c.search_text == "",
                columns=("search_text", "title_sort_key"),
                row_of=_instance_row,
            ),
        ]
    return found


KNOWN = _known()
"""Every back-fill there is, in the order they run."""


def fill_all(engine: Engine, known: Sequence[Backfill] = KNOWN, batch: int = BATCH) -> int:
    """Fill what is not filled yet and return the number of rows."""
    writers = engine.execution_options(**{WRITES: True})
    filled = 0
    for backfill in known:
        while (done := _step(writers, backfill, batch)) is not None:
            filled += done
    return filled


def _step(writers: Engine, backfill: Backfill, batch: int) -> int | None:
    """Fill a batch and return how many rows it was, None when nothing is left."""
    with writers.begin() as connection:
        place = _place(connection, backfill.name)
        if place is None:
            return None
        table = backfill.table
        found = connection.execute(
            select(table.c.id, table.c.document)
            .where(table.c.id > place, backfill.is_empty)
            .order_by(table.c.id)
            .limit(batch)
        ).all()
        values = [value for row_id, document in found if (value := _values(backfill, row_id, document)) is not None]
        if values:
            # A row that somebody has written meanwhile is full.
            connection.execute(_update(backfill), values)
        is_last = len(found) < batch
        connection.execute(
            update(BACKFILLS).where(BACKFILLS.c.name == backfill.name),
            {"place": found[-1][0] if found else place, "is_done": is_last},
        )
        return len(values)


def _place(connection: Connection, name: str) -> str | None:
    """Return the id behind which the next batch begins, None when all are done; whoever else runs it waits here."""
    asked = select(BACKFILLS.c.place, BACKFILLS.c.is_done).where(BACKFILLS.c.name == name).with_for_update()
    row = connection.execute(asked).first()
    if row is None:
        first = upsert(connection.dialect.name, BACKFILLS, replace=False)
        connection.execute(first, {"name": name, "place": "", "is_done": False})
        row = connection.execute(asked).one()
    place, is_done = row
    return None if is_done else place


def _values(backfill: Backfill, row_id: str, document: str) -> dict[str, Any] | None:
    try:
        row = backfill.row_of(document)
    except Exception:
        # One document that cannot be read must not keep the others from being found.
        _log.exception("%s: the document of %s cannot be read; its columns stay empty", backfill.name, row_id)
        return None
    return {"p_id": row_id, **{name: row[name] for name in backfill.columns}}


def _update(backfill: Backfill) -> Any:
    table = backfill.table
    return update(table).where(table.c.id == bindparam("p_id"), backfill.is_empty)
