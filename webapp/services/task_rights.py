"""What an account may do with an open task now: pages and the API show no more than works (spec 6.4, 6.7)."""

from __future__ import annotations

from webapp.accounts.model import Actor
from webapp.accounts.permissions import TASKS_ALL
from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.instances.principals import is_group
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.tasks.properties import ALLOW_ADD_SIGNERS, ALLOW_DELEGATE, ALLOW_TRANSFER
from webapp.engine.tasks.signers import Signer, load, present
from webapp.services.views import TaskRights


def rights_of(actor: Actor, task: Bookmark, snapshot: InstanceSnapshot, definition: WorkflowDefinition) -> TaskRights:
    """Return the rights; none while the instance does not run, undo alone while a decision is pending."""
    instance = snapshot.instance
    if instance.status is not InstanceStatus.RUNNING:
        return TaskRights()
    people = {actor.name, *actor.absent(instance.definition_name)}
    if task.available_at is not None:
        return TaskRights(undo=task.key in people)
    execution = next((one for one in snapshot.node_instances if one.id == task.node_instance_id), None)
    signers = present(load(execution.state)) if execution is not None else []
    node = next((one for one in definition.nodes if one.id == task.node_id), None)
    own = task.key in people and task.claimed_by in (None, task.key)
    operator = actor.may(TASKS_ALL)
    lender = next((one.id for one in signers if one.delegate is not None and one.delegate == task.key), None)
    return TaskRights(
        complete=own,
        claim=_may_claim(actor, task, people),
        release=_may_release(task, lender, people, operator=operator),
        transfer=operator or (own and _allows(node, ALLOW_TRANSFER)),
        delegate=own and lender is None and _allows(node, ALLOW_DELEGATE),
        add=operator or (own and _allows(node, ALLOW_ADD_SIGNERS)),
        remove=len(signers) > 1 and any(one.undecided and (operator or one.added_by == actor.name) for one in signers),
        urge=_may_urge(actor, instance, signers, people, operator=operator),
    )


def _may_claim(actor: Actor, task: Bookmark, people: set[str]) -> bool:
    if task.claimed_by is not None:
        return False
    return task.key in actor.principals if is_group(task.key or "") else task.claimable and task.key in people


def _may_release(task: Bookmark, lender: str | None, people: set[str], *, operator: bool) -> bool:
    if task.claimed_by is None and lender is None:
        return False
    holder = task.key if lender is not None else task.claimed_by
    return operator or holder in people or lender in people


def _may_urge(
    actor: Actor, instance: WorkflowInstance, signers: list[Signer], people: set[str], *, operator: bool
) -> bool:
    started = actor.name in (instance.starter_id, instance.requested_by)
    return operator or started or any(one.id in people or one.holder in people for one in signers)


def _allows(node: Node | None, flag: str) -> bool:
    if node is None:
        return True
    return node.properties.get(flag, node.properties.get(flag[0].lower() + flag[1:])) is not False
