"""The working copy of one wave: what it has changed so far, and the write set made of it (spec 3.11, 3.22).

Nothing that came from a store is changed: instances and node instances are copied before the first change, bookmarks
when they change. The values inside variables are shared and never changed in place.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import datetime

from webapp.engine.activities.api import BookmarkRequest
from webapp.engine.activities.compiled import CompiledDefinition, CompiledNode
from webapp.engine.clock import next_sequence
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, EndReason, Event, LogLine
from webapp.engine.instances.limits import MAX_VARIABLES_BYTES
from webapp.engine.instances.model import (
    LAST_ERROR,
    OUTCOME,
    InstanceStatus,
    JoinState,
    NodeInstance,
    NodeStatus,
    WorkflowInstance,
)
from webapp.engine.numbers import JsonObject, JsonValue, copy_json, encode
from webapp.engine.ports.stores import InstanceSnapshot, WriteSet
from webapp.engine.runtime import events as topics
from webapp.engine.runtime.commands import Command, Kit, Wave
from webapp.engine.runtime.journal import TaskJournal


class OutputsRefused(Exception):
    """These outputs cannot become variables: too large, no JSON, or a character that no store keeps; nothing merged."""

    def __init__(self, key: str, **arguments: object) -> None:
        self.key = key
        self.arguments = arguments
        super().__init__(key)


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
        self.is_new = snapshot is None
        self.instance = instance if snapshot is None else _owned(instance)
        self.variables = self.instance.variables
        # What expressions see: an outcome that nothing has set yet is null, not unknown (spec 25).
        self.scope: JsonObject = {OUTCOME: None, **self.variables}
        self.events: list[Event] = []
        self.log_lines: list[LogLine] = []
        self.outside_effects = False
        self.bookmarks: dict[str, Bookmark] = {}
        self._status_before = None if snapshot is None else instance.status
        self._revision_before = instance.revision
        self._sequence = next_sequence(instance.last_sequence, now) - 1
        self._size: int | None = None
        self._loaded: dict[str, NodeInstance] = {}
        self._nodes: dict[str, NodeInstance] = {}
        self._of_node: dict[str, list[str]] = {}
        self._new: dict[str, Bookmark] = {}
        self._changed: dict[str, Bookmark] = {}
        self._deleted: list[str] = []
        self.tasks = TaskJournal(self.instance, now)
        self._instance_data: JsonObject | None = None
        if snapshot is not None:
            self._loaded = {node_instance.id: node_instance for node_instance in snapshot.node_instances}
            for bookmark in snapshot.bookmarks:
                self._index(bookmark)

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

    def cancel_active_nodes(self) -> None:
        """Cancel the node instances that are Running or Suspended; those waiting for a retry stay (spec 21)."""
        for node_instance_id in (*self._loaded, *self._nodes):
            present = self._nodes.get(node_instance_id) or self._loaded[node_instance_id]
            if present.status.active:
                canceled = self.touch(node_instance_id) or present
                canceled.status = NodeStatus.CANCELED
                canceled.ended_at = self.now

    # --- variables --------------------------------------------------------------------------

    def merge(self, outputs: JsonObject) -> None:
        """Merge outputs into the variables, shallowly.

        The size is bounded from above, so that the whole document is encoded only when the bound nears the limit.

        :raises OutputsRefused: nothing was merged.
        """
        if not outputs:
            return
        if self._size is None:
            self._size = len(encode(self.variables))
        bound = self._size + _checked_size(outputs)
        if bound > MAX_VARIABLES_BYTES:
            bound = len(encode({**self.variables, **outputs}))
            if bound > MAX_VARIABLES_BYTES:
                raise OutputsRefused("workflow.variables.too_large", max=MAX_VARIABLES_BYTES)
        self._size = bound
        self.variables.update(outputs)
        self.scope.update(outputs)

    def set_label(self, label: str) -> None:
        """Write a completion's label to the variable ``outcome`` (spec 3.5)."""
        self.variables[OUTCOME] = self.scope[OUTCOME] = label
        if self._size is not None:
            # Six bytes is the most that JSON makes of one character.
            self._size += len(label) * 6 + len('"outcome":"",')

    def set_result(self, result: str) -> None:
        """Give the instance its result; the last End with an outcome wins (spec 4.2)."""
        self.instance.outcome = result
        self._instance_data = None

    def set_last_error(self, fault: JsonObject) -> None:
        """Write the fault that the flow goes on after to the variable ``lastError`` (spec 3.8)."""
        self.variables[LAST_ERROR] = self.scope[LAST_ERROR] = fault
        self._size = None

    # --- bookmarks --------------------------------------------------------------------------

    def add_bookmark(self, node_instance: NodeInstance, request: BookmarkRequest) -> Bookmark:
        """Create a bookmark of a node instance; a user task gets its record and its event too."""
        instance = self.instance
        bookmark = Bookmark(
            id=self.kit.ids.new(),
            tenant_id=instance.tenant_id,
            sequence=self.number(),
            instance_id=instance.id,
            root_instance_id=instance.root_instance_id,
            node_id=node_instance.node_id,
            node_instance_id=node_instance.id,
            kind=request.kind,
            key=request.key,
            payload=copy_json(request.payload),
            correlation_id=request.correlation_id,
            created_at=self.now,
            due_at=request.due_at,
            available_at=request.available_at,
            task_due_at=request.task_due_at,
            priority=request.priority,
            title=request.title,
            claimable=request.claimable,
        )
        self._new[bookmark.id] = bookmark
        self._index(bookmark)
        if bookmark.kind is BookmarkKind.USER_TASK:
            self.tasks.created(bookmark, request.copy_user_ids)
            data = topics.task_data(instance, bookmark, list(request.copy_user_ids))
            self.events.append(Event(topic=topics.TASK_CREATED, data=data))
        return bookmark

    def add_instance_bookmark(self, kind: BookmarkKind, due_at: datetime) -> None:
        """Create a bookmark that belongs to the instance as a whole."""
        instance = self.instance
        bookmark = Bookmark(
            id=self.kit.ids.new(),
            tenant_id=instance.tenant_id,
            sequence=self.number(),
            instance_id=instance.id,
            root_instance_id=instance.root_instance_id,
            kind=kind,
            created_at=self.now,
            due_at=due_at,
        )
        self._new[bookmark.id] = bookmark
        self._index(bookmark)

    def _index(self, bookmark: Bookmark) -> None:
        self.bookmarks[bookmark.id] = bookmark
        if bookmark.node_instance_id is not None:
            self._of_node.setdefault(bookmark.node_instance_id, []).append(bookmark.id)

    def change(self, bookmark: Bookmark) -> Bookmark:
        """Return the wave's own copy of a bookmark, to be changed in place."""
        if bookmark.id in self._new:
            return self._new[bookmark.id]
        own = self._changed.get(bookmark.id)
        if own is None:
            own = self._changed[bookmark.id] = self.bookmarks[bookmark.id] = copy.copy(bookmark)
        return own

    def of_node(self, node_instance_id: str) -> list[Bookmark]:
        """Return the open bookmarks of a node instance, in their order."""
        ids = self._of_node.get(node_instance_id)
        return [self.bookmarks[bookmark_id] for bookmark_id in ids] if ids else []

    def consume(self, bookmark: Bookmark) -> None:
        """Delete a bookmark; the round of a task is ended apart."""
        self.bookmarks.pop(bookmark.id, None)
        if bookmark.node_instance_id is not None:
            self._of_node[bookmark.node_instance_id].remove(bookmark.id)
        self._changed.pop(bookmark.id, None)
        if self._new.pop(bookmark.id, None) is None:
            self._deleted.append(bookmark.id)

    def delete(self, bookmark: Bookmark, reason: EndReason) -> None:
        """Delete a bookmark; a task ends with the reason."""
        self.consume(bookmark)
        if bookmark.kind is BookmarkKind.USER_TASK:
            self.tasks.ended(bookmark, reason)

    def clear_node(self, node_instance_id: str, reason: EndReason) -> None:
        """Delete every bookmark that a node instance has left."""
        if node_instance_id in self._of_node:
            for bookmark in self.of_node(node_instance_id):
                self.delete(bookmark, reason)

    def clear_all(self, reason: EndReason) -> None:
        """Delete every bookmark of the instance."""
        for bookmark in list(self.bookmarks.values()):
            self.delete(bookmark, reason)

    # --- events -----------------------------------------------------------------------------

    def instance_event(self, topic: str) -> None:
        """Queue an event of the instance as it now stands."""
        self._instance_data = None
        self.events.append(Event(topic=topic, data={"instance": self._data()}))

    def node_event(self, topic: str, node_instance: NodeInstance) -> None:
        """Queue an event of a node instance as it now stands."""
        data = {"instance": self._data(), "nodeInstance": topics.node_data(node_instance)}
        self.events.append(Event(topic=topic, data=data))

    def fault_event(self, node_instance: NodeInstance, *, will_retry: bool) -> None:
        """Queue the event of a node's failure."""
        data = {
            "instance": self._data(),
            "nodeInstance": topics.node_data(node_instance),
            "willRetry": will_retry,
        }
        self.events.append(Event(topic=topics.NODE_FAULTED, data=data))

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
        status_changed = self._status_before is not None and self._status_before is not instance.status
        self.tasks.number(self.number)
        instance.revision = self._revision_before + 1
        instance.command_id = self.command.id
        instance.last_sequence = self._sequence
        write_set = WriteSet(
            partition=instance.tenant_id,
            instance=instance,
            is_new=self.is_new,
            expected_revision=self._revision_before,
            node_instances=list(self._nodes.values()),
            new_bookmarks=list(self._new.values()),
            changed_bookmarks=list(self._changed.values()),
            deleted_bookmark_ids=self._deleted,
            columns_changed=status_changed,
            task_records=list(self.tasks.records.values()),
            task_ends=self.tasks.ends,
            task_copies=self.tasks.copies,
            audit=[] if entry is None else [entry],
        )
        return Wave(
            write_set=write_set,
            instance=instance,
            events=self.events,
            log_lines=self.log_lines,
            outside_effects=self.outside_effects,
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
        before = self._status_before
        after: JsonObject = {"revision": self._revision_before + 1, "nodeInstanceIds": list(self._nodes)}
        if before is not self.instance.status:
            after["status"] = self.instance.status.value
        return AuditEntry(
            id=self.kit.ids.new(),
            tenant_id=self.instance.tenant_id,
            sequence=self.number(),
            at=self.now,
            actor_id=self.command.actor_id,
            on_behalf_of=self.command.on_behalf_of,
            action=self.command.action,
            definition_id=self.instance.definition_id,
            instance_id=self.instance.id,
            task_id=None if task is None else task.id,
            node_id=None if task is None else task.node_id,
            outcome=outcome,
            comment=comment,
            reason=reason,
            request_id=self.command.request_id,
            command_id=self.command.id,
            before=_before(before, self._revision_before, self.instance.status),
            after={**after, **(details or {})},
        )


def nothing_done(instance: WorkflowInstance) -> Wave:
    """Return the wave of a command that found nothing to do."""
    return Wave(write_set=WriteSet(partition=instance.tenant_id), instance=instance, events=[], log_lines=[])


def _before(status: InstanceStatus | None, revision: int, now: InstanceStatus) -> JsonObject | None:
    if status is None:
        return None
    return {"revision": revision} if status is now else {"revision": revision, "status": status.value}


def _checked_size(outputs: JsonObject) -> int:
    try:
        data = encode(outputs)
    except Exception as error:
        raise OutputsRefused("workflow.activity.not_json", text=str(error)) from error
    # Only outputs with a text that looks like the escape are looked into.
    if b"\\u0000" in data and _holds_nul(outputs):
        raise OutputsRefused("workflow.variables.nul")
    return len(data)


def _holds_nul(value: JsonValue) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any("\x00" in name or _holds_nul(member) for name, member in value.items())
    return isinstance(value, list) and any(_holds_nul(member) for member in value)


def _owned(instance: WorkflowInstance) -> WorkflowInstance:
    own = copy.copy(instance)
    own.variables = dict(instance.variables)
    own.join_states = {
        node_id: JoinState(arrived=_arrivals(state.arrived.items()), fired=state.fired)
        for node_id, state in instance.join_states.items()
    }
    own.pending_tokens = list(instance.pending_tokens)
    return own


def _arrivals(arrived: Iterable[tuple[str, list[str]]]) -> dict[str, list[str]]:
    return {transition_id: list(node_instance_ids) for transition_id, node_instance_ids in arrived}
