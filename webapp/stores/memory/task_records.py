"""Task records in memory."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.instances.journal import EndReason, TaskRecord
from webapp.engine.ports.queries import DoneTaskSummary, Page, Paging
from webapp.engine.ports.stores import Partition
from webapp.stores import journal_rows
from webapp.stores.keywords import fold_keyword
from webapp.stores.memory.lists import ordered, page
from webapp.stores.memory.tables import Transaction
from webapp.stores.ordering import DONE_ORDER


class MemoryTaskRecords:
    """The task record store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def latest(self, partition: Partition, task_id: str) -> TaskRecord | None:
        """Return the last round of the task, or None."""
        found = self._transaction.rows(
            "task_records", lambda row: row["tenant_id"] == partition and row["task_id"] == task_id
        )
        return journal_rows.task_record(max(found, key=lambda row: row["round"])) if found else None

    def by_instance(self, partition: Partition, instance_id: str) -> Sequence[TaskRecord]:
        """Return all rounds of all tasks of the instance, oldest first."""
        found = self._transaction.of_instance("task_records", partition, instance_id)
        found.sort(key=lambda row: (row["created_at"], row["sequence"], row["round"], row["task_id"]))
        return [journal_rows.task_record(row) for row in found]

    def done_by(
        self, partition: Partition, account_id: str, keyword: str | None, paging: Paging
    ) -> Page[DoneTaskSummary]:
        """Return the rounds this account completed, newest end first."""
        folded = fold_keyword(keyword)
        found = self._transaction.rows(
            "task_records",
            lambda row: (
                row["tenant_id"] == partition
                and row["actor_id"] == account_id
                and row["end_reason"] == EndReason.COMPLETED.value
                and (folded is None or folded in row["search_title"] or folded in row["search_instance_text"])
            ),
        )
        return page(ordered(found, DONE_ORDER), paging, journal_rows.done_task_summary)
