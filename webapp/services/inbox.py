"""The inbox: lists of open tasks, one task, and what its people may do with it (spec 6.2 to 6.7, 25 Tasks)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_READ, TASKS_ALL
from webapp.engine.clock import Clock
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    DENIED_ACTOR,
    NOTFOUND_BOOKMARK,
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
    WorkflowError,
)
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, EndReason, TaskRecord
from webapp.engine.instances.limits import MAX_OUTCOME
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.queries import MAX_LIMIT, TASK_SORTS, Page, Paging, TaskQuery, TaskSummary, check_page
from webapp.engine.ports.stores import InstanceSnapshot, UnitOfWork
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.engine import Engine
from webapp.services.access import lacking, may_read, not_assignee
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.storage import Storage
from webapp.services.task_views import ended_detail, open_detail, signers_in
from webapp.services.texts import require_text
from webapp.services.trail import latest_commands, task_trail
from webapp.services.views import TaskDetail, TaskResult, TaskRights

MINE = "mine"
CLAIMABLE = "claimable"
ALL = "all"
SCOPES = (MINE, CLAIMABLE, ALL)
MAX_ADDED = 100

Act = Callable[[InstanceSnapshot, Prepared, Command], Wave]


class InboxService:
    """The use cases of user tasks."""

    def __init__(
        self, *, engine: Engine, storage: Storage, commands: Commands, definitions: DefinitionCache, clock: Clock
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._definitions = definitions
        self._clock = clock

    def query(self, actor: Actor, query: TaskQuery | None = None, *, scope: str | None = None) -> Page[TaskSummary]:
        """Return a page of open tasks: mine (the default), claimable, or all.

        ``all``, and a filter on somebody else's ``assignee``, need the permission ``tasks:all``.
        """
        asked = _scoped(actor, query or TaskQuery(), scope)
        check_page("tasks", asked.paging, TASK_SORTS)
        return self._storage.read(actor.partition, lambda work: work.bookmarks.list_tasks(actor.partition, asked))

    def counts(self, actor: Actor) -> dict[str, int]:
        """Return how many open tasks are mine and how many I could claim."""

        def block(work: UnitOfWork) -> dict[str, int]:
            return {
                MINE: work.bookmarks.count_tasks(actor.partition, TaskQuery(mine=actor.principals)),
                CLAIMABLE: work.bookmarks.count_tasks(actor.partition, TaskQuery(claimable=actor.principals)),
            }

        return self._storage.read(actor.partition, block)

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
        current = _task(snapshot, task_id)
        if snapshot is None or current is None:
            return self._ended(actor, task_id)
        prepared = self._definitions.get(actor.partition, snapshot.instance.definition_id)
        if not self._concerns(actor, current) and not actor.may(TASKS_ALL):
            self._require_read(actor, snapshot.instance, prepared)
        return msgspec.structs.replace(
            open_detail(snapshot, current, prepared.definition),
            trail=task_trail(prepared.definition, records, entries),
            rights=self._rights(actor, current, snapshot.instance),
        )

    def complete(
        self,
        actor: Actor,
        task_id: str,
        outcome: str,
        comment: str | None = None,
        variables: JsonObject | None = None,
    ) -> TaskResult:
        """Decide a task (6.2).

        :raises Denied: it is somebody else's. :raises Conflict: it is done already: who, what and when are in the
            details. :raises InputInvalid: the outcome is not allowed, or a variable may not be written.
        """
        # Blank arguments come before a missing task (6.2); what else is wrong the engine finds.
        require_text("outcome", outcome, MAX_OUTCOME)

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
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
        if len(assignees) > MAX_ADDED:
            raise InputInvalid("services.input.too_many", path="assignees", params={"max": MAX_ADDED})

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

    def mark_opened(self, actor: Actor, task_id: str) -> None:
        """Note when its assignee first looked at a task; anybody else's look is not noted."""
        bookmark = self._bookmark(actor, task_id)
        if bookmark is None or bookmark.opened_at is not None or not self._concerns(actor, bookmark):
            return
        at = self._clock.now()
        self._storage.write(actor.partition, lambda work: work.bookmarks.mark_opened(actor.partition, task_id, at))

    def _act(self, actor: Actor, task_id: str, action: str, act: Act, *, operator: bool) -> TaskResult:
        bookmark = self._bookmark(actor, task_id)
        if bookmark is None or bookmark.instance_id is None:
            raise self._gone(actor, task_id)
        mine = self._concerns(actor, bookmark)
        as_operator = operator and not mine and actor.may(TASKS_ALL)
        command = self._commands.command(actor, action, as_operator=as_operator)
        details: list[TaskDetail] = []

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            current = _task(snapshot, task_id)
            if current is None:
                raise self._gone(actor, task_id)
            detail = open_detail(snapshot, current, prepared.definition)
            try:
                wave = act(snapshot, prepared, command)
            except Denied as denied:
                raise self._lost_or(denied, actor, task_id, mine=mine) from denied
            details[:] = [_after(detail, wave, task_id)]
            return wave

        wave = self._commands.change(
            actor.partition, bookmark.instance_id, decide, lost=lambda: self._gone(actor, task_id)
        )
        return TaskResult(task=details[0], instance_id=wave.instance.id, instance_status=wave.instance.status)

    def _bookmark(self, actor: Actor, task_id: str) -> Bookmark | None:
        found = self._storage.read(actor.partition, lambda work: work.bookmarks.find(actor.partition, task_id))
        return found if found is not None and found.kind is BookmarkKind.USER_TASK else None

    def _concerns(self, actor: Actor, bookmark: Bookmark) -> bool:
        return bookmark.claimed_by == actor.name or (bookmark.key or "") in actor.principals

    def _rights(self, actor: Actor, bookmark: Bookmark, instance: WorkflowInstance) -> TaskRights:
        if instance.status is not InstanceStatus.RUNNING:
            return TaskRights()
        mine = bookmark.key == actor.name and bookmark.claimed_by in (None, actor.name)
        operator = actor.may(TASKS_ALL)
        return TaskRights(complete=mine, transfer=mine or operator, add=mine or operator)

    def _lost_or(self, denied: Denied, actor: Actor, task_id: str, *, mine: bool) -> WorkflowError:
        # It was the actor's when looked up and is not under the lease: somebody handed it over in between.
        return self._gone(actor, task_id) if mine and denied.code == DENIED_ACTOR else denied

    def _gone(self, actor: Actor, task_id: str) -> WorkflowError:
        """Return why a task cannot be acted on any more: by whom, how and when it ended, if one may know (D36)."""
        last, instance = self._record(actor, task_id)
        if last is None or instance is None:
            return NotFound("workflow.task.not_found", code=NOTFOUND_BOOKMARK, params={"id": task_id})
        prepared = self._definitions.get(actor.partition, instance.definition_id)
        if not self._may_read(actor, instance, prepared):
            return not_assignee()
        timeout = last.end_reason is EndReason.TIMEOUT
        details = {
            "endReason": last.end_reason.value if last.end_reason else None,
            "completedBy": None if timeout else last.actor_id,
            "outcome": last.outcome,
            "at": last.ended_at,
        }
        return Conflict("services.task.ended", code=CONFLICT_BOOKMARK, params={"id": task_id}, details=details)

    def _record(self, actor: Actor, task_id: str) -> tuple[TaskRecord | None, WorkflowInstance | None]:
        """Return the last round of a task that ended, and its instance."""

        def block(work: UnitOfWork) -> tuple[TaskRecord | None, WorkflowInstance | None]:
            last = work.task_records.latest(actor.partition, task_id)
            if last is None:
                return None, None
            if last.ended_at is None:
                rounds = work.task_records.by_instance(actor.partition, last.instance_id)
                last = max(
                    (one for one in rounds if one.task_id == task_id and one.ended_at is not None),
                    key=lambda one: one.round,
                    default=last,
                )
            if last.end_reason is EndReason.SIBLING:
                last = _as_decided(last, work.task_records.by_instance(actor.partition, last.instance_id))
            return last, work.instances.find(actor.partition, last.instance_id)

        return self._storage.read(actor.partition, block)

    def _ended(self, actor: Actor, task_id: str) -> TaskDetail:
        last, instance = self._record(actor, task_id)
        if last is None or instance is None:
            raise NotFound("workflow.task.not_found", code=NOTFOUND_BOOKMARK, params={"id": task_id})
        prepared = self._definitions.get(actor.partition, instance.definition_id)
        if actor.name != last.assignee_id and not actor.may(TASKS_ALL):
            self._require_read(actor, instance, prepared)

        def block(work: UnitOfWork) -> tuple[Sequence[TaskRecord], Sequence[AuditEntry]]:
            return (
                work.task_records.by_instance(actor.partition, instance.id),
                latest_commands(work, actor.partition, instance.id),
            )

        records, entries = self._storage.read(actor.partition, block)
        return msgspec.structs.replace(
            ended_detail(last, instance, prepared.definition), trail=task_trail(prepared.definition, records, entries)
        )

    def _may_read(self, actor: Actor, instance: WorkflowInstance, prepared: Prepared) -> bool:
        return self._storage.read(actor.partition, lambda work: may_read(actor, instance, prepared.definition, work))

    def _require_read(self, actor: Actor, instance: WorkflowInstance, prepared: Prepared) -> None:
        if not self._may_read(actor, instance, prepared):
            raise not_assignee()


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
        claimable=actor.principals if chosen == CLAIMABLE else None,
    )


