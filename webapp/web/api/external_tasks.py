"""External tasks: what worker programs fetch and hand back (spec 11, External tasks)."""

from __future__ import annotations

from webapp.services.external_tasks import TopicRequest
from webapp.web.api.external_task_shapes import (
    ExtendBody,
    ExternalTask,
    FailBody,
    FetchBody,
    LockedTasks,
    WorkBody,
    external_task_shape,
    locked_shape,
)
from webapp.web.api.routing import Call, Reply, Section

section = Section("External tasks")


@section.call(
    "POST", "/external-tasks/fetch-and-lock", body=FetchBody, answers={200: LockedTasks}, answers_once="after"
)
def fetch_external_tasks(call: Call[FetchBody, None]) -> Reply:
    """Lock tasks of some topics for a worker, the oldest first; with ``waitSeconds`` wait for one."""
    wanted = call.body
    topics = [TopicRequest(topic=asked.topic, lock_seconds=asked.lock_seconds) for asked in wanted.topics]
    found = call.services.external_tasks.fetch_and_lock(
        call.actor, wanted.worker_id, topics, wanted.max_tasks, wanted.wait_seconds
    )
    value = LockedTasks(items=[locked_shape(task) for task in found.items])
    return Reply(value=value, retry_after=found.retry_after)


@section.call(
    "POST", "/external-tasks/<id>/complete", body=WorkBody, answers={200: ExternalTask},
    refuses=(404, 409),
)  # fmt: skip
def complete_external_task(call: Call[WorkBody, None], id: str) -> Reply:
    """Hand in the result of a task that the worker holds."""
    wanted = call.body
    result = call.services.external_tasks.complete(
        call.actor, id, wanted.worker_id, variables=wanted.variables, outcome=wanted.outcome
    )
    return Reply(value=external_task_shape(result))


@section.call(
    "POST", "/external-tasks/<id>/fail", body=FailBody, answers={200: ExternalTask},
    refuses=(404, 409),
)  # fmt: skip
def fail_external_task(call: Call[FailBody, None], id: str) -> Reply:
    """Give a task back that the worker could not do; without an attempt left its step fails."""
    wanted = call.body
    result = call.services.external_tasks.fail(
        call.actor,
        id,
        wanted.worker_id,
        wanted.error,
        details=wanted.details,
        retries=wanted.retries,
        retry_delay_seconds=wanted.retry_delay_seconds,
    )
    return Reply(value=external_task_shape(result))


@section.call(
    "POST", "/external-tasks/<id>/extend-lock", body=ExtendBody, answers={200: ExternalTask},
    refuses=(404, 409),
)  # fmt: skip
def extend_external_task(call: Call[ExtendBody, None], id: str) -> Reply:
    """Hold a task for longer, or for less long, from now on."""
    result = call.services.external_tasks.extend(call.actor, id, call.body.worker_id, call.body.lock_seconds)
    return Reply(value=external_task_shape(result))
