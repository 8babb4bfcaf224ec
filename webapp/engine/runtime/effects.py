"""The working copy of one wave: what it has changed so far, and the write set made of it (spec 3.11, 3.22).

Nothing that came from a store is changed: the instance is copied at the beginning, node instances and bookmarks before
they change. The values inside variables are shared and never changed in place.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from datetime import datetime

from webapp.engine.activities.api import BookmarkRequest
from webapp.engine.activities.compiled import CompiledDefinition, CompiledNode
from webapp.engine.clock import next_sequence
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, EndReason, Event, FollowUp, LogLine
from webapp.engine.instances.model import InstanceStatus, JoinState, NodeInstance, NodeStatus, WorkflowInstance
from webapp.engine.notifications.recipients import NodeMessage
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.ports.stores import InstanceSnapshot, WriteSet
from webapp.engine.ports.transactions import RunAlone
from webapp.engine.runtime import events as topics
from webapp.engine.runtime.callbacks import Callbacks
from webapp.engine.runtime.commands import Command, Kit, Wave
from webapp.engine.runtime.journal import TaskJournal
from webapp.engine.runtime.variables import Variables
from webapp.engine.runtime.waits import Waits
from webapp.engine.tasks.external_tasks import external_task_id


class WaveState:
    """One wave at work; made for one command and thrown away with it."""

    def __init__(
        self,
        kit: Kit,
        compiled: CompiledDefinition,
        instance: WorkflowInstance,
        command: Command,
        now: datetime,
        *,
        snapshot: InstanceSnapshot | None = None,
    ) -> None:
        self.kit = kit
        self.compiled = compiled
        self.command = command
        self.now = now
        self.instance = instance if snapshot is None else _owned(instance)
        self.variables = Variables(self.instance.variables)
        self.waits = Waits(() if snapshot is None else snapshot.bookmarks)
        self.tasks = TaskJournal(self.instance, now)
        self.events: list[Event] = []
        self.log_lines: list[LogLine] = []
        self.node_messages: list[NodeMessage] = []
        self.callbacks = Callbacks(instance.tenant_id)
        self.follow_ups: list[FollowUp] = []
        self.remarks: list[AuditEntry] = []
        self.outside_effects = False
        self.facts: JsonObject = {}
        """What the trail tells of the command beside what changed."""
        self.definition_changed = False
        self._effects: Counter[str] = Counter()
        self._status_before = None if snapshot is None else instance.status
        self._revision_before = instance.revision
        self._sequence = next_sequence(instance.last_sequence, now) - 1
        self._loaded = {} if snapshot is None else _loaded(snapshot)
        self._nodes: dict[str, NodeInstance] = {}
        self._instance_data: JsonObject | None = None

    def number(self) -> int:
        """Return the next number of this instance's write order."""
        self._sequence += 1
        return self._sequence

    # --- node instances ---------------------------------------------------------------------

    def open_node(self, node: CompiledNode, caused_by: list[str], via: list[str]) -> NodeInstance:
        """Return a new node instance, Running."""
        instance = self.instance
        made = NodeInstance(
            id=self.kit.ids.new(),
            tenant_id=instance.tenant_id,
            sequence=self.number(),
            instance_id=instance.id,
            node_id=node.id,
            name=node.name,
            activity_type=node.node.activity_type,
            started_at=self.now,
            caused_by=caused_by,
            via_transition_ids=via,
        )
        self._nodes[made.id] = made
        return made

    def touch(self, node_instance_id: str | None) -> NodeInstance | None:
        """Return the wave's own copy of a node instance, or None when it is not there."""
        if node_instance_id is None:
            return None
        found = self._nodes.get(node_instance_id)
        if found is None:
            loaded = self._loaded.get(node_instance_id)
            if loaded is None:
                return None
            found = self._nodes[node_instance_id] = copy.copy(loaded)
            found.state = copy_json(found.state)
        return found

    def known_nodes(self) -> list[NodeInstance]:
        """Return every node instance this wave knows as it now stands, in the order they began; not to be changed.

        All of the instance only when the snapshot came with its history. The number tells the order, not the time: a
        clock may have been put back between two waves, and what is undone is undone in reverse.
        """
        known = {**self._loaded, **self._nodes}
        return sorted(known.values(), key=lambda found: found.sequence)

    def cancel_active_nodes(self) -> None:
        """Cancel the node instances that are Running or Suspended; those waiting for a retry stay (spec 21)."""
        for present in {**self._loaded, **self._nodes}.values():
            canceled = self.touch(present.id) if present.status.active else None
            if canceled is not None:
                canceled.status = NodeStatus.CANCELED
                canceled.ended_at = self.now

    def set_result(self, result: str) -> None:
        """Give the instance its result; the last End with an outcome wins (spec 4.2)."""
        self.instance.outcome = result
        self._instance_data = None

    def take_back_result(self) -> None:
        """Leave the instance without a result: the application has refused it."""
        self.instance.outcome = None
        self._instance_data = None

    def effect(self, node_id: str) -> str:
        """Count one more run of a node with outside effects, and return its key (spec 3.22).

        The key is the same when the same wave is run again after a crash, and different for each run in a wave.
        """
        if self.command.batched:
            raise RunAlone
        self.outside_effects = True
        self._effects[node_id] += 1
        parts = (self.instance.id, str(self._revision_before), node_id, str(self._effects[node_id]))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def replace_variables(self, values: JsonObject) -> None:
        """Give the instance other variables."""
        self.instance.variables = values
        self.variables = Variables(values)

    # --- bookmarks --------------------------------------------------------------------------

    def add_bookmark(self, node_instance: NodeInstance, request: BookmarkRequest) -> Bookmark:
        """Create a bookmark of a node instance; a user task gets its record and its event too."""
        bookmark = self._bookmark(request.kind, request.due_at)
        bookmark.id, bookmark.round = request.id or bookmark.id, request.round
        bookmark.node_id = node_instance.node_id
        bookmark.node_instance_id = node_instance.id
        bookmark.key = request.key
        if bookmark.kind is BookmarkKind.EXTERNAL_TASK:
            bookmark.id = external_task_id(self.instance.id, bookmark.sequence)
        bookmark.payload = copy_json(request.payload)
        bookmark.correlation_id = request.correlation_id
        bookmark.available_at = request.available_at
        bookmark.task_due_at = request.task_due_at
        bookmark.priority = request.priority
        bookmark.title = request.title
        bookmark.claimable, bookmark.claimed_by = request.claimable, request.claimed_by
        self.waits.add(bookmark)
        if bookmark.kind is BookmarkKind.USER_TASK:
            self.tasks.created(bookmark, request.copy_user_ids)
            data = topics.task_data(self.instance, bookmark, list(request.copy_user_ids))
            self.events.append(Event(topic=topics.TASK_CREATED, data=data))
        return bookmark

    def add_instance_bookmark(self, kind: BookmarkKind, due_at: datetime) -> None:
        """Create a bookmark that belongs to the instance as a whole."""
        self.waits.add(self._bookmark(kind, due_at))

    def _bookmark(self, kind: BookmarkKind, due_at: datetime | None) -> Bookmark:
        instance = self.instance
        return Bookmark(
            id=self.kit.ids.new(),
            tenant_id=instance.tenant_id,
            sequence=self.number(),
            instance_id=instance.id,
            root_instance_id=instance.root_instance_id,
            kind=kind,
            created_at=self.now,
            due_at=due_at,
        )

    def delete(self, bookmark: Bookmark, reason: EndReason) -> None:
        """Delete a bookmark; a task ends with the reason."""
        self.waits.consume(bookmark)
        if bookmark.kind is BookmarkKind.USER_TASK:
            self.tasks.ended(bookmark, reason)

    def clear_node(self, node_instance_id: str, reason: EndReason) -> None:
        """Delete every bookmark that a node instance has left."""
        for bookmark in self.waits.of_node(node_instance_id):
            self.delete(bookmark, reason)

    def clear_all(self, reason: EndReason) -> None:
        """Delete every bookmark of the instance."""
        for bookmark in list(self.waits.open.values()):
            self.delete(bookmark, reason)

    # --- what other instances are owed ------------------------------------------------------

    def owe(
        self,
        action: str,
        target_instance_id: str | None,
        payload: JsonObject,
        due_at: datetime | None = None,
        *,
        key: str | None = None,
    ) -> str:
        """Owe another instance, or this one, a command of its own: a row of this wave's write; return its id (3.22).

        Run after the commit in the order in which it was owed; *due_at* in the future leaves it to the poller.
        *key*: an id by which it is found again.
        """
        instance = self.instance
        owed = FollowUp(
            id=key or self.kit.ids.new(),
            tenant_id=instance.tenant_id,
            action=action,
            source_instance_id=instance.id,
            target_instance_id=target_instance_id,
            payload=payload,
            created_at=self.now,
            due_at=due_at or self.now,
        )
        self.follow_ups.append(owed)
        return owed.id

    # --- events -----------------------------------------------------------------------------

    def instance_event(self, topic: str, **facts: object) -> None:
        """Queue an event of the instance as it now stands."""
        self._instance_data = None
        self.events.append(Event(topic=topic, data={"instance": self._data(), **facts}))

    def node_event(self, topic: str, node_instance: NodeInstance, **facts: object) -> None:
        """Queue an event of a node instance as it now stands."""
        data = {"instance": self._data(), "nodeInstance": topics.node_data(node_instance), **facts}
        self.events.append(Event(topic=topic, data=data))

    def _data(self) -> JsonObject:
        data = self._instance_data
        if data is None:
            # Shared by all events until the instance changes: events are never changed once made.
            data = self._instance_data = topics.instance_data(self.instance)
        return data

    # --- the end ----------------------------------------------------------------------------

    def finish(self, entry: AuditEntry | None) -> Wave:
        """Return what the command did, with its line in the trail; the instance's revision rises by one."""
        instance = self.instance
        before = self._status_before
        self.tasks.number(self.number)
        instance.revision = self._revision_before + 1
        instance.command_id = self.command.id
        instance.last_sequence = self._sequence
        write_set = WriteSet(
            partition=instance.tenant_id,
            instance=instance,
            is_new=before is None,
            expected_revision=self._revision_before,
            node_instances=list(self._nodes.values()),
            new_bookmarks=self.waits.new,
            changed_bookmarks=self.waits.changed,
            deleted_bookmark_ids=self.waits.deleted_ids,
            columns_changed=before is not None and (before is not instance.status or self.definition_changed),
            task_records=list(self.tasks.records.values()),
            task_ends=self.tasks.ends,
            task_copies=self.tasks.copies,
            task_moves=self.tasks.moves,
            new_follow_ups=self.follow_ups,
            audit=self.remarks if entry is None else [*self.remarks, entry],
        )
        return Wave(
            write_set=write_set,
            instance=instance,
            events=self.events,
            log_lines=self.log_lines,
            outside_effects=self.outside_effects,
            node_messages=self.node_messages,
            definition=self.compiled.definition,
            command=self.command,
        )

    def remark(self, action: str, node_id: str, details: JsonObject, *, comment: str | None = None) -> None:
        """Add a line to the trail about what happened by itself: nobody's command says it."""
        self.remarks.append(
            AuditEntry(
                id=self.kit.ids.new(),
                tenant_id=self.instance.tenant_id,
                sequence=self.number(),
                at=self.now,
                action=action,
                definition_id=self.instance.definition_id,
                instance_id=self.instance.id,
                node_id=node_id,
                comment=comment,
                request_id=self.command.request_id,
                command_id=self.command.id,
                after=details,
            )
        )

    def entry(
        self,
        *,
        reason: str | None = None,
        task: Bookmark | None = None,
        outcome: str | None = None,
        comment: str | None = None,
        details: JsonObject | None = None,
    ) -> AuditEntry:
        """Return the command's line for the trail: what changed of the instance, and which nodes ran (spec 13)."""
        instance, command, before = self.instance, self.command, self._status_before
        after: JsonObject = {"revision": self._revision_before + 1, "nodeInstanceIds": list(self._nodes)}
        if before is not instance.status:
            after["status"] = instance.status.value
        return AuditEntry(
            id=self.kit.ids.new(),
            tenant_id=instance.tenant_id,
            sequence=self.number(),
            at=self.now,
            actor_id=command.actor_id,
            on_behalf_of=command.on_behalf_of,
            action=command.action,
            definition_id=instance.definition_id,
            instance_id=instance.id,
            task_id=None if task is None else task.id,
            node_id=None if task is None else task.node_id,
            outcome=outcome,
            comment=comment,
            reason=reason,
            request_id=command.request_id,
            command_id=command.id,
            before=_before(before, self._revision_before, instance.status),
            after={**after, **self.facts, **(details or {})},
        )


def _loaded(snapshot: InstanceSnapshot) -> dict[str, NodeInstance]:
    return {found.id: found for found in (*(snapshot.history or ()), *snapshot.node_instances)}


def nothing_done(instance: WorkflowInstance) -> Wave:
    """Return the wave of a command that found nothing to do."""
    return Wave(write_set=WriteSet(partition=instance.tenant_id), instance=instance, events=[], log_lines=[])


def _before(status: InstanceStatus | None, revision: int, now: InstanceStatus) -> JsonObject | None:
    if status is None:
        return None
    return {"revision": revision} if status is now else {"revision": revision, "status": status.value}


def _owned(instance: WorkflowInstance) -> WorkflowInstance:
    own = copy.copy(instance)
    own.variables = dict(instance.variables)
    own.join_states = {
        node_id: JoinState(
            arrived={edge: list(ids) for edge, ids in state.arrived.items()},
            fired=state.fired,
            late=list(state.late),
        )
        for node_id, state in instance.join_states.items()
    }
    own.pending_tokens = [copy.copy(token) for token in instance.pending_tokens]
    own.loosened_joins = list(instance.loosened_joins)
    return own
