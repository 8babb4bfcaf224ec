"""Who may do what: the checks that every service method makes (spec 6.7 "Rights", 25 "Roles" and "Calls")."""

from __future__ import annotations

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_OPERATE, INSTANCES_READ, INSTANCES_START
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import DENIED_ACTOR, DENIED_PERMISSION, NOTFOUND_INSTANCE, Denied, NotFound
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.ports.stores import UnitOfWork

NOT_FOUND = "REQUEST_NOTFOUND_001"
"""The code for what is neither definition, instance nor task: its text says what is not there."""


def require(actor: Actor, permission: str) -> None:
    """Refuse a call whose actor lacks the permission."""
    if not actor.may(permission):
        raise lacking(permission)


def lacking(permission: str) -> Denied:
    """Return the refusal that names a missing permission."""
    return Denied("access.denied", code=DENIED_PERMISSION, params={"permission": permission})


def not_assignee() -> Denied:
    """Return the refusal for somebody whose task it is not."""
    return Denied("workflow.task.not_assignee", code=DENIED_ACTOR)


def instance_missing(instance_id: str) -> NotFound:
    """Return the answer for an instance that is not there, or in another partition."""
    return NotFound("services.instance.not_found", code=NOTFOUND_INSTANCE, params={"id": instance_id})


def may_start(actor: Actor, definition: WorkflowDefinition) -> bool:
    """Whether the actor may start this definition: the permission, and one of its principals in ``startableBy``."""
    if not actor.may(INSTANCES_START):
        return False
    return not definition.startable_by or any(who in definition.startable_by for who in actor.principals)


def owns(actor: Actor, definition: WorkflowDefinition) -> bool:
    """Whether the actor is named among the definition's owners."""
    return any(who in definition.owners for who in actor.principals)


def may_operate(actor: Actor, definition: WorkflowDefinition) -> bool:
    """Whether the actor may cancel, retry … instances of this definition."""
    return actor.may(INSTANCES_OPERATE) or owns(actor, definition)


def may_read(actor: Actor, instance: WorkflowInstance, definition: WorkflowDefinition | None, work: UnitOfWork) -> bool:
    """Whether the actor may read the instance: by permission, as owner, starter, assignee ever, copied, or as the
    substitute of one of these (6.7, D34).
    """
    if actor.may(INSTANCES_READ) or actor.name in (instance.starter_id, instance.requested_by):
        return True
    if definition is not None and owns(actor, definition):
        return True
    everybody = (*actor.principals, *actor.absent(instance.definition_name))
    return any(work.instances.may_read(actor.partition, instance.id, who) for who in everybody)


def require_read(
    actor: Actor, instance: WorkflowInstance, definition: WorkflowDefinition | None, work: UnitOfWork
) -> None:
    """Refuse to show an instance to somebody who has no part in it."""
    if not may_read(actor, instance, definition, work):
        raise lacking(INSTANCES_READ)
