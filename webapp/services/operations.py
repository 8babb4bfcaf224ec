"""What operators and owners do to instances: suspend, jump, migrate … (spec 3.13, 3.20, 3.22, 6.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.engine.clock import Clock
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.errors import CONFLICT_DEFINITION, Conflict, InputInvalid, Problem
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.limits import MAX_REMARK
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.purge import PURGEABLE, PurgeWish
from webapp.engine.ports.stores import InstanceSnapshot, Partition
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.engine import Engine
from webapp.engine.runtime.jumping import Jump
from webapp.engine.runtime.migration import Migration
from webapp.services.access import lacking, may_operate
from webapp.services.children import ChildService
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache, Prepared, definition_missing
from webapp.services.instances import InstanceService
from webapp.services.operation_views import InstanceRights, JumpReport, MigrationReport
from webapp.services.purging import PurgeService
from webapp.services.storage import Storage
from webapp.services.texts import check_text

SUSPEND = "suspend"
RESUME = "resume"
TERMINATE = "terminate"
JUMP = "jump"
MIGRATE = "migrate"
UPDATE_VARIABLES = "updateVariables"

BATCH_ACTIONS = (SUSPEND, RESUME, "cancel", TERMINATE, "retry", MIGRATE)
"""What a batch may do to each of its instances."""

DEFAULT_PURGE = 100
MAX_PURGE = 1_000

Operate = Callable[[InstanceSnapshot, Prepared, Command], Wave]


class OperationService:
    """The use cases of whoever may operate an instance: by ``instances:operate``, or as owner of its definition."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        commands: Commands,
        definitions: DefinitionCache,
        instances: InstanceService,
        children: ChildService,
        clock: Clock,
        purges: PurgeService,
    ) -> None:
        self._engine = engine
        self._purges = purges
        self._commands = commands
        self._instances = instances
        self._storage = storage
        self._clock = clock
        self._definitions = definitions
        children.register_operation(SUSPEND, self._suspend_child)
        children.register_operation(RESUME, self._resume_child)

    def suspend(
        self, actor: Actor, instance_id: str, reason: str | None = None, *, cascade: bool = False
    ) -> WorkflowInstance:
        """Stop a Running instance where it stands, with *cascade* its children. :raises Conflict: it does not run."""
        return self._operate(actor, instance_id, SUSPEND, reason, self._suspending(reason, cascade=cascade))

    def resume(
        self, actor: Actor, instance_id: str, reason: str | None = None, *, cascade: bool = False
    ) -> WorkflowInstance:
        """Let a Suspended instance go on, with *cascade* its children too. :raises Conflict: it is not suspended."""
        return self._operate(actor, instance_id, RESUME, reason, self._resuming(reason, cascade=cascade))

    def terminate(self, actor: Actor, instance_id: str, reason: str | None = None) -> WorkflowInstance:
        """End an instance at once, without compensation; one that has ended otherwise than Faulted stays as it is."""
        return self._operate(actor, instance_id, TERMINATE, reason, self._terminating(reason))

    def jump(self, actor: Actor, instance_id: str, jump: Jump) -> WorkflowInstance:
        """Move an instance to another step (3.20). :raises Conflict: it neither runs nor is Faulted.

        :raises InputInvalid: an unknown target, a source where nothing stands, a variable that cannot be set.
        """

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.jump(snapshot, prepared.compiled, command, jump)

        return self._operate(actor, instance_id, JUMP, jump.reason, act, history=True)

    def plan_jump(self, actor: Actor, instance_id: str, jump: Jump) -> JumpReport:
        """Return what a jump would take away; nothing changes."""
        self._require(actor, instance_id)
        snapshot, prepared = self._commands.look(actor.partition, instance_id, history=True)
        command = self._commands.command(actor, JUMP)
        planned = self._engine.plan_jump(snapshot, prepared.compiled, command, jump)
        return JumpReport(
            revision=snapshot.instance.revision,
            canceled_node_ids=[one.node_id for one in planned.canceled],
            task_ids=[one.id for one in planned.bookmarks if one.kind is BookmarkKind.USER_TASK],
            dropped_token_node_ids=[token.node_id for token in planned.tokens],
            dropped_join_ids=planned.dropped_joins,
        )

    def migrate(self, actor: Actor, instance_id: str, version: int, migration: Migration) -> WorkflowInstance:
        """Move an instance to another published version of its definition (3.20).

        :raises NotFound: there is no such version. :raises Conflict: it is not Published, or the instance has ended.
        :raises InputInvalid: naming all that does not map.
        """
        instance = self._require(actor, instance_id)
        act = self._migrating(actor.partition, instance, version, migration)
        # What is renamed is renamed in what is over, too.
        history = bool(migration.node_mapping)
        return self._operate(actor, instance_id, MIGRATE, migration.reason, act, history=history)

    def plan_migration(self, actor: Actor, instance_id: str, version: int, migration: Migration) -> MigrationReport:
        """Return what a migration would do, and all that does not map; nothing changes."""
        self._require(actor, instance_id)
        snapshot, prepared = self._commands.look(actor.partition, instance_id)
        target = self._version(actor.partition, snapshot.instance, version)
        command = self._commands.command(actor, MIGRATE)
        planned = self._engine.plan_migration(snapshot, prepared.compiled, command, target.compiled, migration)
        return MigrationReport(revision=snapshot.instance.revision, nodes=planned.nodes, problems=planned.problems)

    def update_variables(
        self,
        actor: Actor,
        instance_id: str,
        *,
        values: JsonObject | None = None,
        removed: Sequence[str] = (),
        reason: str | None = None,
    ) -> WorkflowInstance:
        """Set and remove variables of an instance that has not ended; nothing runs (3.20)."""

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.update_variables(
                snapshot, prepared.compiled, command, values or {}, removed, reason=reason
            )

        return self._operate(actor, instance_id, UPDATE_VARIABLES, reason, act)

    def purge(
        self,
        actor: Actor,
        *,
        ended_before: datetime,
        definition_name: str | None = None,
        statuses: Sequence[InstanceStatus] = PURGEABLE,
        limit: int = DEFAULT_PURGE,
    ) -> int:
        """Delete whole ended trees, the oldest end first, and return the number of instances (3.20, 8.10).

        Faulted ones go only where *statuses* names that. Owners may purge instances of their own definitions, by name.

        :raises InputInvalid: a limit out of 1 to 1,000, a status that nothing has ended with.
        """
        if not actor.may(INSTANCES_OPERATE) and not self._owns(actor, definition_name):
            raise lacking(INSTANCES_OPERATE)
        if not 1 <= limit <= MAX_PURGE:
            raise InputInvalid("services.purge.limit", path="limit", params={"max": MAX_PURGE})
        known = (*PURGEABLE, InstanceStatus.FAULTED)
        problems = [
            Problem(path=f"statuses[{index}]", key="services.purge.statuses", params={"status": one, "known": known})
            for index, one in enumerate(statuses)
            if one not in known
        ]
        if problems:
            raise InputInvalid("services.purge.statuses", params=problems[0].params, problems=problems)
        command, now = self._commands.command(actor, "purge"), self._clock.now()
        wish = PurgeWish(before=ended_before, statuses=tuple(dict.fromkeys(statuses)), definition_name=definition_name)
        return self._purges.purge(
            actor.partition, wish, limit, lambda purged: _purge_entry(command, actor, now, purged, definition_name)
        )

    def _owns(self, actor: Actor, definition_name: str | None) -> bool:
        if definition_name is None:
            return False
        header = self._storage.read(
            actor.partition, lambda work: work.definitions.highest(actor.partition, definition_name)
        )
        return header is not None and may_operate(actor, self._definitions.get(actor.partition, header.id).definition)

    def rights(self, actor: Actor, instance: WorkflowInstance) -> InstanceRights:
        """Return which operations on the instance are possible now, for the actor."""
        status = instance.status
        runs, faulted = status is InstanceStatus.RUNNING, status is InstanceStatus.FAULTED
        unfinished = runs or status is InstanceStatus.SUSPENDED
        own = actor.name in (instance.starter_id, instance.requested_by)
        definition = self._definitions.get(actor.partition, instance.definition_id).definition
        withdraw = own and unfinished and definition.allow_withdraw
        if not self._instances.may_operate(actor, instance):
            return InstanceRights(withdraw=withdraw)
        return InstanceRights(
            suspend=runs,
            resume=status is InstanceStatus.SUSPENDED,
            cancel=unfinished or faulted,
            terminate=unfinished or faulted,
            retry=faulted and instance.fault_node_instance_id is not None,
            jump=runs or faulted,
            migrate=unfinished or faulted,
            update_variables=unfinished or faulted,
            withdraw=withdraw,
        )

    def batch_act(self, action: str, reason: str | None, parameters: JsonObject) -> Operate:
        """Return what a batch does to each instance. :raises InputInvalid: the parameters do not fit the action.

        ``suspend`` and ``resume`` take ``cascade``, ``migrate`` takes ``version`` and ``nodeMapping``.
        """
        known = {SUSPEND: {"cascade"}, RESUME: {"cascade"}, MIGRATE: {"version", "nodeMapping"}}.get(action, set())
        for name in parameters:
            if name not in known:
                raise InputInvalid("services.batch.parameter", path=f"parameters.{name}", params={"name": name})
        cascade = parameters.get("cascade", False)
        if not isinstance(cascade, bool):
            raise InputInvalid("services.batch.parameter", path="parameters.cascade", params={"name": "cascade"})
        match action:
            case "suspend":
                return self._suspending(reason, cascade=cascade)
            case "resume":
                return self._resuming(reason, cascade=cascade)
            case "terminate":
                return self._terminating(reason)
            case "migrate":
                return self._migrating_each(reason, parameters)
        operation = self._engine.cancel if action == "cancel" else self._engine.retry

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return operation(snapshot, prepared.compiled, command, reason=reason)

        return act

    def _migrating_each(self, reason: str | None, parameters: JsonObject) -> Operate:
        version, mapping = parameters.get("version"), parameters.get("nodeMapping", {})
        if not isinstance(version, int) or isinstance(version, bool):
            raise InputInvalid("services.batch.parameter", path="parameters.version", params={"name": "version"})
        if not isinstance(mapping, dict) or not all(isinstance(one, str) for one in mapping.values()):
            name = "nodeMapping"
            raise InputInvalid("services.batch.parameter", path=f"parameters.{name}", params={"name": name})
        wanted = Migration(node_mapping=mapping, reason=reason)

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            instance = snapshot.instance
            return self._migrating(instance.tenant_id, instance, version, wanted)(snapshot, prepared, command)

        return act

    # --- what the commands do -----------------------------------------------------------------

    def _suspending(self, reason: str | None, *, cascade: bool = False) -> Operate:
        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.suspend(snapshot, prepared.compiled, command, reason=reason, cascade=cascade)

        return act

    def _resuming(self, reason: str | None, *, cascade: bool = False) -> Operate:
        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.resume_instance(snapshot, prepared.compiled, command, reason=reason, cascade=cascade)

        return act

    def _terminating(self, reason: str | None) -> Operate:
        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.terminate(snapshot, prepared.compiled, command, reason=reason)

        return act

    def _migrating(
        self, partition: Partition, instance: WorkflowInstance, version: int, migration: Migration
    ) -> Operate:
        target = self._version(partition, instance, version)

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            if snapshot.instance.definition_version == version:
                raise InputInvalid("workflow.migrate.same_version", path="version")
            return self._engine.migrate(snapshot, prepared.compiled, command, target.compiled, migration)

        return act

    def _version(self, partition: Partition, instance: WorkflowInstance, version: int) -> Prepared:
        name = instance.definition_name
        header = self._storage.read(
            partition, lambda work: work.definitions.header_by_version(partition, name, version)
        )
        if header is None:
            raise definition_missing(f"{name} {version}")
        if header.status is not DefinitionStatus.PUBLISHED:
            raise Conflict(
                "services.definition.not_published", code=CONFLICT_DEFINITION, details={"status": header.status.value}
            )
        if instance.definition_version == version:
            raise InputInvalid("workflow.migrate.same_version", path="version")
        return self._definitions.get(partition, header.id)

    def _require(self, actor: Actor, instance_id: str) -> WorkflowInstance:
        instance = self._instances.find(actor, instance_id)
        if not self._instances.may_operate(actor, instance):
            raise lacking(INSTANCES_OPERATE)
        return instance

    def _suspend_child(
        self, snapshot: InstanceSnapshot, prepared: Prepared, command: Command, reason: str | None
    ) -> Wave:
        return self._engine.suspend(snapshot, prepared.compiled, command, reason=reason, cascade=True)

    def _resume_child(
        self, snapshot: InstanceSnapshot, prepared: Prepared, command: Command, reason: str | None
    ) -> Wave:
        return self._engine.resume_instance(snapshot, prepared.compiled, command, reason=reason, cascade=True)

    def _operate(
        self, actor: Actor, instance_id: str, action: str, reason: str | None, act: Operate, *, history: bool = False
    ) -> WorkflowInstance:
        check_text("reason", reason, MAX_REMARK)
        command = self._commands.command(actor, action, as_operator=actor.may(INSTANCES_OPERATE))
        self._require(actor, instance_id)
        wave = self._commands.change(
            actor.partition,
            instance_id,
            lambda snapshot, prepared: act(snapshot, prepared, command),
            history=history,
        )
        return self._commands.as_it_stands(wave)


def _purge_entry(command: Command, actor: Actor, now: datetime, purged: int, definition_name: str | None) -> AuditEntry:
    after: JsonObject = {"purged": purged, "definitionName": definition_name}
    return AuditEntry(
        id=command.id,
        tenant_id=actor.partition,
        at=now,
        actor_id=command.actor_id,
        action=command.action,
        request_id=command.request_id,
        command_id=command.id,
        after=after,
    )
