"""Tasks as their page shows them, made from the waiting point and the node's state (spec 1.12, 6.7, 25 Tasks)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import TaskRecord
from webapp.engine.instances.model import OUTCOME, WorkflowInstance
from webapp.engine.instances.principals import is_group
from webapp.engine.numbers import JsonObject, JsonValue, copy_json
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.tasks.policies import POLICY, THRESHOLD
from webapp.engine.tasks.signers import SignerState, load
from webapp.engine.tasks.user_tasks import (
    ACTOR,
    ALLOWED,
    COMMENT,
    COMMENT_REQUIRED,
    COPIES,
    DECISION_MADE,
    DELEGATED_BY,
    FORM_DATA,
    LAST_URGED_AT,
    SHOWN,
    TITLE,
    URGE_COUNT,
    WRITABLE,
)
from webapp.services.views import Signer, TaskDetail


def open_detail(snapshot: InstanceSnapshot, task: Bookmark, definition: WorkflowDefinition) -> TaskDetail:
    """Return an open task; everything is copied, because a wave may change the snapshot afterwards."""
    instance = snapshot.instance
    execution = next((one for one in snapshot.node_instances if one.id == task.node_instance_id), None)
    node = _node(definition, task.node_id)
    state = execution.state if execution is not None else {}
    form = _property(node, "Form")
    return TaskDetail(
        id=task.id,
        instance_id=instance.id,
        node_id=task.node_id or "",
        node_instance_id=task.node_instance_id or "",
        node_name=node.label if node is not None else task.node_id or "",
        title=task.title or _text(task.payload.get(TITLE)) or "",
        instance_title=instance.title,
        definition_id=definition.id,
        definition_name=instance.definition_name,
        definition_title=definition.title,
        definition_version=instance.definition_version,
        starter_id=instance.starter_id,
        candidates=_candidates(task, state),
        correlation_id=task.correlation_id or instance.correlation_id,
        form_data=_object(task.payload.get(FORM_DATA)),
        form=_object(form) if isinstance(form, dict) else None,
        allowed_outcomes=_texts(task.payload.get(ALLOWED)),
        priority=task.priority,
        created_at=task.created_at,
        due_at=task.task_due_at,
        opened_at=task.opened_at,
        policy=_text(state.get(POLICY)),
        threshold=state.get(THRESHOLD),
        signers=signers_in(state),
        variables=_shown(_texts(task.payload.get(SHOWN)), instance),
        comment_required=_texts(task.payload.get(COMMENT_REQUIRED)),
        writable_variables=_texts(task.payload[WRITABLE]) if WRITABLE in task.payload else None,
        copied_to=_texts(task.payload.get(COPIES)),
        **standing(task),
    )


def standing(task: Bookmark) -> dict[str, Any]:
    """Return those members of an open task's view that an action on it may change."""
    decision = task.payload.get(DECISION_MADE)
    shown: dict[str, Any] = {
        "status": "open",
        "completed_by": None,
        "on_behalf_of": None,
        "outcome": None,
        "comment": None,
        "ended_at": None,
        "undo_until": None,
        "assignee_id": task.key or "",
        "claimed_by": task.claimed_by,
        "delegated_by": _text(task.payload.get(DELEGATED_BY)),
        "urge_count": task.payload.get(URGE_COUNT, 0),
        "last_urged_at": _instant(task.payload.get(LAST_URGED_AT)),
    }
    if task.available_at is not None and isinstance(decision, dict):
        shown |= {
            "status": "decided",
            "completed_by": decision.get(ACTOR),
            "on_behalf_of": decision.get("onBehalfOf"),
            "outcome": decision.get(OUTCOME),
            "comment": decision.get(COMMENT),
            "ended_at": _instant(decision.get("at")),
            "undo_until": task.available_at,
        }
    return shown


def _candidates(task: Bookmark, state: JsonObject) -> list[str]:
    """Return who may claim a task: the group, or under Any all who have it open."""
    if not task.claimable:
        return []
    if is_group(task.key or ""):
        return [task.key or ""]
    return [signer.id for signer in load(state) if signer.state is SignerState.PENDING]


def _instant(value: JsonValue) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None


def ended_detail(record: TaskRecord, instance: WorkflowInstance, definition: WorkflowDefinition) -> TaskDetail:
    """Return a task that is over, from its last record."""
    node = _node(definition, record.node_id)
    return TaskDetail(
        id=record.task_id,
        instance_id=record.instance_id,
        node_id=record.node_id,
        node_instance_id=record.node_instance_id,
        node_name=node.label if node is not None else record.node_id,
        title=record.title,
        instance_title=instance.title,
        definition_id=definition.id,
        definition_name=record.definition_name,
        definition_title=record.definition_title,
        definition_version=instance.definition_version,
        assignee_id=record.assignee_id,
        starter_id=record.starter_id,
        correlation_id=record.correlation_id,
        allowed_outcomes=_texts(_property(node, "AllowedOutcomes")),
        priority=record.priority,
        created_at=record.created_at,
        due_at=record.task_due_at,
        opened_at=record.opened_at,
        variables=_shown(_texts(_property(node, "ShowVariables")), instance),
        status="ended",
        completed_by=record.actor_id,
        on_behalf_of=record.on_behalf_of,
        outcome=record.outcome,
        comment=record.comment,
        ended_at=record.ended_at,
        end_reason=record.end_reason,
    )


def signers_in(state: JsonObject) -> list[Signer]:
    """Return who decides a user task, how far each is, and when they decided."""
    return [
        Signer(
            id=signer.id,
            state=signer.state.value,
            outcome=signer.outcome,
            at=_instant(signer.at),
            after=signer.after,
            before=signer.before,
            added_by=signer.added_by,
            delegate=signer.delegate,
        )
        for signer in load(state)
    ]


def _shown(names: list[str], instance: WorkflowInstance) -> JsonObject:
    return {name: copy_json(instance.variables[name]) for name in names if name in instance.variables}


def _node(definition: WorkflowDefinition, node_id: str | None) -> Node | None:
    return next((node for node in definition.nodes if node.id == node_id), None)


def _property(node: Node | None, name: str) -> JsonValue:
    if node is None:
        return None
    # Written in PascalCase, read in camelCase as well (D35).
    return node.properties.get(name, node.properties.get(name[0].lower() + name[1:]))


def _object(value: JsonValue) -> JsonObject:
    copied: JsonObject = copy_json(value) if isinstance(value, dict) else {}
    return copied


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
