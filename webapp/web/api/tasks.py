"""User tasks: what waits for whom, and the decision (spec 11, Tasks)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from webapp.services.queries import TaskQuery
from webapp.services.views import TaskResult
from webapp.web.api.query import Keyword, SortedWindow, Window, paging
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import ListOf
from webapp.web.api.task_shapes import (
    AddBody,
    BatchBody,
    BatchItem,
    CompleteBody,
    DelegateBody,
    DoneTaskItem,
    RemoveBody,
    Task,
    TaskActionResult,
    TaskCounts,
    TaskListItem,
    TransferBody,
    UrgeBody,
    batch_shape,
    done_item,
    result_shape,
    task_item,
    task_shape,
)

section = Section("Tasks")


class Scope(StrEnum):
    """Whose tasks."""

    MINE = "mine"
    CLAIMABLE = "claimable"
    ALL = "all"


class TaskFilter(SortedWindow, frozen=True, kw_only=True, rename="camel"):
    """Filters of the task list; another's ``assignee`` and ``scope=all`` need the permission ``tasks:all``."""

    scope: Scope | None = None
    assignee: str | None = None
    definition_name: str | None = None
    instance_id: str | None = None
    keyword: Keyword | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    due_before: datetime | None = None


class DoneFilter(Window, frozen=True, kw_only=True, rename="camel"):
    """Filters of what the caller has decided."""

    keyword: Keyword | None = None


@section.call("GET", "/tasks", query=TaskFilter, answers={200: ListOf[TaskListItem]})
def list_tasks(call: Call[None, TaskFilter]) -> Reply:
    """List open tasks of running instances: the caller's own, those that may be claimed, or all."""
    wanted = call.query
    query = TaskQuery(
        assignee=wanted.assignee,
        definition_name=wanted.definition_name,
        instance_id=wanted.instance_id,
        keyword=wanted.keyword,
        created_from=wanted.created_from,
        created_to=wanted.created_to,
        due_before=wanted.due_before,
        paging=paging(wanted),
    )
    page = call.services.inbox.query(call.actor, query, scope=wanted.scope.value if wanted.scope else None)
    return Reply(value=ListOf(items=[task_item(item) for item in page.items], total=page.total))


@section.call("GET", "/tasks/counts", answers={200: TaskCounts})
def count_tasks(call: Call[None, None]) -> Reply:
    """Count the caller's own tasks and those that may be claimed."""
    counts = call.services.inbox.counts(call.actor)
    return Reply(value=TaskCounts(mine=counts["mine"], claimable=counts["claimable"]))


@section.call("GET", "/tasks/done", query=DoneFilter, answers={200: ListOf[DoneTaskItem]})
def list_done_tasks(call: Call[None, DoneFilter]) -> Reply:
    """List what the caller has decided, the latest first; a task that came back is there once for each decision."""
    wanted = call.query
    page = call.services.inbox.done(call.actor, wanted.keyword, paging(wanted))
    return Reply(value=ListOf(items=[done_item(item) for item in page.items], total=page.total))


@section.call("GET", "/tasks/<id>", answers={200: Task}, refuses=(404,))
def get_task(call: Call[None, None], id: str) -> Reply:
    """Return a task with its form, its co-signers and what happened; an ended one says who decided what and when."""
    return Reply(value=task_shape(call.services.inbox.get(call.actor, id), call.catalog, call.lang))


@section.call(
    "POST", "/tasks/<id>/complete", body=CompleteBody, answers={200: TaskActionResult},
    refuses=(404, 409),
)  # fmt: skip
def complete_task(call: Call[CompleteBody, None], id: str) -> Reply:
    """Decide; of several at once exactly one wins, and the others learn who, what and when."""
    decision = call.body
    result = call.services.inbox.complete(
        call.actor,
        id,
        decision.outcome,
        comment=decision.comment,
        variables=decision.variables,
        undo_seconds=decision.undo_seconds,
    )
    return _result(call, result)


