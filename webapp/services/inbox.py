"""The inbox: lists of open tasks, one task, and what its people may do with it (spec 6.2 to 6.7, 25 Tasks)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_READ, TASKS_ALL
from webapp.engine.errors import (
    InputInvalid,
    WorkflowError,
)
from webapp.engine.instances.journal import AuditEntry, TaskRecord
from webapp.engine.instances.limits import MAX_OUTCOME
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.queries import (
    MAX_LIMIT,
    TASK_SORTS,
    DoneTaskSummary,
    Page,
    Paging,
    TaskQuery,
    TaskSummary,
    check_page,
)
from webapp.engine.ports.stores import InstanceSnapshot, UnitOfWork
from webapp.engine.runtime.commands import Command, Wave
from webapp.services.access import lacking
from webapp.services.definitions import Prepared
from webapp.services.task_rights import rights_of
from webapp.services.task_sharing import TaskSharing
from webapp.services.task_views import open_detail
from webapp.services.task_work import task_in
from webapp.services.texts import require_text
from webapp.services.trail import latest_commands, task_trail
from webapp.services.views import TaskDetail, TaskOfBatch, TaskResult

MINE = "mine"
CLAIMABLE = "claimable"
ALL = "all"
SCOPES = (MINE, CLAIMABLE, ALL)
MAX_ADDED = 100
MAX_UNDO = 30
MAX_BATCH = 100
"""Tasks decided in one call: a thread works through them one by one."""


class InboxService(TaskSharing):
    """The use cases of user tasks."""

    def query(self, actor: Actor, query: TaskQuery | None = None, *, scope: str | None = None) -> Page[TaskSummary]:
        """Return a page of open tasks: mine (the default), claimable, or all.

        ``all``, and a filter on somebody else's ``assignee``, need the permission ``tasks:all``.
        """
        self.catch_up(actor)
        asked = _scoped(actor, query or TaskQuery(), scope)
        check_page("tasks", asked.paging, TASK_SORTS)
        return self._storage.read(actor.partition, lambda work: work.bookmarks.list_tasks(actor.partition, asked))

    def counts(self, actor: Actor) -> dict[str, int]:
        """Return how many open tasks are mine and how many I could claim."""
        self.catch_up(actor)

        def block(work: UnitOfWork) -> dict[str, int]:
            return {
                MINE: work.bookmarks.count_tasks(
                    actor.partition, TaskQuery(mine=actor.principals, stands_in=_absences(actor))
                ),
                CLAIMABLE: work.bookmarks.count_tasks(actor.partition, TaskQuery(claimable=actor.principals)),
            }

        return self._storage.read(actor.partition, block)

    def done(self, actor: Actor, keyword: str | None = None, paging: Paging | None = None) -> Page[DoneTaskSummary]:
        """Return a page of what the actor has decided, the latest decision first."""
        self.catch_up(actor)
        asked = paging or Paging()
        check_page("tasks", asked, ())
        return self._storage.read(
            actor.partition,
            lambda work: work.task_records.done_by(actor.partition, actor.name, keyword, asked),
        )

    def of_instances(self, actor: Actor, instance_ids: Sequence[str]) -> Sequence[TaskSummary]:
        """Return the open tasks of a page of instances: whom each waits for.

        Instances that the actor may not read by permission, and did not start, are left out.
        """
        if not instance_ids:
            return []
        query = TaskQuery(instance_ids=tuple(instance_ids), paging=Paging(limit=MAX_LIMIT))
        found = self._storage.read(actor.partition, lambda work: work.bookmarks.list_tasks(actor.partition, query))
        return [task for task in found.items if actor.may(INSTANCES_READ) or task.starter_id == actor.name]

    def get(self, actor: Actor, task_id: str) -> TaskDetail:
        """Return a task, open or ended, to its people and to whoever may read its instance.

        :raises NotFound: no such task ever was, or in another partition. :raises Denied: the actor has no part in it.
        """
        self.catch_up(actor)
        bookmark = self._bookmark(actor, task_id)
        if bookmark is None or bookmark.instance_id is None:
            return self._ended(actor, task_id)
        instance_id = bookmark.instance_id

        def block(work: UnitOfWork) -> tuple[InstanceSnapshot | None, Sequence[TaskRecord], Sequence[AuditEntry]]:
            return (
                work.instances.snapshot(actor.partition, instance_id),
                work.task_records.by_instance(actor.partition, instance_id),
                latest_commands(work, actor.partition, instance_id),
            )

        snapshot, records, entries = self._storage.read(actor.partition, block)
        current = task_in(snapshot, task_id)
        if snapshot is None or current is None:
            return self._ended(actor, task_id)
        prepared = self._definitions.get(actor.partition, snapshot.instance.definition_id)
        substitute = actor.stands_in_for(current.key or "", snapshot.instance.definition_name)
        if not self._concerns(actor, current) and not substitute and not actor.may(TASKS_ALL):
            self._require_read(actor, snapshot.instance, prepared)
        return msgspec.structs.replace(
            self._flagged(actor, open_detail(snapshot, current, prepared.definition)),
            trail=task_trail(prepared.definition, records, entries),
            rights=rights_of(actor, current, snapshot, prepared.definition),
        )

    def complete(
        self,
        actor: Actor,
        task_id: str,
        outcome: str,
        comment: str | None = None,
        variables: JsonObject | None = None,
        *,
        undo_seconds: int | Decimal = 0,
    ) -> TaskResult:
        """Decide a task (6.2); for *undo_seconds* (0 to 30) it can be undone before it is carried out (6.7).

        :raises Denied: it is somebody else's. :raises Conflict: it is done already: who, what and when are in the
            details. :raises InputInvalid: the outcome is not allowed, or a variable may not be written.
        """
        # Blank arguments come before a missing task (6.2); what else is wrong the engine finds.
        require_text("outcome", outcome, MAX_OUTCOME)
        if not 0 <= undo_seconds <= MAX_UNDO:
            raise InputInvalid("services.task.undo_seconds", path="undoSeconds", params={"max": MAX_UNDO})

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            if undo_seconds:
                return self._engine.hold_decision(
                    snapshot,
                    prepared.compiled,
                    task_id,
                    outcome=outcome,
                    comment=comment,
                    variables=variables,
                    undo_seconds=undo_seconds,
                    command=command,
                )
            return self._engine.complete_task(
                snapshot,
                prepared.compiled,
                task_id,
                outcome=outcome,
                comment=comment,
                variables=variables,
                command=command,
            )

        return self._act(actor, task_id, "complete", act, operator=False)

    def undo(self, actor: Actor, task_id: str) -> TaskResult:
        """Take one's own decision back while it is not carried out (6.7).

        :raises Conflict: it is, or there is none. :raises Denied: somebody else decided.
        """

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.undo_decision(snapshot, prepared.compiled, task_id, command=command)

        return self._act(actor, task_id, "undo", act, operator=False)

    def complete_each(
        self,
        actor: Actor,
        task_ids: Sequence[str],
        outcome: str,
        comment: str | None = None,
        variables: JsonObject | None = None,
    ) -> list[TaskOfBatch]:
        """Decide several tasks alike, one after the other: each a command of its own, so that some may fail (11).

        :raises InputInvalid: no task, or more than can be done in one call.
        """
        chosen = list(dict.fromkeys(task_ids))
        if not 1 <= len(chosen) <= MAX_BATCH:
            raise InputInvalid("services.task.batch_size", path="ids", params={"max": MAX_BATCH})
        require_text("outcome", outcome, MAX_OUTCOME)

        def one(task_id: str) -> TaskOfBatch:
            try:
                return TaskOfBatch(id=task_id, result=self.complete(actor, task_id, outcome, comment, variables))
            except WorkflowError as error:
                return TaskOfBatch(id=task_id, error=error)

        return [one(task_id) for task_id in chosen]

    def transfer(self, actor: Actor, task_id: str, to: str, comment: str | None = None) -> TaskResult:
        """Hand a task over to somebody else, as its assignee or as operator (6.4, 6.7)."""

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.transfer_task(
                snapshot, prepared.compiled, task_id, to=to, comment=comment, command=command
            )

        return self._act(actor, task_id, "transfer", act, operator=True)

    def add(
        self,
        actor: Actor,
        task_id: str,
        assignees: Sequence[str],
        position: str = "parallel",
        comment: str | None = None,
    ) -> TaskResult:
        """Add people who decide as well, as the assignee or as operator (6.4, 6.7)."""
        _check_count(assignees)

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.add_signers(
                snapshot,
                prepared.compiled,
                task_id,
                assignees=assignees,
                position=position,
                comment=comment,
                command=command,
            )

        return self._act(actor, task_id, "add", act, operator=True)

    def remove(self, actor: Actor, task_id: str, assignees: Sequence[str], comment: str | None = None) -> TaskResult:
        """Take people off who have not decided, as the one who added them or as operator (6.7)."""
        _check_count(assignees)

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.remove_signers(
                snapshot, prepared.compiled, task_id, assignees=assignees, comment=comment, command=command
            )

        return self._act(actor, task_id, "remove", act, operator=True)

    def mark_opened(self, actor: Actor, task_id: str) -> None:
        """Note when its assignee first looked at a task; anybody else's look is not noted."""
        bookmark = self._bookmark(actor, task_id)
        if bookmark is None or bookmark.opened_at is not None or not self._concerns(actor, bookmark):
            return
        at = self._clock.now()
        self._storage.write(actor.partition, lambda work: work.bookmarks.mark_opened(actor.partition, task_id, at))


def _check_count(assignees: Sequence[str]) -> None:
    if len(assignees) > MAX_ADDED:
        raise InputInvalid("services.input.too_many", path="assignees", params={"max": MAX_ADDED})


def _absences(actor: Actor) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((one.absent, one.definitions) for one in actor.stands_in)


def _scoped(actor: Actor, query: TaskQuery, scope: str | None) -> TaskQuery:
    chosen = scope or (ALL if query.assignee is not None else MINE)
    if chosen not in SCOPES:
        params = {"value": chosen, "known": ", ".join(SCOPES)}
        raise InputInvalid("services.task.scope", path="scope", params=params)
    others = chosen == ALL and query.assignee != actor.name
    if (others or query.assignee not in (None, actor.name)) and not actor.may(TASKS_ALL):
        raise lacking(TASKS_ALL)
    return msgspec.structs.replace(
        query,
        mine=actor.principals if chosen == MINE else None,
        stands_in=_absences(actor) if chosen == MINE else (),
        claimable=actor.principals if chosen == CLAIMABLE else None,
    )
