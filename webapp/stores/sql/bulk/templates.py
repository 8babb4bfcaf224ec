"""Patterns to rows: every document is encoded once, a copy only fills in what differs.

A pattern's rows are taken apart once. What a copy needs are then a list of values (its ids, instants, numbers, words),
the documents made of them, and the rows picked from both: three loops without a branch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

from sqlalchemy import Table

from webapp.engine.clock import next_sequence
from webapp.engine.numbers import encode
from webapp.engine.ports.filling import Copy, Pattern
from webapp.stores import journal_rows, notice_rows, rows
from webapp.stores.keywords import fold
from webapp.stores.rows import Row, of_table
from webapp.stores.sql.dialects import written
from webapp.stores.sql.tables import TableSet

Values = list[Any]
Getter = Callable[[Values], Any]
InstantForm = Callable[[datetime], Any]

_NEAR = timedelta(days=500)
_SEQUENCES = 10_000
"""Rows that one command may number."""

FOLDED = frozenset(["title_sort_key", "search_text", "search_title", "search_instance_text"])
"""Columns that hold folded text; every other text column holds it as it is, or inside a document."""

_JSON = frozenset(["document", "fault", "before", "after"])
_INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z"
_NUMBER = r"(?<!\d)\d{16,17}(?!\d)"


def _as_it_is(text: str) -> str:
    return text


def _in_json(text: str) -> str:
    return encode(text).decode()[1:-1]


_FORMS: Mapping[str, Callable[[str], str]] = {"plain": _as_it_is, "json": _in_json, "folded": fold}


def _seconds(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def _long(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


@dataclass(frozen=True)
class Writing:
    """How a database takes values: *escape* for texts, *instant* for instants, and one value of a constant."""

    instant: InstantForm
    constant: Callable[[Any], Any]
    escape: Callable[[str], str] | None = None


@dataclass
class RowTemplate:
    """One row: where its values stand in the list of a copy."""

    table: Table
    pick: Getter


@dataclass
class Template:
    """A pattern taken apart."""

    texts: list[tuple[int, Callable[[str], str]]] = field(default_factory=list)
    sequences: list[tuple[int, int]] = field(default_factory=list)
    instants: list[tuple[int, timedelta, InstantForm]] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    documents: list[tuple[str, Getter]] = field(default_factory=list)
    rows: list[RowTemplate] = field(default_factory=list)

    def values(self, copy: Copy) -> Values:
        """Return the values that a copy's rows are picked from."""
        words, moments = copy.words, copy.moments
        values: Values = [copy.id_prefix]
        values += [form(words[number]) for number, form in self.texts]
        if self.sequences:
            bases = [next_sequence(0, moment) for moment in moments]
            values += [bases[moment] + more for moment, more in self.sequences]
        values += [form(moments[moment] + later) for moment, later, form in self.instants]
        values += self.constants
        for text, pick in self.documents:
            values.append(text % pick(values))
        return values


def make_template(pattern: Pattern, partition: str | None, tables: TableSet, writing: Writing) -> Template:
    """Take a pattern apart."""
    return _Maker(pattern, writing).make(_rows(pattern, partition, tables))


def _rows(pattern: Pattern, partition: str | None, tables: TableSet) -> Iterator[tuple[Table, Row]]:
    columns = rows.instance_columns(pattern.instance)
    yield tables.instances, of_table(partition, rows.instance_row(pattern.instance))
    for node in pattern.node_instances:
        yield tables.node_instances, of_table(partition, rows.node_instance_row(node))
    for bookmark in pattern.bookmarks:
        yield tables.bookmarks, of_table(partition, rows.bookmark_row(bookmark, columns))
    for record in pattern.task_records:
        yield tables.task_records, of_table(partition, journal_rows.task_record_row(record))
    for entry in pattern.audit:
        yield tables.audit, of_table(partition, journal_rows.audit_row(entry))
    for notice in pattern.notices:
        yield tables.notices, of_table(partition, notice_rows.notice_row(notice))


Part = str | tuple[Any, ...]
"""A fixed piece of a text, or the key of a value."""