@section.call(
    "POST", "/tasks/<id>/transfer", body=TransferBody, answers={200: TaskActionResult},
    refuses=(404, 409),
)  # fmt: skip
def transfer_task(call: Call[TransferBody, None], id: str) -> Reply:
    """Hand the task to somebody else, at the same place in the order."""
    return _result(call, call.services.inbox.transfer(call.actor, id, call.body.to, comment=call.body.comment))


@section.call(
    "POST", "/tasks/<id>/add", body=AddBody, answers={200: TaskActionResult},
    refuses=(404, 409),
)  # fmt: skip
def add_signers(call: Call[AddBody, None], id: str) -> Reply:
    """Let more people decide on the same step."""
    wanted = call.body
    result = call.services.inbox.add(call.actor, id, wanted.assignees, position=wanted.position, comment=wanted.comment)
    return _result(call, result)


@section.call(
    "POST", "/tasks/<id>/remove", body=RemoveBody, answers={200: TaskActionResult},
    refuses=(404, 409),
)  # fmt: skip
def remove_signers(call: Call[RemoveBody, None], id: str) -> Reply:
    """Take people off the step who have not decided, as the one who added them or as operator."""
    return _result(call, call.services.inbox.remove(call.actor, id, call.body.assignees, comment=call.body.comment))


@section.call("POST", "/tasks/<id>/claim", answers={200: TaskActionResult}, refuses=(404, 409))
def claim_task(call: Call[None, None], id: str) -> Reply:
    """Take a task that several may decide; of several at once exactly one gets it."""
    return _result(call, call.services.inbox.claim(call.actor, id))


@section.call("POST", "/tasks/<id>/release", answers={200: TaskActionResult}, refuses=(404, 409))
def release_task(call: Call[None, None], id: str) -> Reply:
    """Give a claimed task back to its candidates, or a delegated one to the person who lent it."""
    return _result(call, call.services.inbox.release(call.actor, id))


@section.call(
    "POST", "/tasks/<id>/delegate", body=DelegateBody, answers={200: TaskActionResult},
    refuses=(404, 409),
)  # fmt: skip
def delegate_task(call: Call[DelegateBody, None], id: str) -> Reply:
    """Have somebody else handle the task; it comes back for the decision."""
    return _result(call, call.services.inbox.delegate(call.actor, id, call.body.to, comment=call.body.comment))


@section.call(
    "POST", "/tasks/<id>/urge", body=UrgeBody, body_required=False, answers={200: TaskActionResult},
    refuses=(404, 409),
)  # fmt: skip
def urge_task(call: Call[UrgeBody, None], id: str) -> Reply:
    """Remind everybody whom the step waits for."""
    return _result(call, call.services.inbox.urge(call.actor, id, comment=call.body.comment))


@section.call(
    "POST", "/tasks/batch", body=BatchBody, answers={200: ListOf[BatchItem]}, answers_once="after",
)  # fmt: skip
def complete_tasks(call: Call[BatchBody, None]) -> Reply:
    """Decide several tasks alike; each has its own result, and one that fails stops no other."""
    wanted = call.body
    found = call.services.inbox.complete_each(
        call.actor, wanted.ids, wanted.outcome, comment=wanted.comment, variables=wanted.variables
    )
    items = [batch_shape(one, call.catalog, call.lang) for one in found]
    return Reply(value=ListOf(items=items, total=len(items)))


@section.call("POST", "/tasks/<id>/undo", answers={200: TaskActionResult}, refuses=(404, 409))
def undo_decision(call: Call[None, None], id: str) -> Reply:
    """Take the caller's own decision back while it is not carried out."""
    return _result(call, call.services.inbox.undo(call.actor, id))


def _result(call: Call[Any, Any], result: TaskResult) -> Reply:
    return Reply(value=result_shape(result, call.catalog, call.lang))
