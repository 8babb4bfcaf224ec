"""What goes back: tasks returned, decisions recalled, requests withdrawn (spec 11, Tasks and Amendments)."""

from __future__ import annotations

from typing import Literal

from webapp.web.api.instance_shapes import Instance, ReasonBody, instance_shape
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, Shape
from webapp.web.api.task_shapes import TaskActionResult, result_shape

section = Section("Tasks")


class ReturnBody(Body, frozen=True, kw_only=True):
    """Where to (an earlier step; by default the task completed last), why, and how it goes on from there."""

    comment: str
    to_node_id: str | None = None
    resubmit: Literal["direct", "flow"] | None = None


class ReturnTargetItem(Shape, frozen=True, kw_only=True):
    """An earlier step."""

    node_id: str
    node_name: str


@section.call("POST", "/tasks/<id>/return", body=ReturnBody, answers={200: TaskActionResult}, refuses=(404, 409))
def return_task(call: Call[ReturnBody, None], id: str) -> Reply:
    """Send the step back to an earlier one."""
    asked = call.body
    result = call.services.returns.return_task(
        call.actor, id, comment=asked.comment, to_node_id=asked.to_node_id, resubmit=asked.resubmit
    )
    return Reply(value=result_shape(result, call.catalog, call.lang))


@section.call("GET", "/tasks/<id>/return-targets", answers={200: ListOf[ReturnTargetItem]}, refuses=(404,))
def list_return_targets(call: Call[None, None], id: str) -> Reply:
    """List the earlier steps that the caller may send the step back to, in their order; none if it may not."""
    found = call.services.returns.return_targets(call.actor, call.services.inbox.get(call.actor, id))
    items = [ReturnTargetItem(node_id=one.node_id, node_name=one.node_name) for one in found]
    return Reply(value=ListOf(items=items, total=len(items)))


@section.call("POST", "/tasks/<id>/recall", answers={200: TaskActionResult}, refuses=(404, 409))
def recall_task(call: Call[None, None], id: str) -> Reply:
    """Take an own decision back while nobody has acted on what followed."""
    return Reply(value=result_shape(call.services.returns.recall(call.actor, id), call.catalog, call.lang))


@section.call(
    "POST", "/instances/<id>/withdraw", body=ReasonBody, body_required=False,
    answers={200: Instance}, refuses=(404, 409), sends_revision=True,
)  # fmt: skip
def withdraw_instance(call: Call[ReasonBody, None], id: str) -> Reply:
    """Cancel an own request until somebody else has approved it."""
    instance = call.services.returns.withdraw(call.actor, id, reason=call.body.reason)
    return Reply(value=instance_shape(instance, call.catalog, call.lang), revision=instance.revision)
