"""What operators and owners do to instances: suspend, jump, migrate … (spec 3.13, 3.20, 11 Instances)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from webapp.engine.errors import InputInvalid
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.services.operation_views import Jump, Migration
from webapp.web.api.instance_shapes import CascadeBody, Instance, ReasonBody, instance_shape
from webapp.web.api.query import Unreadable, read_instant
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ProblemItem, Shape, problem_shape

section = Section("Instances")


class DryRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether to say only what would happen."""

    dry_run: bool = False


class JumpBody(ReasonBody, frozen=True, kw_only=True):
    """Where to, from where (default: from everywhere), with which variables, and why."""

    to_node_id: str
    from_node_id: str | None = None
    variables: JsonObject = msgspec.field(default_factory=dict)


class JumpPlan(Shape, frozen=True, kw_only=True):
    """What a jump would take away: executions, open tasks, tokens that a fault left, waves of joins."""

    canceled_node_ids: list[str]
    task_ids: list[str]
    dropped_token_node_ids: list[str]
    dropped_join_ids: list[str]


class MigrateBody(ReasonBody, frozen=True, kw_only=True):
    """To which version, which node becomes which (a node that is not named keeps its id), and why."""

    version: int
    node_mapping: dict[str, str] = msgspec.field(default_factory=dict)


class MigrationPlan(Shape, frozen=True, kw_only=True):
    """The nodes in use with what they become, and all that does not map."""

    nodes: dict[str, str]
    errors: list[ProblemItem]


class VariablesBody(ReasonBody, frozen=True, kw_only=True):
    """Which variables get which values, which are removed, and why."""

    set: JsonObject = msgspec.field(default_factory=dict)
    remove: list[str] = msgspec.field(default_factory=list)


class PurgeBody(Body, frozen=True, kw_only=True):
    """Until when they ended (RFC 3339), of which definition the roots are, with which statuses, and how many trees."""

    ended_before: str
    definition_name: str | None = None
    statuses: list[Literal["Completed", "Canceled", "Terminated", "Faulted"]] | None = None
    limit: int = 100


class Purged(Shape, frozen=True, kw_only=True):
    """How many instances were deleted."""

    purged: int


_CHANGED: dict[str, Any] = {"answers": {200: Instance}, "refuses": (404, 409), "sends_revision": True}


@section.call("POST", "/instances/<id>/suspend", body=CascadeBody, body_required=False, **_CHANGED)
def suspend_instance(call: Call[CascadeBody, None], id: str) -> Reply:
    """Stop an instance where it stands; nobody can act on its tasks until it is resumed."""
    asked = call.body
    return _instance(call, call.services.operations.suspend(call.actor, id, asked.reason, cascade=asked.cascade))


@section.call("POST", "/instances/<id>/resume", body=CascadeBody, body_required=False, **_CHANGED)
def resume_instance(call: Call[CascadeBody, None], id: str) -> Reply:
    """Let a suspended instance go on."""
    asked = call.body
    return _instance(call, call.services.operations.resume(call.actor, id, asked.reason, cascade=asked.cascade))


@section.call("POST", "/instances/<id>/terminate", body=ReasonBody, body_required=False, **_CHANGED)
def terminate_instance(call: Call[ReasonBody, None], id: str) -> Reply:
    """End an instance at once and without compensation; what has ended otherwise stays as it is."""
    return _instance(call, call.services.operations.terminate(call.actor, id, reason=call.body.reason))


@section.call(
    "POST", "/instances/<id>/jump", body=JumpBody, query=DryRun, answers={200: (Instance, JumpPlan)},
    refuses=(404, 409), sends_revision=True,
)  # fmt: skip
def jump_instance(call: Call[JumpBody, DryRun], id: str) -> Reply:
    """Move an instance to another step; `dryRun=true` says what that would take away."""
    asked, operations = call.body, call.services.operations
    jump = Jump(
        to_node_id=asked.to_node_id, from_node_id=asked.from_node_id, variables=asked.variables, reason=asked.reason
    )
    if not call.query.dry_run:
        return _instance(call, operations.jump(call.actor, id, jump))
    report = operations.plan_jump(call.actor, id, jump)
    plan = {name: getattr(report, name) for name in JumpPlan.__struct_fields__}
    return Reply(value=JumpPlan(**plan), revision=report.revision)


@section.call(
    "POST", "/instances/<id>/migrate", body=MigrateBody, query=DryRun, answers={200: (Instance, MigrationPlan)},
    refuses=(404, 409), sends_revision=True,
)  # fmt: skip
def migrate_instance(call: Call[MigrateBody, DryRun], id: str) -> Reply:
    """Move an instance to another version of its workflow; `dryRun=true` says what would not map."""
    asked, operations = call.body, call.services.operations
    migration = Migration(node_mapping=asked.node_mapping, reason=asked.reason)
    if not call.query.dry_run:
        return _instance(call, operations.migrate(call.actor, id, asked.version, migration))
    report = operations.plan_migration(call.actor, id, asked.version, migration)
    errors = [problem_shape(problem, call.catalog, call.lang) for problem in report.problems]
    return Reply(value=MigrationPlan(nodes=report.nodes, errors=errors), revision=report.revision)


@section.call("PATCH", "/instances/<id>/variables", body=VariablesBody, **_CHANGED)
def update_variables(call: Call[VariablesBody, None], id: str) -> Reply:
    """Set and remove variables of an instance that has not ended; nothing runs."""
    asked = call.body
    changed = call.services.operations.update_variables(
        call.actor, id, values=asked.set, removed=asked.remove, reason=asked.reason
    )
    return _instance(call, changed)


@section.call("POST", "/instances/purge", body=PurgeBody, answers={200: Purged})
def purge_instances(call: Call[PurgeBody, None]) -> Reply:
    """Delete whole trees of ended instances, the oldest end first."""
    asked = call.body
    try:
        before = read_instant(asked.ended_before)
    except Unreadable as unreadable:
        params = {"value": asked.ended_before[:80], **unreadable.params}
        raise InputInvalid(unreadable.key, path="endedBefore", params=params) from unreadable
    statuses = None if asked.statuses is None else [InstanceStatus(name) for name in asked.statuses]
    purged = call.services.operations.purge(
        call.actor,
        ended_before=before,
        definition_name=asked.definition_name,
        limit=asked.limit,
        **({} if statuses is None else {"statuses": statuses}),
    )
    return Reply(value=Purged(purged=purged))


def _instance(call: Call[Any, Any], instance: WorkflowInstance) -> Reply:
    return Reply(value=instance_shape(instance, call.catalog, call.lang), revision=instance.revision)
