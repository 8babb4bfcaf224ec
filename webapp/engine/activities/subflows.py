"""What SubWorkflow, ForEach and the wave agree on: names in states and inputs, requests, faults (spec 1.13, 3.15)."""

from __future__ import annotations

from typing import Any

import msgspec

from webapp.engine.activities.api import ActivityContext, ActivityFault, BookmarkRequest, ChildRequest, ResumeInput
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowFault
from webapp.engine.numbers import JsonObject, JsonValue, decode, encode

CHILDREN = "__childInstanceIds"
"""In a node's state: the children of its present run, in the order in which they were asked for."""
ENDS = "__childEnds"
"""In a node's state: how each child ended whose end was delivered, by its id."""

RETRIES = "__childRetries"
"""In a node's state: the order of each child's retry, by its id; only an end that obeys the order counts (3.22)."""

CHILD_ID = "childInstanceId"
CHILD_STATUS = "childStatus"
CHILD_VARIABLES = "childVariables"
CHILD_FAULT = "childFault"
RESTART = "__restart"
"""A resume input: the child came to nothing that a retry could go on from, so a new one is to stand in its place."""

FAULTED = "workflow.child.faulted"
CANCELED = "workflow.child.canceled"
TERMINATED = "workflow.child.terminated"

_KEYS = {InstanceStatus.FAULTED: FAULTED, InstanceStatus.CANCELED: CANCELED, InstanceStatus.TERMINATED: TERMINATED}


def definition_name(context: ActivityContext) -> str:
    """Return the rendered name of the definition to start. :raises ActivityFault: it is blank."""
    name = (context.text("DefinitionName") or "").strip()
    if not name:
        raise ActivityFault("workflow.property.missing", code=UNEXPECTED, args={"name": "DefinitionName"})
    return name


def version(context: ActivityContext) -> int | None:
    """Return the version to start; None: the latest published. :raises ActivityFault: it is no whole number."""
    value = context.literal("DefinitionVersion")
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": "DefinitionVersion", "type": "number"})


def members(context: ActivityContext, name: str) -> JsonObject:
    """Return a property that is an object of literals. :raises ActivityFault: it is none."""
    value = context.literal(name, {})
    if not isinstance(value, dict):
        raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": name, "type": "object"})
    return value


def wait_for_children(context: ActivityContext) -> BookmarkRequest:
    """Return the waiting point of a node that its children resume."""
    return BookmarkRequest(kind=BookmarkKind.SUB_WORKFLOW, key=context.node_instance_id)


def child_fault(status: InstanceStatus, child_id: str, name: str, inner: JsonValue) -> ActivityFault:
    """Return the fault of a parent whose child did not complete; *inner* is the child's fault as JSON (spec 3.15)."""
    args: dict[str, Any] = {"childInstanceId": child_id, "definition": name}
    cause = None if inner is None else decode(encode(inner), WorkflowFault)
    return ActivityFault(_KEYS[status], code=UNEXPECTED, args=args, inner=cause)


class ChildNews(msgspec.Struct, frozen=True, kw_only=True):
    """What a resumed node learns of one of its children."""

    child_id: str
    status: InstanceStatus
    variables: JsonObject
    fault: JsonValue
    restart: bool


def news(context: ActivityContext, resume: ResumeInput) -> ChildNews:
    """Return what the resume says of a child.

    :raises ActivityFault: the node's time is over, or somebody resumed the bookmark with something else.
    """
    if resume.bookmark.kind is not BookmarkKind.SUB_WORKFLOW:
        raise ActivityFault("workflow.node.timed_out", code=UNEXPECTED, args={"node": context.node_name})
    inputs = resume.inputs
    child_id, status = inputs.get(CHILD_ID), inputs.get(CHILD_STATUS)
    known = isinstance(child_id, str) and child_id in context.state.get(CHILDREN, ())
    if not isinstance(child_id, str) or not known or status not in list(InstanceStatus):
        raise ActivityFault("workflow.child.unknown", code=UNEXPECTED, args={"childInstanceId": child_id})
    return ChildNews(
        child_id=child_id,
        status=InstanceStatus(status),
        variables=inputs.get(CHILD_VARIABLES) or {},
        fault=inputs.get(CHILD_FAULT),
        restart=inputs.get(RESTART) is True,
    )


def child(name: str, version: int | None, variables: JsonObject, replaces: str | None = None) -> ChildRequest:
    """Return the request of one child."""
    return ChildRequest(definition_name=name, version=version, variables=variables, replaces=replaces)
