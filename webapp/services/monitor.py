"""The monitor's page of one instance: diagram states, waits and the whole trail (spec 12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.accounts.ports import AccountStore
from webapp.engine.definitions.model import DefinitionStatus, Node, WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, TaskRecord
from webapp.engine.instances.model import JoinState, NodeInstance, NodeStatus, WorkflowInstance
from webapp.engine.ports.queries import (
    MAX_LIMIT,
    DefinitionQuery,
    DefinitionSummary,
    InstanceSummary,
    Page,
    Paging,
    Sort,
)
from webapp.engine.ports.stores import InstanceSnapshot, UnitOfWork
from webapp.engine.runtime.tokens import awaited
from webapp.services.access import instance_missing, lacking, require_read
from webapp.services.definitions import DefinitionCache, definition_missing
from webapp.services.instances import InstanceService
from webapp.services.storage import Storage, asked
from webapp.services.trail import full_trail, latest_commands
from webapp.services.views import InstanceOverview, NodeState, NodeStateName, TrailEntry, Wait
from webapp.services.waits import waits_of

MAX_CHILDREN: Final = 100
"""So many children are shown, the oldest first; the list of instances has them all."""

MAX_VERSIONS: Final = 100
"""So many versions are offered to migrate to, the newest."""

MAX_EXECUTIONS: Final = 5_000
"""More than this many executed steps are not shown; the counters then say so (``truncated``)."""

_STATES: Final[dict[NodeStatus, NodeStateName]] = {
    NodeStatus.RUNNING: "running",
    NodeStatus.SUSPENDED: "waiting",
    NodeStatus.COMPLETED: "completed",
    NodeStatus.CANCELED: "canceled",
    NodeStatus.FAULTED: "faulted",
    NodeStatus.COMPENSATED: "compensated",
}


class _Facts(msgspec.Struct, kw_only=True):
    """What the store knows of one instance."""

    snapshot: InstanceSnapshot
    executions: list[NodeInstance]
    truncated: bool
    records: Sequence[TaskRecord]
    entries: Sequence[AuditEntry]


class MonitorService:
    """The use case of watching an instance."""

    def __init__(
        self,
        *,
        storage: Storage,
        definitions: DefinitionCache,
        instances: InstanceService,
        accounts: AccountStore,
    ) -> None:
        self._storage = storage
        self._definitions = definitions
        self._instances = instances
        self._accounts = accounts

    def overview(self, actor: Actor, instance_id: str) -> InstanceOverview:
        """Return all that the page of an instance shows, to somebody who may read it."""
        facts = self._read(actor, instance_id)
        instance = facts.snapshot.instance
        definition = self._definitions.get(actor.partition, instance.definition_id).definition
        trail = full_trail(definition, facts.records, facts.entries, facts.executions)
        waits = waits_of(facts.snapshot, definition, facts.executions)
        people = _people(instance, waits, trail)
        return InstanceOverview(
            instance=instance,
            definition=definition,
            node_states=node_states(definition, facts.snapshot, facts.executions),
            taken_transition_ids=taken_transitions(instance, facts.executions),
            waits=waits,
            trail=trail,
            names=asked(lambda: self._accounts.display_names(actor.partition, people)),
            may_operate=self._instances.may_operate(actor, instance),
            truncated=facts.truncated,
            parent=self._instances.parent(actor, instance),
            children=self._children(actor, instance),
        )

    def versions(self, actor: Actor, instance_id: str) -> list[DefinitionSummary]:
        """Return the published versions that an instance may be migrated to, the newest first; for who may operate it.

        The present one is not among them.
        """
        instance = self._operated(actor, instance_id)
        query = DefinitionQuery(
            name=instance.definition_name,
            status=DefinitionStatus.PUBLISHED,
            paging=Paging(sorts=(Sort("version", descending=True),), limit=MAX_VERSIONS),
        )
        page = self._storage.read(actor.partition, lambda work: work.definitions.list(actor.partition, query))
        return [one for one in page.items if one.version != instance.definition_version]

    def version(self, actor: Actor, instance_id: str, version: int) -> WorkflowDefinition:
        """Return another version of an instance's definition, to who may operate it. :raises NotFound: no such one."""
        instance = self._operated(actor, instance_id)
        name = instance.definition_name
        header = self._storage.read(
            actor.partition, lambda work: work.definitions.header_by_version(actor.partition, name, version)
        )
        if header is None:
            raise definition_missing(f"{name} {version}")
        return self._definitions.get(actor.partition, header.id).definition

    def _operated(self, actor: Actor, instance_id: str) -> WorkflowInstance:
        instance = self._instances.find(actor, instance_id)
        if not self._instances.may_operate(actor, instance):
            raise lacking(INSTANCES_OPERATE)
        return instance

    def _children(self, actor: Actor, instance: WorkflowInstance) -> Page[InstanceSummary]:
        if not instance.has_children:
            return Page([], 0)
        return self._instances.children(actor, instance.id, Paging(limit=MAX_CHILDREN))

    def _read(self, actor: Actor, instance_id: str) -> _Facts:
        instance = self._instances.find(actor, instance_id)
        definition = self._definitions.get(actor.partition, instance.definition_id).definition

        def block(work: UnitOfWork) -> _Facts | None:
            require_read(actor, instance, definition, work)
            snapshot = work.instances.snapshot(actor.partition, instance_id)
            if snapshot is None:
                return None
            executions, total = _executions(work, actor.partition, instance_id)
            return _Facts(
                snapshot=snapshot,
                executions=executions,
                truncated=total > len(executions),
                records=work.task_records.by_instance(actor.partition, instance_id),
                entries=latest_commands(work, actor.partition, instance_id),
            )

        facts = self._storage.read(actor.partition, block)
        if facts is None:
            raise instance_missing(instance_id)
        return facts


