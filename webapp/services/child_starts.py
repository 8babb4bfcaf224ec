"""The start of a child: under the id its parent knows, once, and never for a parent that gave it up (spec 3.15)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.errors import CONFLICT_DEFINITION, UNEXPECTED, Conflict, LockTimeout, Unavailable, WorkflowError
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import InstanceStatus, WorkflowFault, WorkflowInstance
from webapp.engine.instances.requests import StartRequest
from webapp.engine.ports.stores import DuplicateRecord, InstanceSnapshot, Partition, UnitOfWork, WriteSet
from webapp.engine.runtime import children
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.engine import Engine
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache, Prepared, definition_missing
from webapp.services.follow_ups import Postponed
from webapp.services.settling import Settling, awaited, snapshot_of
from webapp.services.storage import Storage

log = logging.getLogger("waypost.children")


class ChildStarts:
    """The handler of the follow-up that starts a child."""

    def __init__(
        self, *, engine: Engine, storage: Storage, commands: Commands, definitions: DefinitionCache, settling: Settling
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._definitions = definitions
        self._settling = settling

    def start(self, owed: FollowUp) -> Sequence[FollowUp]:
        """Start a child under the id that its parent knows, unless it is there, or not wanted any more.

        The row goes only after the child's first commit, with a second look at the parent: a cancel that was faster
        than the start found no child to cancel.
        """
        child_id = owed.target_instance_id or ""
        parent, child = self._storage.read(
            owed.tenant_id,
            lambda work: (
                snapshot_of(work, owed.source_instance_id, owed),
                work.instances.find(owed.tenant_id, child_id),
            ),
        )
        if parent is None:
            return self._settling.done(owed)
        left: list[FollowUp] = []
        if child is None:
            if not _wants(parent, owed):
                return self._settling.done(owed)
            if parent.instance.status is InstanceStatus.SUSPENDED:
                raise Postponed
            try:
                left += self._first_wave(parent.instance, owed).write_set.new_follow_ups
            except (Unavailable, LockTimeout):
                raise
            except DuplicateRecord:
                log.info("child %s was started by another runner", child_id)
            except Exception as error:
                return self._not_started(owed, error)
        return [*left, *self._settle_start(owed)]

    def _first_wave(self, parent: WorkflowInstance, owed: FollowUp) -> Wave:
        payload, partition = owed.payload, owed.tenant_id
        prepared = self._startable(partition, payload["definitionName"], payload["version"])
        request = StartRequest(
            variables=payload["variables"],
            correlation_id=parent.correlation_id,
            starter_id=parent.starter_id,
            requested_by=parent.requested_by,
            instance_id=owed.target_instance_id,
            parent_instance_id=parent.id,
            parent_node_instance_id=payload["nodeInstanceId"],
            root_instance_id=parent.root_instance_id,
            depth=parent.depth + 1,
        )
        command = self._commands.system_command("start")
        return self._commands.start(
            lambda: self._engine.start(prepared.compiled, request, command, partition), settle=False
        )

    def _startable(self, partition: Partition, name: str, version: int | None) -> Prepared:
        def block(work: UnitOfWork) -> tuple[str, DefinitionStatus] | None:
            if version is not None:
                found = work.definitions.header_by_version(partition, name, version)
            else:
                found = work.definitions.latest_published(partition, name)
            return None if found is None else (found.id, found.status)

        header = self._storage.read(partition, block)
        if header is None:
            raise definition_missing(name)
        if header[1] is not DefinitionStatus.PUBLISHED:
            raise Conflict(
                "services.definition.not_published", code=CONFLICT_DEFINITION, details={"status": header[1].value}
            )
        return self._definitions.startable(partition, header[0])

    def _settle_start(self, owed: FollowUp) -> Sequence[FollowUp]:
        def block(work: UnitOfWork) -> Sequence[FollowUp]:
            parent = snapshot_of(work, owed.source_instance_id, owed)
            unwanted = parent is None or not _wants(parent, owed)
            stop = [self._stop(owed, parent)] if unwanted else []
            work.apply(WriteSet(partition=owed.tenant_id, new_follow_ups=stop, deleted_follow_up_ids=[owed.id]))
            return stop

        return self._storage.write(owed.tenant_id, block)

    def _stop(self, owed: FollowUp, parent: InstanceSnapshot | None) -> FollowUp:
        terminated = parent is not None and parent.instance.status is InstanceStatus.TERMINATED
        operation = children.TERMINATE if terminated else children.CANCEL
        reason = None if parent is None else parent.instance.cancellation_reason
        return self._settling.follow_up(
            owed, children.OPERATE_CHILD, owed.target_instance_id, operation=operation, reason=reason
        )

    def _not_started(self, owed: FollowUp, error: Exception) -> Sequence[FollowUp]:
        """Tell the parent of a child that cannot be started: it must never wait for ever (spec 3.15)."""
        level = logging.WARNING if isinstance(error, WorkflowError) else logging.ERROR
        log.log(
            level, "child %s of %s was not started", owed.target_instance_id, owed.source_instance_id, exc_info=error
        )
        told = self._settling.follow_up(
            owed,
            children.CHILD_ENDED,
            owed.source_instance_id,
            nodeInstanceId=owed.payload["nodeInstanceId"],
            childInstanceId=owed.target_instance_id,
            fault=msgspec.to_builtins(start_fault(error, owed.payload["definitionName"])),
        )
        return self._settling.replace(owed, [told])


def start_fault(error: Exception, name: str) -> WorkflowFault:
    """Return the fault of a child that could not be started; the cause, and the first thing wrong with it, inside."""
    if not isinstance(error, WorkflowError):
        text = {"text": str(error) or type(error).__name__, "type": type(error).__name__}
        inner = WorkflowFault(code=UNEXPECTED, key="workflow.activity.exception", args=text)
        return WorkflowFault(code=UNEXPECTED, key="workflow.child.start_failed", args={"definition": name}, inner=inner)
    cause = next(iter(error.problems), None)
    detail = None
    if cause is not None and cause.key != error.key:
        detail = WorkflowFault(code=error.code, key=cause.key, args={**cause.params, "path": cause.path})
    inner = WorkflowFault(code=error.code, key=error.key, args=error.params, inner=detail)
    return WorkflowFault(code=error.code, key="workflow.child.start_failed", args={"definition": name}, inner=inner)


def _wants(parent: InstanceSnapshot, owed: FollowUp) -> bool:
    """Whether a parent still wants a child that it asked for."""
    if owed.payload.get("lasting"):
        return True
    if owed.payload["waits"]:
        return owed.target_instance_id in awaited(parent)
    return parent.instance.status not in (InstanceStatus.CANCELED, InstanceStatus.TERMINATED)
