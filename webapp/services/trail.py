"""What happened, told in order: commands, tasks, steps and faults of an instance merged into one trail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.instances.journal import AuditEntry, EndReason, TaskRecord
from webapp.engine.instances.model import NodeInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.queries import MAX_LIMIT, Paging
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.engine.tasks.user_tasks import AUTO_APPROVED, DECIDE_FAILED
from webapp.services.views import TrailEntry

# A person's own command already tells of these ends.
_TOLD_BY_COMMAND = frozenset(
    {
        EndReason.COMPLETED,
        EndReason.TRANSFERRED,
        EndReason.REMOVED,
        EndReason.RETURNED,
        EndReason.RECALLED,
        EndReason.CLAIMED,
        EndReason.RELEASED,
    }
)

_CARRIED_OUT = "decide"
# Besides an approval taken over and a decision that came to nothing: what time did to a task without ending it.
_TOLD_BY_THEMSELVES = frozenset({AUTO_APPROVED, DECIDE_FAILED, "escalate", "handOver", "remind", "overdue", "start"})

_DETAILS = {
    "jump": ("toNodeId", "fromNodeId"),
    "migrate": ("fromVersion", "toVersion"),
    "updateVariables": ("set", "removed"),
    "signal": ("signal",),
    "return": ("toNodeId",),
}


def latest_commands(work: UnitOfWork, partition: Partition, instance_id: str) -> Sequence[AuditEntry]:
    """Return the first and the latest thousand commands of an instance, oldest first.

    A flow that loops over a delay has one for each turn: what people did last must not hide behind those.
    """
    found = work.audit.by_instance(partition, instance_id)
    if found.total <= len(found.items):
        return found.items
    latest = Paging(offset=found.total - MAX_LIMIT, limit=MAX_LIMIT)
    return [found.items[0], *work.audit.by_instance(partition, instance_id, latest).items]


def task_trail(
    definition: WorkflowDefinition, records: Iterable[TaskRecord], entries: Iterable[AuditEntry]
) -> list[TrailEntry]:
    """Return what people did and whom was asked, newest first: the trail beside a task."""
    nodes = _by_id(definition)
    return _newest_first([*_commands(nodes, entries), *_tasks(nodes, records)])


def full_trail(
    definition: WorkflowDefinition,
    records: Iterable[TaskRecord],
    entries: Iterable[AuditEntry],
    executions: Iterable[NodeInstance],
) -> list[TrailEntry]:
    """Return everything that happened in an instance, newest first: the monitor's history."""
    nodes = _by_id(definition)
    return _newest_first([*_commands(nodes, entries), *_tasks(nodes, records), *_steps(nodes, executions)])


def _newest_first(entries: list[TrailEntry]) -> list[TrailEntry]:
    return sorted(entries, key=lambda entry: (entry.at, entry.sequence), reverse=True)


def _by_id(definition: WorkflowDefinition) -> dict[str, Node]:
    return {node.id: node for node in definition.nodes}


def _label(nodes: Mapping[str, Node], node_id: str | None) -> str | None:
    node = nodes.get(node_id) if node_id is not None else None
    return node.label if node is not None else node_id


def _commands(nodes: Mapping[str, Node], entries: Iterable[AuditEntry]) -> Iterator[TrailEntry]:
    for entry in entries:
        # What the poller did shows by its steps; a line "the poller resumed a timer" tells nobody anything.
        if entry.action == _CARRIED_OUT:
            # The line of the decision itself says all.
            continue
        if entry.actor_id is None and entry.action not in _TOLD_BY_THEMSELVES:
            continue
        yield TrailEntry(
            at=entry.at,
            kind="command",
            action=entry.action,
            actor_id=entry.actor_id,
            on_behalf_of=entry.on_behalf_of,
            node_id=entry.node_id,
            node_name=_label(nodes, entry.node_id),
            task_id=entry.task_id,
            assignee_id=_concerned(entry),
            outcome=entry.outcome,
            comment=entry.comment,
            reason=entry.reason,
            details=_details(nodes, entry),
            sequence=entry.sequence,
        )


def _details(nodes: Mapping[str, Node], entry: AuditEntry) -> JsonObject:
    """Return what a command's sentence names besides the step; a step by its name."""
    told = entry.after or {}
    found = {name: told[name] for name in _DETAILS.get(entry.action, ()) if told.get(name) is not None}
    return {name: _label(nodes, value) if name.endswith("NodeId") else value for name, value in found.items()}


def _concerned(entry: AuditEntry) -> str | None:
    """Return whom else a command was about: who got the task, was added or removed; of several the first."""
    after = entry.after or {}
    if entry.actor_id is None:
        return after.get("id")
    named = after.get("assignees")
    found = named[0] if isinstance(named, list) and named else after.get("to")
    return found if isinstance(found, str) else None


def _tasks(nodes: Mapping[str, Node], records: Iterable[TaskRecord]) -> Iterator[TrailEntry]:
    for record in records:
        created = TrailEntry(
            at=record.created_at,
            kind="task",
            action="taskCreated",
            node_id=record.node_id,
            node_name=_label(nodes, record.node_id),
            task_id=record.task_id,
            assignee_id=record.assignee_id,
            sequence=record.sequence,
        )
        # Later rounds begin with the command that ended the one before.
        if record.round == 1:
            yield created
        if record.ended_at is not None and record.end_reason not in _TOLD_BY_COMMAND:
            reason = record.end_reason.value if record.end_reason is not None else None
            yield msgspec.structs.replace(created, at=record.ended_at, action="taskEnded", reason=reason)


def _steps(nodes: Mapping[str, Node], executions: Iterable[NodeInstance]) -> Iterator[TrailEntry]:
    for execution in executions:
        failed = execution.fault is not None
        if execution.ended_at is None and not failed:
            continue
        outcome = execution.outputs.get("outcome")
        yield TrailEntry(
            at=execution.ended_at or execution.started_at,
            kind="fault" if failed else "node",
            action="nodeFaulted" if failed else f"node{execution.status.value}",
            node_id=execution.node_id,
            node_name=execution.name or _label(nodes, execution.node_id),
            activity_type=execution.activity_type,
            outcome=outcome if isinstance(outcome, str) else None,
            status=execution.status.value,
            try_count=execution.try_count,
            fault=execution.fault,
            sequence=execution.sequence,
        )
