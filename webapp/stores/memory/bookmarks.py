"""Bookmarks in memory, user tasks among them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Lane, lane_of
from webapp.engine.ports.queries import BookmarkSummary, DueBookmark, Page, TaskQuery, TaskSummary
from webapp.engine.ports.stores import Partition
from webapp.stores import rows
from webapp.stores.keywords import fold_keyword
from webapp.stores.memory.lists import by_time, ordered, page, within
from webapp.stores.memory.tables import Transaction
from webapp.stores.ordering import task_order
from webapp.stores.rows import Row


class MemoryBookmarks:
    """The bookmark store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def find(self, partition: Partition, bookmark_id: str) -> Bookmark | None:
        """Return the bookmark, or None."""
        row = self._transaction.get("bookmarks", (bookmark_id,), partition)
        return None if row is None else _bookmark(row)

    def by_instance(self, partition: Partition, instance_id: str) -> Sequence[Bookmark]:
        """Return all bookmarks of the instance, oldest first."""
        found = self._transaction.of_instance("bookmarks", partition, instance_id)
        return [_bookmark(row) for row in by_time(found, "created_at")]

    def summaries(self, partition: Partition, instance_id: str) -> Sequence[BookmarkSummary]:
        """Return all waiting points of the instance, oldest first."""
        found = self._transaction.of_instance("bookmarks", partition, instance_id)
        return [rows.bookmark_summary(row) for row in by_time(found, "created_at")]

    def by_kind_and_key(self, partition: Partition, kind: BookmarkKind, key: str) -> Sequence[Bookmark]:
        """Return the bookmarks of that kind and key, oldest first."""
        found = self._transaction.rows(
            "bookmarks",
            lambda row: row["tenant_id"] == partition and row["kind"] == kind.value and row["key"] == key,
        )
        return [_bookmark(row) for row in by_time(found, "created_at")]

    def due(self, partition: Partition, now: datetime, limit: int) -> Sequence[Bookmark]:
        """Return the due bookmarks, longest due first."""
        found = self._transaction.rows("bookmarks", lambda row: row["tenant_id"] == partition and _due(row, now))
        return [_bookmark(row) for row in by_time(found, "due_at")[:limit]]

    def list_tasks(self, partition: Partition, query: TaskQuery) -> Page[TaskSummary]:
        """Return open user tasks and the total."""
        found = ordered(self._tasks(partition, query), task_order(query.paging.sorts))
        return page(found, query.paging, rows.task_summary)

    def count_tasks(self, partition: Partition, query: TaskQuery) -> int:
        """Return the number of open user tasks."""
        return len(self._tasks(partition, query))

    def mark_opened(self, partition: Partition, task_id: str, at: datetime) -> None:
        """Note the first opening, on the task and on its open round."""
        row = self._transaction.get("bookmarks", (task_id,), partition)
        if row is None or row["opened_at"] is not None:
            return
        self._transaction.update("bookmarks", row, opened_at=at)
        for record in self._transaction.of_instance("task_records", partition, row["instance_id"]):
            if record["task_id"] == task_id and record["ended_at"] is None:
                self._transaction.update("task_records", record, opened_at=at)

    def any_due(self, now: datetime, lanes: Sequence[Lane], without: Collection[Partition] = ()) -> bool:
        """Whether there is something to claim."""
        return bool(self._claimable(now, lanes, without))

    def claim_due(
        self,
        now: datetime,
        limit: int,
        token: str,
        until: datetime,
        lanes: Sequence[Lane],
        without: Collection[Partition] = (),
    ) -> Sequence[DueBookmark]:
        """Claim due bookmarks of all partitions but some."""
        claimed = by_time(self._claimable(now, lanes, without), "due_at")[:limit]
        for row in claimed:
            self._transaction.update("bookmarks", row, claim_token=token, claimed_until=until)
        return [rows.due_bookmark(row) for row in claimed]

    def give_back(self, token: str, bookmark_ids: Sequence[str]) -> int:
        """Free the claims of these bookmarks."""
        wanted = set(bookmark_ids)
        found = self._transaction.rows("bookmarks", lambda row: row["claim_token"] == token and row["id"] in wanted)
        for row in found:
            self._transaction.update("bookmarks", row, claim_token=None, claimed_until=None)
        return len(found)

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so."""
        return release_claims(self._transaction, "bookmarks", token_prefix)

    def claim_tokens(self) -> Sequence[str]:
        """Return the distinct tokens of claims, of follow-ups too."""
        held = [
            row["claim_token"]
            for table in ("bookmarks", "follow_ups")
            for row in self._transaction.rows(table, lambda row: row["claim_token"] is not None)
        ]
        return sorted(set(held))

    def push_back(self, partition: Partition, bookmark_id: str, due_at: datetime, failures: int) -> None:
        """Set a new due time and drop the claim."""
        row = self._transaction.get("bookmarks", (bookmark_id,), partition)
        if row is not None:
            self._transaction.update(
                "bookmarks",
                row,
                due_at=due_at,
                original_due_at=row["original_due_at"] or row["due_at"],
                failures=failures,
                claim_token=None,
                claimed_until=None,
            )

    def delete(self, partition: Partition, bookmark_ids: Sequence[str]) -> None:
        """Delete bookmarks."""
        for bookmark_id in bookmark_ids:
            self._transaction.remove("bookmarks", (bookmark_id,), partition)

    def next_due(self, lanes: Sequence[Lane], without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest due time of unclaimed bookmarks."""
        served = self._transaction.served(without)
        found = self._transaction.rows(
            "bookmarks",
            lambda row: (
                row["due_at"] is not None
                and row["claim_token"] is None
                and lane_of(BookmarkKind(row["kind"]), row["key"]) in lanes
                and served(row)
            ),
        )
        return min((row["due_at"] for row in found), default=None)

    def _claimable(self, now: datetime, lanes: Sequence[Lane], without: Collection[Partition]) -> Sequence[Row]:
        served = self._transaction.served(without)
        return self._transaction.rows(
            "bookmarks",
            lambda row: (
                _due(row, now)
                and is_free(row, now)
                and lane_of(BookmarkKind(row["kind"]), row["key"]) in lanes
                and served(row)
            ),
        )

    def _tasks(self, partition: Partition, query: TaskQuery) -> Sequence[Row]:
        return self._transaction.rows(
            "bookmarks", lambda row: row["tenant_id"] == partition and _is_open_task(row) and _matches(row, query)
        )


