"""Definitions in memory."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.numbers import decode
from webapp.engine.ports.queries import DefinitionQuery, DefinitionSummary, Page
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict
from webapp.stores import rows
from webapp.stores.keywords import SEPARATOR, fold_keyword
from webapp.stores.memory.lists import ordered, page, within
from webapp.stores.memory.tables import Transaction
from webapp.stores.ordering import definition_order
from webapp.stores.rows import Row


class MemoryDefinitions:
    """The definition store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def find(self, partition: Partition, definition_id: str) -> WorkflowDefinition | None:
        """Return the definition, or None."""
        row = self._transaction.get("definitions", (definition_id,), partition)
        return None if row is None else decode(row["document"], WorkflowDefinition)

    def header(self, partition: Partition, definition_id: str) -> DefinitionSummary | None:
        """Return the columns of the definition."""
        row = self._transaction.get("definitions", (definition_id,), partition)
        return None if row is None else rows.definition_summary(row)

    def header_by_version(self, partition: Partition, name: str, version: int) -> DefinitionSummary | None:
        """Return the columns of that version of the name, or None."""
        found = [row for row in self._named(partition, name) if row["version"] == version]
        return rows.definition_summary(found[0]) if found else None

    def latest_published(self, partition: Partition, name: str) -> DefinitionSummary | None:
        """Return the highest Published version, or None."""
        found = [row for row in self._named(partition, name) if row["status"] == "Published"]
        return rows.definition_summary(found[-1]) if found else None

    def highest(self, partition: Partition, name: str) -> DefinitionSummary | None:
        """Return the highest version in any status, or None."""
        found = self._named(partition, name)
        return rows.definition_summary(found[-1]) if found else None

    def max_version(self, partition: Partition, name: str) -> int:
        """Return the highest version, 0 if there is none."""
        found = self._named(partition, name)
        return found[-1]["version"] if found else 0

    def insert(self, partition: Partition, definition: WorkflowDefinition) -> None:
        """Insert a definition. :raises DuplicateRecord: id or (name, version) is taken."""
        rows.check_partition(partition, [definition])
        taken = self._transaction.rows(
            "definitions",
            lambda row: (
                row["id"] == definition.id
                or (row["tenant_id"], row["name"], row["version"]) == (partition, definition.name, definition.version)
            ),
        )
        if taken:
            raise DuplicateRecord(f"definition {definition.name} {definition.version}")
        self._transaction.put("definitions", rows.definition_row(definition))

    def replace(self, partition: Partition, definition: WorkflowDefinition, expected_revision: int) -> None:
        """Replace the row. :raises RevisionConflict: its revision is not the expected one."""
        rows.check_partition(partition, [definition])
        self._expect(partition, definition.id, expected_revision)
        self._transaction.put("definitions", rows.definition_row(definition))

    def delete(self, partition: Partition, definition_id: str, expected_revision: int) -> None:
        """Delete the row. :raises RevisionConflict: its revision is not the expected one."""
        if self._transaction.get("definitions", (definition_id,), partition) is None:
            return
        self._expect(partition, definition_id, expected_revision)
        self._transaction.remove("definitions", (definition_id,), partition)

    def list(self, partition: Partition, query: DefinitionQuery) -> Page[DefinitionSummary]:
        """Return a page of summaries."""
        found = self._transaction.rows("definitions", lambda row: row["tenant_id"] == partition)
        if query.latest:
            found = _latest(found)
        matching = [row for row in found if _matches(row, query)]
        order = definition_order(query.paging.sorts)
        return page(ordered(matching, order), query.paging, lambda row: self._summary(partition, row, query.latest))

    def categories(self, partition: Partition) -> Sequence[str]:
        """Return the categories in use, sorted."""
        found = self._transaction.rows(
            "definitions", lambda row: row["tenant_id"] == partition and bool(row["category"])
        )
        return sorted({row["category"] for row in found})

    def _named(self, partition: Partition, name: str) -> Sequence[Row]:
        found = self._transaction.rows("definitions", lambda row: row["tenant_id"] == partition and row["name"] == name)
        return sorted(found, key=lambda row: row["version"])

    def _expect(self, partition: Partition, definition_id: str, revision: int) -> None:
        row = self._transaction.get("definitions", (definition_id,), partition)
        if row is None or row["revision"] != revision:
            raise RevisionConflict(f"definition {definition_id} is not at revision {revision}")

    def _summary(self, partition: Partition, row: Row, latest: bool) -> DefinitionSummary:
        running = self._transaction.rows(
            "instances",
            lambda instance: (
                instance["tenant_id"] == partition
                and instance["status"] == "Running"
                and instance["definition_name"] == row["name"]
                and (latest or instance["definition_id"] == row["id"])
            ),
        )
        draft = None
        if latest:
            drafts = [other["version"] for other in self._named(partition, row["name"]) if other["status"] == "Draft"]
            draft = max(drafts, default=None)
        return rows.definition_summary(row, len(running), draft)


def _latest(found: Sequence[Row]) -> list[Row]:
    best: dict[str, Row] = {}
    for row in found:
        rank = (row["status"] == "Published", row["version"])
        other = best.get(row["name"])
        if other is None or rank > (other["status"] == "Published", other["version"]):
            best[row["name"]] = row
    return [*best.values()]


def _matches(row: Row, query: DefinitionQuery) -> bool:
    keyword = fold_keyword(query.keyword)
    return (
        (keyword is None or keyword in row["search_text"])
        and (query.name is None or row["name"] == query.name)
        and (query.category is None or row["category"] == query.category)
        and (query.status is None or row["status"] == query.status.value)
        and within(row["created_at"], query.created_from, query.created_to)
        and _startable(row, query)
    )


def _startable(row: Row, query: DefinitionQuery) -> bool:
    if query.startable_for is None:
        return True
    if row["status"] != "Published":
        return False
    principals = row["startable_by"]
    return principals is None or any(SEPARATOR + name + SEPARATOR in principals for name in query.startable_for)
