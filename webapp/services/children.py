"""Follow-ups between instances: start a child, tell its parent, cascade, hand a retry down or up (spec 3.15, 3.22).

Each is a command of its own on one instance, with its own lease and transaction, in which its row is deleted. Nobody
holds two leases; a child needs none before its first commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from webapp.engine.activities.subflows import ENDS, RETRIES
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import (
    Conflict,
)
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import InstanceStatus, NodeInstance, WorkflowFault
from webapp.engine.ports.queries import InstanceSummary
from webapp.engine.ports.stores import InstanceSnapshot, UnitOfWork
from webapp.engine.runtime import children
from webapp.engine.runtime.child_operations import ChildEnd
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.effects import nothing_done
from webapp.engine.runtime.engine import Engine
from webapp.services.child_starts import ChildStarts
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.follow_ups import FollowUpRunner, Postponed
from webapp.services.settling import Settling, awaited, snapshot_of
from webapp.services.storage import Storage

log = logging.getLogger("waypost.children")

Operation = Callable[[InstanceSnapshot, Prepared, Command, str | None], Wave]
"""What a cascade does to one child: snapshot, definition, command, reason."""


class ChildService:
    """The handlers of the follow-ups that lead from one instance to another."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        commands: Commands,
        definitions: DefinitionCache,
        follow_ups: FollowUpRunner,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._settling = Settling(storage=storage, commands=commands, clock=clock, ids=ids)
        starts = ChildStarts(
            engine=engine, storage=storage, commands=commands, definitions=definitions, settling=self._settling
        )
        self._operations: dict[str, Operation] = {
            children.CANCEL: self._closing(terminates=False),
            children.TERMINATE: self._closing(terminates=True),
        }
        follow_ups.register(children.START_CHILD, starts.start)
        follow_ups.register(children.CHILD_ENDED, self._child_ended)
        follow_ups.register(children.CASCADE, self._cascade)
        follow_ups.register(children.OPERATE_CHILD, self._operate_child)
        follow_ups.register(children.RETRY_CHILD, self._retry_child)
        follow_ups.register(children.RESTART_CHILD, self._restart_child)
        follow_ups.register(children.REATTACH_PARENT, self._reattach_parent)
        follow_ups.register(children.RECHECK_CHILDREN, self._recheck_children)

    def register_operation(self, name: str, operation: Operation) -> None:
        """Name what a cascade of that name does to each child. :raises ValueError: the name is taken."""
        if name in self._operations:
            raise ValueError(f"the cascade {name!r} has an operation already")
        self._operations[name] = operation

    # --- the end of a child -----------------------------------------------------------------

    def _child_ended(self, owed: FollowUp) -> Wave | Sequence[FollowUp]:
        """Tell a parent how its child stands; what the child has become since counts, not what it was.

        The child is read under the parent's lease: a retry of it that commits later tells the parent later, too.
        """
        command = self._commands.system_command("childEnded")
        ends: list[ChildEnd | None] = []

        def look() -> None:
            ends.append(self._end(owed))

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            end = ends[-1]
            if end is None:
                return nothing_done(snapshot.instance)
            return _taken(self._engine.children.ended(snapshot, prepared.compiled, end, command))

        return self._settling.change(owed, owed.target_instance_id, decide, beside=look)

    def _end(self, owed: FollowUp) -> ChildEnd | None:
        """Return how the child stands; None: it is gone or runs again, and will tell of its next end itself."""
        payload, partition = owed.payload, owed.tenant_id
        child_id, node_instance_id = payload["childInstanceId"], payload["nodeInstanceId"] or ""
        if payload.get("fault") is not None:
            return ChildEnd(
                child_id=child_id,
                node_instance_id=node_instance_id,
                status=InstanceStatus.FAULTED,
                fault=msgspec.convert(payload["fault"], WorkflowFault),
            )
        child = self._storage.read(partition, lambda work: work.instances.find(partition, child_id))
        if child is None or not child.status.ended:
            return None
        return ChildEnd(
            child_id=child_id,
            node_instance_id=node_instance_id,
            status=child.status,
            variables=child.variables,
            fault=child.fault if child.status is InstanceStatus.FAULTED else None,
            order=payload.get("order") or child.retry_order,
        )

    def _restart_child(self, owed: FollowUp) -> Wave | Sequence[FollowUp]:
        """Have a parent start a new child in the place of one that a retry cannot go on from."""
        end = ChildEnd(
            child_id=owed.payload["childInstanceId"],
            node_instance_id=owed.payload["nodeInstanceId"],
            status=InstanceStatus.FAULTED,
            order=owed.payload["order"],
        )
        command = self._commands.system_command("restartChild")
        return self._settling.change(
            owed,
            owed.target_instance_id,
            lambda snapshot, prepared: _taken(self._engine.children.restart(snapshot, prepared.compiled, end, command)),
        )

    def _recheck_children(self, owed: FollowUp) -> Sequence[FollowUp]:
        """Tell an instance that runs again of the children that ended meanwhile, and start those that are not there."""
        target = owed.target_instance_id or ""

        def block(work: UnitOfWork) -> tuple[list[tuple[str, str]], list[str]]:
            snapshot = work.instances.snapshot(owed.tenant_id, target)
            waiting = {} if snapshot is None else awaited(snapshot)
            if not waiting:
                return [], []
            present = work.instances.children(owed.tenant_id, target)
            ended = [one for one in present if one.status.ended]
            news = [
                (one.id, node.id) for one in ended if (node := waiting.get(one.id)) is not None and _is_news(node, one)
            ]
            there = {one.id for one in present}
            return news, [child_id for child_id in waiting if child_id not in there]

        found, missing = self._storage.read(owed.tenant_id, block)
        told = [
            self._settling.follow_up(
                owed, children.CHILD_ENDED, target, nodeInstanceId=node_id, childInstanceId=child_id
            )
            for child_id, node_id in found
        ]
        return [*self._settling.replace(owed, told), *(self._settling.start_of(owed, one) for one in missing)]

    # --- operations on children -------------------------------------------------------------

    def _cascade(self, owed: FollowUp) -> Sequence[FollowUp]:
        """Owe the operation to each child that has not ended; each is a command of its own."""
        found = self._storage.read(
            owed.tenant_id, lambda work: work.instances.children(owed.tenant_id, owed.target_instance_id or "")
        )
        payload = {name: value for name, value in owed.payload.items() if name != children.SPARED}
        spared = owed.payload.get(children.SPARED, ())
        made = [
            self._settling.follow_up(owed, children.OPERATE_CHILD, one.id, **payload)
            for one in found
            if not one.status.ended and one.id not in spared
        ]
        if owed.payload["operation"] == "resume":
            made.append(self._settling.follow_up(owed, children.RECHECK_CHILDREN, owed.target_instance_id))
        return self._settling.replace(owed, made)

    def _operate_child(self, owed: FollowUp) -> Wave | Sequence[FollowUp]:
        payload = owed.payload
        if payload.get("nodeInstanceId") is not None and self._is_awaited(owed):
            # Its parent failed, was retried before this could run, and waits for it again.
            return self._settling.done(owed)
        operation = self._operations[payload["operation"]]
        command = self._command(owed, payload["operation"])

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            if snapshot.instance.status.ended:
                # A child that failed in the meantime is not closed: a retry of its parent goes on from it.
                return nothing_done(snapshot.instance)
            return operation(snapshot, prepared, command, payload["reason"])

        try:
            return self._settling.change(owed, owed.target_instance_id, decide)
        except Conflict as refused:
            log.info("child %s: %s refused: %s", owed.target_instance_id, payload["operation"], refused)
            return self._settling.done(owed)

    def _is_awaited(self, owed: FollowUp) -> bool:
        parent = self._storage.read(owed.tenant_id, lambda work: snapshot_of(work, owed.source_instance_id, owed))
        return parent is not None and owed.target_instance_id in awaited(parent)

    # --- retries ----------------------------------------------------------------------------

    def _retry_child(self, owed: FollowUp) -> Wave | Sequence[FollowUp]:
        """Retry a child by its parent's order; one that a retry cannot go on from is told, or made anew."""
        child_id, partition = owed.target_instance_id or "", owed.tenant_id
        child = self._storage.read(partition, lambda work: work.instances.find(partition, child_id))
        status = InstanceStatus.CANCELED if child is None else child.status
        if status is InstanceStatus.FAULTED or not status.ended:
            command = self._command(owed, "retry")
            try:
                return self._settling.change(
                    owed,
                    child_id,
                    lambda snapshot, prepared: self._engine.children.retry(
                        snapshot, prepared.compiled, command, owed.id
                    ),
                )
            except Conflict as refused:
                log.info("child %s cannot be retried: %s", child_id, refused)
        anew = status in (InstanceStatus.CANCELED, InstanceStatus.TERMINATED)
        told = self._settling.follow_up(
            owed,
            children.RESTART_CHILD if anew else children.CHILD_ENDED,
            owed.source_instance_id,
            nodeInstanceId=owed.payload["nodeInstanceId"],
            childInstanceId=child_id,
            order=owed.id,
        )
        return self._settling.replace(owed, [told])

    def _reattach_parent(self, owed: FollowUp) -> Wave | Sequence[FollowUp]:
        child = ChildEnd(
            child_id=owed.payload["childInstanceId"],
            node_instance_id=owed.payload["nodeInstanceId"] or "",
            status=InstanceStatus.RUNNING,
        )
        command = self._commands.system_command("retry")
        return self._settling.change(
            owed,
            owed.target_instance_id,
            lambda snapshot, prepared: self._engine.children.reattach(snapshot, prepared.compiled, child, command),
        )

    # --- commands ---------------------------------------------------------------------------

    def _command(self, owed: FollowUp, action: str) -> Command:
        """Return the mark of a command that somebody gave for the parent, and so for the child."""
        command = self._commands.system_command(action)
        return msgspec.structs.replace(command, actor_id=owed.payload.get("actorId"))

    def _closing(self, *, terminates: bool) -> Operation:
        def close(snapshot: InstanceSnapshot, prepared: Prepared, command: Command, reason: str | None) -> Wave:
            return self._engine.children.close(
                snapshot, prepared.compiled, command, terminates=terminates, reason=reason
            )

        return close


def _taken(wave: Wave | None) -> Wave:
    """Return the wave. :raises Postponed: the instance could not take the news."""
    if wave is None:
        raise Postponed
    return wave


def _is_news(node: NodeInstance, child: InstanceSummary) -> bool:
    """Whether a node has not been told of this end, and will not be by the answer to a retry that it ordered."""
    told, orders = node.state.get(ENDS, {}), node.state.get(RETRIES, {})
    return told.get(child.id) != child.status and child.id not in orders