def _executions(work: UnitOfWork, partition: str | None, instance_id: str) -> tuple[list[NodeInstance], int]:
    found: list[NodeInstance] = []
    while True:
        page = work.instances.node_instances(partition, instance_id, Paging(offset=len(found), limit=MAX_LIMIT))
        found.extend(page.items)
        if not page.items or len(found) >= min(page.total, MAX_EXECUTIONS):
            return found, page.total


def node_states(
    definition: WorkflowDefinition, snapshot: InstanceSnapshot, executions: Iterable[NodeInstance]
) -> dict[str, NodeState]:
    """Return the state of each node that was reached: that of its latest execution, an open one before all others."""
    by_node: dict[str, list[NodeInstance]] = {}
    for execution in executions:
        by_node.setdefault(execution.node_id, []).append(execution)
    nodes = {node.id: node for node in definition.nodes}
    retrying = {one.node_instance_id for one in snapshot.bookmarks if one.kind is BookmarkKind.RETRY}
    states = {
        node_id: _node_state(nodes.get(node_id), ran, retrying, snapshot.bookmarks) for node_id, ran in by_node.items()
    }
    for node_id, join in snapshot.instance.join_states.items():
        if not join.fired:
            expected = len(awaited(definition, snapshot, node_id))
            states[node_id] = _join_state(expected, node_id, join, states.get(node_id))
    return states


def _node_state(
    node: Node | None, ran: list[NodeInstance], retrying: set[str | None], bookmarks: Iterable[Bookmark]
) -> NodeState:
    shown = next((one for one in reversed(ran) if one.status.active or one.id in retrying), ran[-1])
    tasks = [one for one in bookmarks if one.node_instance_id == shown.id and one.kind is BookmarkKind.USER_TASK]
    policy = node.retry_policy if node is not None else None
    return NodeState(
        node_id=shown.node_id,
        state="retrying" if shown.id in retrying else _STATES[shown.status],
        count=len(ran),
        try_count=shown.try_count,
        max_attempts=policy.max_attempts if policy is not None else None,
        since=shown.ended_at or shown.started_at,
        signers_done=tasks[0].signers_done if tasks else None,
        signers_total=tasks[0].signers_total if tasks else None,
    )


def _join_state(expected: int, node_id: str, join: JoinState, earlier: NodeState | None) -> NodeState:
    return NodeState(
        node_id=node_id,
        state="waiting",
        count=earlier.count if earlier is not None else 0,
        arrived=len(join.arrived),
        expected=expected,
    )


def taken_transitions(instance: WorkflowInstance, executions: Iterable[NodeInstance]) -> list[str]:
    """Return the transitions that tokens went along, in the order of their first use."""
    taken = [transition for execution in executions for transition in execution.via_transition_ids]
    for join in instance.join_states.values():
        taken.extend(join.arrived)
    return list(dict.fromkeys(taken))


def _people(instance: WorkflowInstance, waits: Iterable[Wait], trail: Iterable[TrailEntry]) -> set[str]:
    found: set[str | None] = {instance.starter_id, instance.requested_by, instance.suspended_by}
    for wait in waits:
        found.update((wait.who, wait.claimed_by, wait.decided_by))
    for entry in trail:
        found.update((entry.actor_id, entry.assignee_id, entry.on_behalf_of))
    return {name for name in found if name}
