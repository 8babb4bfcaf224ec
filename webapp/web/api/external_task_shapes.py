"""What the API takes and answers for external tasks (spec 11, Shapes and Amendments)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonNumber, JsonObject
from webapp.services.views import ExternalTaskResult, FetchedTask
from webapp.web.api.shapes import Body, Shape
from webapp.web.wire import Instant, optional_instant


class TopicBody(Body, frozen=True, kw_only=True):
    """A topic, and for how many seconds a task of it is locked."""

    topic: str
    lock_seconds: JsonNumber


class FetchBody(Body, frozen=True, kw_only=True):
    """What a worker asks for; ``waitSeconds`` makes it a long poll."""

    worker_id: str
    topics: list[TopicBody]
    max_tasks: Annotated[int, Meta(description="1 to 1000")]
    wait_seconds: Annotated[JsonNumber, Meta(description="0 to 30")] = 0


class WorkBody(Body, frozen=True, kw_only=True):
    """The result of a task."""

    worker_id: str
    variables: JsonObject = field(default_factory=dict)
    outcome: str | None = None


class FailBody(Body, frozen=True, kw_only=True):
    """Why a task could not be done; ``retries`` are the attempts left, without it one fewer than before."""

    worker_id: str
    error: str
    details: str | None = None
    retries: int | None = None
    retry_delay_seconds: JsonNumber = 0


class ExtendBody(Body, frozen=True, kw_only=True):
    """For how many seconds from now the lock shall hold."""

    worker_id: str
    lock_seconds: JsonNumber


class LockedTask(Shape, frozen=True, kw_only=True):
    """A task that the worker now holds."""

    id: str
    topic: str
    worker_id: str
    variables: JsonObject
    instance_id: str
    definition_name: str
    correlation_id: str | None
    retries: int
    locked_until: Instant | None


class LockedTasks(Shape, frozen=True, kw_only=True):
    """What a fetch found."""

    items: list[LockedTask]


class ExternalTask(Shape, frozen=True, kw_only=True):
    """What became of a task."""

    id: str
    topic: str
    instance_id: str
    instance_status: InstanceStatus
    status: Literal["open", "ended"]
    retries: int
    locked_until: Instant | None


def locked_shape(task: FetchedTask) -> LockedTask:
    """Return a fetched task as the API writes it."""
    rest = {name: getattr(task, name) for name in LockedTask.__struct_fields__ if name != "locked_until"}
    return LockedTask(locked_until=optional_instant(task.locked_until), **rest)


def external_task_shape(result: ExternalTaskResult) -> ExternalTask:
    """Return what became of a task as the API writes it."""
    rest = {name: getattr(result, name) for name in ExternalTask.__struct_fields__ if name != "locked_until"}
    return ExternalTask(locked_until=optional_instant(result.locked_until), **rest)
