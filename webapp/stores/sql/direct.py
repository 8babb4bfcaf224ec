"""Statements of the hot path on the driver's own cursor: compiled once, without what SQLAlchemy does a call (8.10).

The statements are the same Core objects that everything else runs; only their way to the driver is shorter. A statement
whose text depends on its parameters (a list for IN) has no such way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Dialect, Executable
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.elements import ClauseElement, ColumnElement
from sqlalchemy.sql.selectable import SelectBase

from webapp.stores.sql.dialects.names import POSTGRESQL

UNPREPARED = "waypost_unprepared"
"""Execution option of statements that PostgreSQL plans for their parameters each time."""

Values = Mapping[str, Any]
Processor = Callable[[Any], Any]


class Direct:
    """A statement in its driver's words: what each parameter is called there and how its value is written."""

    __slots__ = ("_constants", "_names", "_places", "_positional", "_processors", "_results", "_run", "names", "text")

    def __init__(self, compiled: SQLCompiler, dialect: Dialect) -> None:
        self.text = str(compiled)
        self._run: Mapping[str, Any] = {}
        if dialect.name == POSTGRESQL and compiled.execution_options.get(UNPREPARED, False):
            self._run = {"prepare": False}
        self._positional = bool(compiled.positional)
        self._names: Sequence[str] = compiled.positiontup or list(compiled.binds)
        self._constants = {name: bound.effective_value for name, bound in compiled.binds.items() if not bound.required}
        self._processors = {
            name: processor
            for name, bound in compiled.binds.items()
            if (processor := bound.type.dialect_impl(dialect).bind_processor(dialect)) is not None
        }
        self._places = [
            (place, self._processors[name]) for place, name in enumerate(self._names) if name in self._processors
        ]
        columns = _columns(compiled.statement)
        self.names: Sequence[str] = [str(column.key) for column in columns]
        """The names of what a query, or a RETURNING, returns; none for a statement that returns nothing."""
        found = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
        self._results = [(place, processor) for place, processor in enumerate(found) if processor is not None]

    def execute(self, cursor: DBAPICursor, parameters: Values) -> None:
        """Run the statement once."""
        cursor.execute(self.text, self._arguments(parameters), **self._run)

    def execute_many(self, cursor: DBAPICursor, parameters: Sequence[Values]) -> None:
        """Run the statement once a set of parameters."""
        if len(parameters) == 1:
            self.execute(cursor, parameters[0])
        else:
            cursor.executemany(self.text, [self._arguments(values) for values in parameters])

    def fetch(self, cursor: DBAPICursor, parameters: Values) -> list[Sequence[Any]]:
        """Run a query and return its rows."""
        self.execute(cursor, parameters)
        found: list[Sequence[Any]] = list(cursor.fetchall())
        if not self._results:
            return found
        rows: list[Sequence[Any]] = []
        for row in found:
            values = list(row)
            for place, processor in self._results:
                values[place] = processor(values[place])
            rows.append(values)
        return rows

    def _arguments(self, parameters: Values) -> Any:
        values = {**self._constants, **parameters} if self._constants else parameters
        if not self._positional:
            written = dict(values)
            for name, processor in self._processors.items():
                written[name] = processor(written[name])
            return written
        found = [values[name] for name in self._names]
        for place, processor in self._places:
            found[place] = processor(found[place])
        return found


def _columns(statement: ClauseElement | None) -> Sequence[ColumnElement[Any]]:
    if isinstance(statement, SelectBase):
        return statement.selected_columns.values()
    return statement.exported_columns.values() if isinstance(statement, UpdateBase) else ()


_known: WeakKeyDictionary[Executable, dict[tuple[str, frozenset[str]], Direct | None]] = WeakKeyDictionary()


def direct(statement: Executable, dialect: Dialect, names: Values) -> Direct | None:
    """Return the statement for a driver, or None when it has no direct way; *names* are the parameters' names."""
    by_names = _known.get(statement)
    if by_names is None:
        by_names = _known[statement] = {}
    key = (dialect.name, frozenset(names))
    if key not in by_names:
        by_names[key] = _compiled(statement, dialect, sorted(names))
    return by_names[key]


def _compiled(statement: Executable, dialect: Dialect, names: list[str]) -> Direct | None:
    if not isinstance(statement, ClauseElement):
        return None
    compiled = statement.compile(dialect=dialect, column_keys=names)
    if not isinstance(compiled, SQLCompiler) or compiled.post_compile_params or compiled.literal_execute_params:
        return None
    return Direct(compiled, dialect)
