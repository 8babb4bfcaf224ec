"""How an action on a task runs: who acts as whom, and what whoever is too late is told (spec 6.2, 6.7, 25 Tasks)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import TASKS_ALL
from webapp.engine.clock import Clock
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    NOTFOUND_BOOKMARK,
    Conflict,
    Denied,
    NotFound,
    WorkflowError,
)
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, EndReason, TaskRecord
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.instances.principals import is_group
from webapp.engine.ports.stores import InstanceSnapshot, UnitOfWork
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.engine import Engine
from webapp.services.access import may_read, not_assignee
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.storage import Storage
from webapp.services.task_views import ended_detail, open_detail, signers_in, standing
from webapp.services.trail import latest_commands, task_trail
from webapp.services.views import TaskDetail, TaskResult

Act = Callable[[InstanceSnapshot, Prepared, Command], Wave]


class TaskWork:
    """What every service of user tasks does alike."""

    def __init__(
        self, *, engine: Engine, storage: Storage, commands: Commands, definitions: DefinitionCache, clock: Clock
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._definitions = definitions
        self._clock = clock
        self.known: Callable[[str | None, Collection[str]], Collection[str]] = lambda partition, names: names
        """Returns those of the names that are accounts of the partition."""
        self.catch_up: Callable[[Actor], None] = lambda actor: None
        """Carries out what the actor decided earlier and can no longer undo."""
        self.decided: Callable[[Actor, Wave], None] = lambda actor, wave: None
        """Told of a decision that can be undone."""

    def act(self, actor: Actor, task_id: str, action: str, act: Act, *, history: bool = False) -> TaskResult:
        """Run a command of the task's assignee; *history*: it needs all node instances."""
        return self._act(actor, task_id, action, act, operator=False, history=history)

    def _act(
        self, actor: Actor, task_id: str, action: str, act: Act, *, operator: bool, history: bool = False
    ) -> TaskResult:
        bookmark = self._bookmark(actor, task_id)
        if bookmark is None or bookmark.instance_id is None:
            raise self._gone(actor, task_id)
        mine = self._concerns(actor, bookmark) or any(one.absent == bookmark.key for one in actor.stands_in)
        base = self._commands.command(actor, action)
        details: list[TaskDetail] = []

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            current = task_in(snapshot, task_id)
            if current is None:
                raise self._gone(actor, task_id)
            detail = open_detail(snapshot, current, prepared.definition)
            command = _acting(actor, current, snapshot.instance.definition_name, base, operator=operator)
            try:
                wave = act(snapshot, prepared, command)
            except Denied as denied:
                raise self._lost_or(denied, actor, task_id, mine=mine) from denied
            details[:] = [_after(detail, wave, task_id)]
            return wave

        wave = self._commands.change(
            actor.partition, bookmark.instance_id, decide, lost=lambda: self._gone(actor, task_id), history=history
        )
        if wave.write_set.new_follow_ups:
            self.decided(actor, wave)
        status = self._commands.as_it_stands(wave).status
        return TaskResult(task=details[0], instance_id=wave.instance.id, instance_status=status)

    def _flagged(self, actor: Actor, detail: TaskDetail) -> TaskDetail:
        """Return a task whose signers without an account are marked: they are kept, but will not see it (6.7)."""
        known = self.known(actor.partition, [signer.id for signer in detail.signers])
        signers = [
            signer if signer.id in known or is_group(signer.id) else msgspec.structs.replace(signer, unknown=True)
            for signer in detail.signers
        ]
        return msgspec.structs.replace(detail, signers=signers)

    def _bookmark(self, actor: Actor, task_id: str) -> Bookmark | None:
        found = self._storage.read(actor.partition, lambda work: work.bookmarks.find(actor.partition, task_id))
        return found if found is not None and found.kind is BookmarkKind.USER_TASK else None

    def _concerns(self, actor: Actor, bookmark: Bookmark) -> bool:
        return bookmark.claimed_by == actor.name or (bookmark.key or "") in actor.principals

    def _lost_or(self, denied: Denied, actor: Actor, task_id: str, *, mine: bool) -> WorkflowError:
        # It was the actor's when looked up and is not under the lease: somebody handed it over in between.
        lost = mine and denied.key == "workflow.task.not_assignee"
        return self._gone(actor, task_id) if lost else denied

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
        if actor.name not in (last.assignee_id, last.actor_id) and not actor.may(TASKS_ALL):
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


def _acting(actor: Actor, task: Bookmark, definition_name: str, command: Command, *, operator: bool) -> Command:
    """Return the command as the assignee's, as a substitute's, or as an operator's where those may do it (6.7, D34)."""
    own = actor.name in (task.key, task.claimed_by)
    if not own and actor.stands_in_for(task.key or "", definition_name):
        return msgspec.structs.replace(command, on_behalf_of=task.key)
    as_operator = operator and actor.may(TASKS_ALL) and (not own or command.action == "remove")
    return msgspec.structs.replace(command, as_operator=as_operator)


def task_in(snapshot: InstanceSnapshot | None, task_id: str) -> Bookmark | None:
    """Return the open task of an instance, or None."""
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
            return msgspec.structs.replace(detail, **standing(bookmark))
    return detail