class _Maker:
    """Collects the values that the rows of one pattern need, each once."""

    def __init__(self, pattern: Pattern, writing: Writing) -> None:
        self._pattern = pattern
        self._writing = writing
        self._bases = [next_sequence(0, moment) for moment in pattern.moments]
        words = "|".join(sorted(map(re.escape, pattern.words), key=len, reverse=True)) or r"(?!)"
        self._marks = re.compile(rf"({re.escape(pattern.id_prefix)})|({words})|({_INSTANT})|({_NUMBER})")
        self._keys: dict[tuple[Any, ...], None] = {}
        self._formats: dict[tuple[Part, ...], None] = {}

    def make(self, found: Iterator[tuple[Table, Row]]) -> Template:
        """Return the template of these rows."""
        parts = [
            (table, [self._value(column.name, row[column.name]) for column in written(table)]) for table, row in found
        ]
        template, places = self._laid_out()
        template.rows = [RowTemplate(table, itemgetter(*(places[one] for one in values))) for table, values in parts]
        return template

    def _value(self, column: str, value: Any) -> tuple[Any, ...]:
        """Return the key of what stands in a column."""
        if isinstance(value, datetime):
            return self._instant(value, self._writing.instant)
        if isinstance(value, int) and not isinstance(value, bool):
            known = self._sequence(value)
            return self._constant(value) if known is None else known
        if not isinstance(value, str):
            return self._constant(value)
        parts = tuple(self._parts(value, self._form(column)))
        if all(isinstance(part, str) for part in parts):
            return self._constant(value)
        if len(parts) == 1:
            key: tuple[Any, ...] = parts[0]  # type: ignore[assignment]  # it is no text
            return key
        self._formats[parts] = None
        return ("format", parts)

    def _form(self, column: str) -> str:
        return "folded" if column in FOLDED else "json" if column in _JSON else "plain"

    def _parts(self, text: str, form: str) -> Iterator[Part]:
        at = 0
        for found in self._marks.finditer(text):
            prefix, word, instant, _ = found.groups()
            if prefix is not None:
                key: tuple[Any, ...] | None = ("id",)
            elif word is not None:
                key = self._remember("text", self._pattern.words.index(word), form)
            elif instant is not None:
                spelling = _seconds if len(instant) == len("2026-01-01T00:00:00.000Z") else _long
                key = self._instant_or_none(datetime.fromisoformat(instant), spelling)
            else:
                key = self._sequence(int(found[0]))
            if key is None:
                continue
            if found.start() > at:
                yield text[at : found.start()]
            yield key
            at = found.end()
        if at < len(text):
            yield text[at:]

    def _instant(self, value: datetime, form: InstantForm) -> tuple[Any, ...]:
        key = self._instant_or_none(value, form)
        if key is None:
            raise ValueError(f"{value} is near none of the pattern's moments")
        return key

    def _instant_or_none(self, value: datetime, form: InstantForm) -> tuple[Any, ...] | None:
        for number, moment in enumerate(self._pattern.moments):
            if timedelta(0) <= value - moment <= _NEAR:
                return self._remember("instant", number, value - moment, form)
        return None

    def _sequence(self, value: int) -> tuple[Any, ...] | None:
        for number, base in enumerate(self._bases):
            if 0 <= value - base < _SEQUENCES:
                return self._remember("sequence", number, value - base)
        return None

    def _constant(self, value: Any) -> tuple[Any, ...]:
        return self._remember("constant", type(value), self._writing.constant(value))

    def _remember(self, *key: Any) -> tuple[Any, ...]:
        self._keys[key] = None
        return key

    def _laid_out(self) -> tuple[Template, dict[tuple[Any, ...], int]]:
        """Return a template without rows, and where each value stands in its list."""
        template = Template()
        places: dict[tuple[Any, ...], int] = {("id",): 0}
        for kind in ("text", "sequence", "instant", "constant"):
            for key in (key for key in self._keys if key[0] == kind):
                places[key] = len(places)
                self._add(template, key)
        for parts in self._formats:
            template.documents.append(self._format(parts, places))
        for parts in self._formats:
            places["format", parts] = len(places)
        return template, places

    def _add(self, template: Template, key: tuple[Any, ...]) -> None:
        match key:
            case ("text", number, form):
                template.texts.append((number, self._spelling(form)))
            case ("sequence", number, more):
                template.sequences.append((number, more))
            case ("instant", number, later, form):
                template.instants.append((number, later, form))
            case (_, _, value):
                template.constants.append(value)

    def _spelling(self, form: str) -> Callable[[str], str]:
        spell, escape = _FORMS[form], self._writing.escape
        return spell if escape is None else lambda text: escape(spell(text))

    def _format(self, parts: Sequence[Part], places: dict[tuple[Any, ...], int]) -> tuple[str, Getter]:
        escape = self._writing.escape or _as_it_is
        text = "".join(escape(part).replace("%", "%%") if isinstance(part, str) else "%s" for part in parts)
        keys = [part for part in parts if not isinstance(part, str)]
        picked = itemgetter(*(places[key] for key in keys))
        return text, picked


def utc_text(moment: datetime) -> str:
    """Return an instant as SQLite keeps it, and as every server reads it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