def _task(snapshot: InstanceSnapshot | None, task_id: str) -> Bookmark | None:
    if snapshot is None:
        return None
    for bookmark in snapshot.bookmarks:
        if bookmark.id == task_id and bookmark.kind is BookmarkKind.USER_TASK:
            return bookmark
    return None


def _as_decided(sibling: TaskRecord, records: Sequence[TaskRecord]) -> TaskRecord:
    """Return a task that another signer's decision made needless, with who decided and how (D36)."""
    for record in records:
        same_end = record.node_instance_id == sibling.node_instance_id and record.ended_at == sibling.ended_at
        if same_end and record.end_reason is EndReason.COMPLETED:
            return msgspec.structs.replace(
                sibling, actor_id=record.actor_id, on_behalf_of=record.on_behalf_of, outcome=record.outcome
            )
    return sibling


def _after(detail: TaskDetail, wave: Wave, task_id: str) -> TaskDetail:
    """Return the task as the wave leaves it: ended, or with its new assignee; and all its signers."""
    for execution in wave.write_set.node_instances:
        if execution.id == detail.node_instance_id:
            detail = msgspec.structs.replace(detail, signers=signers_in(execution.state))
    for end in wave.write_set.task_ends:
        if end.task_id == task_id and task_id in wave.write_set.deleted_bookmark_ids:
            return msgspec.structs.replace(
                detail,
                status="ended",
                completed_by=end.actor_id,
                on_behalf_of=end.on_behalf_of,
                outcome=end.outcome,
                comment=end.comment,
                ended_at=end.ended_at,
                end_reason=end.end_reason,
            )
    for bookmark in wave.write_set.changed_bookmarks:
        if bookmark.id == task_id:
            return msgspec.structs.replace(detail, assignee_id=bookmark.key or "")
    return detail