def is_free(row: Row, now: datetime) -> bool:
    """Whether nobody holds a claim on the row at that time."""
    return row["claimed_until"] is None or row["claimed_until"] <= now


def release_claims(transaction: Transaction, table: str, token_prefix: str) -> int:
    """Free the claims of a table whose token begins so."""
    found = transaction.rows(
        table, lambda row: row["claim_token"] is not None and row["claim_token"].startswith(token_prefix)
    )
    for row in found:
        transaction.update(table, row, claim_token=None, claimed_until=None)
    return len(found)


def _bookmark(row: Row) -> Bookmark:
    return rows.bookmark_from(row["document"], *(row[name] for name in rows.BOOKMARK_OVERLAY))


def _due(row: Row, now: datetime) -> bool:
    return row["due_at"] is not None and row["due_at"] <= now


def _is_open_task(row: Row) -> bool:
    open_task = (row["kind"], row["instance_status"]) == (BookmarkKind.USER_TASK.value, "Running")
    # A decision that can still be undone has decided the task for everybody (spec 6.7).
    return open_task and row["available_at"] is None


def _matches(row: Row, query: TaskQuery) -> bool:
    keyword = fold_keyword(query.keyword)
    equal = (
        ("key", query.assignee),
        ("definition_name", query.definition_name),
        ("instance_id", query.instance_id),
    )
    return (
        all(value is None or row[column] == value for column, value in equal)
        and (query.instance_ids is None or row["instance_id"] in query.instance_ids)
        and _in_scope(row, query)
        and (keyword is None or _contains((row["search_title"], row["search_instance_text"]), keyword))
        and within(row["created_at"], query.created_from, query.created_to)
        and within(row["task_due_at"], None, query.due_before)
    )


def _contains(fields: Iterable[str | None], keyword: str) -> bool:
    return any(field is not None and keyword in field for field in fields)


def _in_scope(row: Row, query: TaskQuery) -> bool:
    if query.mine is None and query.claimable is None:
        return True
    is_mine = query.mine is not None and _mine(row, query)
    return is_mine or (query.claimable is not None and _claimable(row, query.claimable))


def _mine(row: Row, query: TaskQuery) -> bool:
    if not query.mine or row["claimed_by"] not in (None, row["key"]):
        return False
    stands_in = any(
        row["key"] == absent and (not limits or row["definition_name"] in limits) for absent, limits in query.stands_in
    )
    return stands_in or row["key"] == query.mine[0]


def _claimable(row: Row, principals: Sequence[str]) -> bool:
    if row["claimed_by"] is not None or not principals:
        return False
    return row["key"] in principals[1:] or bool(row["claimable"] and row["key"] == principals[0])
