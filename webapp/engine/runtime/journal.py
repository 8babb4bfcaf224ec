"""The task records that a wave writes: a round opens with its task and ends by what happens to it (spec 1.17, 25)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import EndReason, TaskCopy, TaskEnd, TaskMove, TaskRecord
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.runtime.commands import Command


class TaskJournal:
    """The rounds that one wave opens and ends."""

    def __init__(self, instance: WorkflowInstance, now: datetime) -> None:
        self._instance = instance
        self._now = now
        self.records: dict[tuple[str, int], TaskRecord] = {}
        self.ends: list[TaskEnd] = []
        self.copies: list[TaskCopy] = []
        self.moves: list[TaskMove] = []

    def created(self, bookmark: Bookmark, copies: tuple[str, ...]) -> None:
        """Open the first round of a new task."""
        self.opened(bookmark)
        for user_id in copies:
            self.copies.append(
                TaskCopy(task_id=bookmark.id, instance_id=self._instance.id, user_id=user_id, created_at=self._now)
            )

    def opened(self, bookmark: Bookmark) -> None:
        """Open the round that the bookmark now stands for."""
        instance = self._instance
        self.records[(bookmark.id, bookmark.round)] = TaskRecord(
            task_id=bookmark.id,
            round=bookmark.round,
            tenant_id=instance.tenant_id,
            instance_id=instance.id,
            root_instance_id=instance.root_instance_id,
            node_id=bookmark.node_id or "",
            node_instance_id=bookmark.node_instance_id or "",
            definition_name=instance.definition_name,
            definition_title=instance.definition_title,
            instance_title=instance.title,
            starter_id=instance.starter_id,
            title=bookmark.title or "",
            correlation_id=bookmark.correlation_id or instance.correlation_id,
            assignee_id=bookmark.key or "",
            priority=bookmark.priority,
            task_due_at=bookmark.task_due_at,
            created_at=self._now,
        )

    def ended(self, bookmark: Bookmark, reason: EndReason) -> None:
        """End the task's round without anybody's decision."""
        self._end(TaskEnd(task_id=bookmark.id, round=bookmark.round, ended_at=self._now, end_reason=reason))

    def decided(
        self,
        bookmark: Bookmark,
        reason: EndReason,
        command: Command,
        *,
        actor_id: str | None,
        outcome: str | None = None,
        comment: str | None = None,
    ) -> None:
        """End the task's round by what a person did."""
        self._end(
            TaskEnd(
                task_id=bookmark.id,
                round=bookmark.round,
                ended_at=self._now,
                end_reason=reason,
                actor_id=actor_id,
                on_behalf_of=command.on_behalf_of,
                as_operator=command.as_operator,
                outcome=outcome,
                comment=comment,
            )
        )

    def number(self, next_number: Callable[[], int]) -> None:
        """Give the new records their numbers in the instance's write order."""
        for record in self.records.values():
            record.sequence = next_number()

    def _end(self, end: TaskEnd) -> None:
        record = self.records.get((end.task_id, end.round))
        if record is None:
            self.ends.append(end)
            return
        # Opened in this very wave: the row is not there yet, so it is written as ended.
        record.ended_at = end.ended_at
        record.end_reason = end.end_reason
        record.actor_id = end.actor_id
        record.on_behalf_of = end.on_behalf_of
        record.as_operator = end.as_operator
        record.outcome = end.outcome
        record.comment = end.comment
