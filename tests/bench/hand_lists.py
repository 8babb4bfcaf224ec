"""SQL written by hand for the same rows, on the driver itself: several ways, of which the fastest counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.bench.targets import Target
from webapp.engine.ports.queries import InstanceQuery

Way = Callable[[], list[str]]

_TASK = (
    "id, instance_id, node_id, node_instance_id, title, instance_title, definition_name, definition_title, key, "
    "starter_id, claimed_by, correlation_id, priority, created_at, task_due_at, opened_at, signers_done, signers_total"
)
_INSTANCE = (
    "id, definition_id, definition_name, definition_version, title, status, correlation_id, starter_id, "
    "parent_instance_id, root_instance_id, created_at, started_at, ended_at, fault, fault_node_id, "
    "cancellation_reason, outcome, revision"
)
_OPEN = "kind = 'UserTask' AND instance_status = 'Running' AND available_at IS NULL"
_MINE = "key = :me AND (claimed_by IS NULL OR claimed_by = key)"
_OLDEST = "ORDER BY created_at, sequence, id"
_NEWEST = "ORDER BY created_at DESC, sequence DESC, id DESC"


class Hand:
    """A connection of the driver, and the statements in its dialect."""

    def __init__(self, target: Target) -> None:
        self._server = target.synchronous is None
        if self._server:
            self._connection: Any = psycopg.connect(target.url, autocommit=True, prepare_threshold=None)
        else:
            self._connection = sqlite3.connect(target.url.removeprefix("sqlite:///"), isolation_level=None)
            self._connection.execute("PRAGMA cache_size=-16000")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @property
    def is_server(self) -> bool:
        """Whether it is PostgreSQL."""
        return self._server

    def run(self, statement: str, **parameters: Any) -> list[Any]:
        """Run a statement whose parameters are written ``:name``."""
        if self._server:
            for name in parameters:
                statement = statement.replace(f":{name}", f"%({name})s")
        return list(self._connection.execute(statement, parameters).fetchall())

    def explain(self, statement: str, parameters: Any) -> Any:
        """Return PostgreSQL's plan of a statement in the driver's own spelling."""
        return self._connection.execute(f"EXPLAIN (FORMAT JSON) {statement}", parameters).fetchone()[0]

    def inbox(self, principals: Sequence[str], keyword: str | None, limit: int) -> Sequence[Way]:
        """Return ways to a page of mine and one of claimable tasks, both with their totals."""
        parameters: dict[str, Any] = {"me": principals[0], "limit": limit}
        if self._server:
            parameters["groups"] = list(principals)
            within = "key = ANY(:groups)"
        else:
            parameters |= {f"g{number:04d}": name for number, name in enumerate(principals)}
            within = f"key IN ({', '.join(f':g{number:04d}' for number in range(len(principals)))})"
        claimable = f"claimed_by IS NULL AND {within} AND (claimable OR key <> :me)"
        word = f" AND {self._has('search_title', 'search_instance_text')}" if keyword else ""
        if keyword:
            parameters["word"] = keyword
        conditions = [f"{_OPEN} AND {one}{word}" for one in (_MINE, claimable)]
        return self._pages("platform_bookmarks", _TASK, conditions, _OLDEST, parameters)

    def all_tasks(self, keyword: str, limit: int) -> Sequence[Way]:
        """Return ways to a page of all tasks with a keyword, with the total."""
        parameters: dict[str, Any] = {"word": keyword, "limit": limit}
        plain = f"{_OPEN} AND {self._has('search_title', 'search_instance_text')}"
        ways = list(self._pages("platform_bookmarks", _TASK, [plain], _OLDEST, parameters))
        return [*ways, *self._by_words("bookmarks", plain, "search_title, search_instance_text", _TASK, parameters)]

    def instances(self, query: InstanceQuery) -> Sequence[Way]:
        """Return ways to a page of instances, newest first, with the total."""
        parameters: dict[str, Any] = {"limit": query.paging.limit, "offset": query.paging.offset}
        conditions = ["1 = 1"]
        if query.statuses:
            conditions.append("status = :status")
            parameters["status"] = query.statuses[0].value
        for column, value in (("definition_name", query.definition_name), ("starter_id", query.starter_id)):
            if value is not None:
                conditions.append(f"{column} = :{column}")
                parameters[column] = value
        if query.keyword is not None:
            conditions.append(self._has("search_text"))
            parameters["word"] = query.keyword
        where = " AND ".join(conditions)
        ways = list(self._pages("platform_instances", _INSTANCE, [where], _NEWEST, parameters))
        if query.paging.offset:
            ways.append(self._late("platform_instances", _INSTANCE, where, _NEWEST, parameters))
        if query.keyword is not None:
            ways += self._by_words("instances", where, "search_text", _INSTANCE, parameters, order=_NEWEST)
        return ways

    def counts(self) -> Sequence[Way]:
        """Return the way to the number of instances by status."""

        def way() -> list[str]:
            found = self.run("SELECT status, count(*) FROM platform_instances GROUP BY status")
            return [f"{status}={count}" for status, count in sorted(found)]

        return (way,)

    def _has(self, *columns: str) -> str:
        find = "strpos" if self._server else "instr"
        return f"({' OR '.join(f'{find}({column}, :word) > 0' for column in columns)})"

    def _pages(
        self, table: str, columns: str, conditions: Sequence[str], order: str, parameters: dict[str, Any]
    ) -> Sequence[Way]:
        offset = " OFFSET :offset" if "offset" in parameters else ""

        def two_statements() -> list[str]:
            totals, ids = [], []
            for where in conditions:
                page = self.run(
                    f"SELECT {columns} FROM {table} WHERE {where} {order} LIMIT :limit{offset}",
                    **self._used(where, parameters),
                )
                totals.append(f"{self._total(table, where, len(page), parameters)}")
                ids += [row[0] for row in page]
            return [*totals, *ids]

        def window() -> list[str]:
            totals, ids = [], []
            for where in conditions:
                page = self.run(
                    f"SELECT {columns}, count(*) OVER () FROM {table} WHERE {where} {order} LIMIT :limit{offset}",
                    **self._used(where, parameters),
                )
                totals.append(str(page[0][-1] if page else self._total(table, where, 0, parameters)))
                ids += [row[0] for row in page]
            return [*totals, *ids]

        return (two_statements, window)

    def _total(self, table: str, where: str, shown: int, parameters: dict[str, Any]) -> int:
        if shown < parameters["limit"] and not parameters.get("offset"):
            return shown
        used = {name: value for name, value in self._used(where, parameters).items() if f":{name}" in where}
        total: int = self.run(f"SELECT count(*) FROM {table} WHERE {where}", **used)[0][0]
        return total

    def _used(self, where: str, parameters: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if name in ("limit", "offset") or f":{name}" in where}

    def _late(self, table: str, columns: str, where: str, order: str, parameters: dict[str, Any]) -> Way:
        """Find the page's ids in an index first."""

        def way() -> list[str]:
            inner = f"SELECT id FROM {table} WHERE {where} {order} LIMIT :limit OFFSET :offset"
            page = self.run(
                f"SELECT {columns} FROM {table} WHERE id IN (SELECT id FROM ({inner}) AS page) {order}",
                **self._used(where, parameters),
            )
            return [str(self._total(table, where, len(page), parameters)), *(row[0] for row in page)]

        return way

    def _by_words(
        self, name: str, where: str, columns: str, shown: str, parameters: dict[str, Any], order: str = _OLDEST
    ) -> Sequence[Way]:
        """Go by the index of bigrams, then literally."""
        table, word = f"platform_{name}", parameters["word"]
        pairs = [word[at : at + 2] for at in range(len(word) - 1)]
        if self._server:
            narrowed = f"waypost_bigrams({columns}) @> CAST(:pairs AS text[]) AND {where}"
            asked: Any = pairs
        else:
            narrowed = (
                f"id IN (SELECT id FROM {table}_words WHERE number IN (SELECT rowid FROM {table}_words_index "
                f"WHERE {table}_words_index MATCH :pairs)) AND {where}"
            )
            asked = " ".join(f'"{pair}"' for pair in pairs)
        return self._pages(table, shown, [narrowed], order, {**parameters, "pairs": asked})
