"""What the API takes and answers for user tasks (spec 11 Shapes, 25 Tasks and REST)."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import field

from webapp.engine.instances.bookmarks import Priority
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonNumber, JsonObject
from webapp.messages.catalog import Catalog
from webapp.services.queries import DoneTaskSummary, TaskSummary
from webapp.services.views import Signer, TaskDetail, TaskOfBatch, TaskResult, TrailEntry
from webapp.web.api.shapes import Body, Fault, ProblemDocument, Shape, fault_shape
from webapp.web.errors import problem_document
from webapp.web.i18n import Language
from webapp.web.wire import Instant, instant_text, optional_instant


class CompleteBody(Body, frozen=True, kw_only=True):
    """A decision."""

    outcome: str
    comment: str | None = None
    variables: JsonObject = field(default_factory=dict)
    undo_seconds: JsonNumber = 0


class BatchBody(Body, frozen=True, kw_only=True):
    """One decision on several tasks."""

    ids: list[str]
    outcome: str
    comment: str | None = None
    variables: JsonObject = field(default_factory=dict)


class TransferBody(Body, frozen=True, kw_only=True):
    """Who shall decide instead."""

    to: str
    comment: str | None = None


class AddBody(Body, frozen=True, kw_only=True):
    """Who shall decide too."""

    assignees: list[str]
    position: Literal["parallel", "before", "after"] = "parallel"
    comment: str | None = None


class DelegateBody(Body, frozen=True, kw_only=True):
    """Who shall handle the task before it comes back."""

    to: str
    comment: str | None = None


class UrgeBody(Body, frozen=True, kw_only=True):
    """What to tell those whom the step waits for."""

    comment: str | None = None


class RemoveBody(Body, frozen=True, kw_only=True):
    """Who shall not decide any more."""

    assignees: list[str]
    comment: str | None = None


class TaskListItem(Shape, frozen=True, kw_only=True):
    """An open task without its form and data."""

    id: str
    instance_id: str
    node_id: str
    node_instance_id: str
    title: str
    instance_title: str
    definition_name: str
    definition_title: str
    assignee_id: str
    starter_id: str | None
    claimed_by: str | None
    correlation_id: str | None
    priority: Priority
    created_at: Instant
    due_at: Instant | None
    unread: bool
    signers_done: int
    signers_total: int


class DoneTaskItem(Shape, frozen=True, kw_only=True):
    """One decision of the caller on a task, as far as lists tell it."""

    id: str
    round: int
    instance_id: str
    node_id: str
    title: str
    instance_title: str
    definition_name: str
    definition_title: str
    assignee_id: str
    actor_id: str | None
    starter_id: str | None
    outcome: str | None
    comment: str | None
    created_at: Instant
    ended_at: Instant
    end_reason: EndReason


class SignerItem(Shape, frozen=True, kw_only=True):
    """One person who decides, and what became of it."""

    id: str
    state: str
    outcome: str | None
    at: Instant | None
    after: str | None
    before: str | None
    added_by: str | None
    delegate: str | None
    unknown: bool


class TaskRights(Shape, frozen=True, kw_only=True):
    """What the caller may do with the task now."""

    complete: bool
    claim: bool
    release: bool
    transfer: bool
    delegate: bool
    add: bool
    remove: bool
    urge: bool
    undo: bool


class TrailItem(Shape, frozen=True, kw_only=True):
    """One line of what happened: a command, a task, a node or a fault."""

    at: Instant
    kind: Literal["command", "task", "node", "fault"]
    action: str
    actor_id: str | None
    on_behalf_of: str | None
    node_id: str | None
    node_name: str | None
    activity_type: str | None
    task_id: str | None
    assignee_id: str | None
    outcome: str | None
    comment: str | None
    reason: str | None
    status: str | None
    try_count: int
    fault: Fault | None


class Task(Shape, frozen=True, kw_only=True):
    """A task; an ended one says who decided, what and when, and so does one whose decision can still be undone."""

    id: str
    instance_id: str
    node_id: str
    node_instance_id: str
    node_name: str
    title: str
    instance_title: str
    definition_name: str
    definition_title: str
    assignee_id: str
    starter_id: str | None
    claimed_by: str | None
    candidates: list[str]
    correlation_id: str | None
    form_data: JsonObject
    form: JsonObject | None
    allowed_outcomes: list[str]
    priority: Priority
    created_at: Instant
    due_at: Instant | None
    policy: str | None
    threshold: JsonNumber | None
    signers: list[SignerItem]
    variables: JsonObject
    comment_required: list[str]
    writable_variables: list[str] | None
    trail: list[TrailItem]
    rights: TaskRights
    delegated_by: str | None
    urge_count: int
    last_urged_at: Instant | None
    status: Literal["open", "decided", "ended"]
    completed_by: str | None
    on_behalf_of: str | None
    outcome: str | None
    ended_at: Instant | None
    end_reason: EndReason | None
    undo_until: Instant | None


class TaskActionResult(Shape, frozen=True, kw_only=True):
    """What every task action answers with."""

    task: Task
    instance_id: str
    instance_status: InstanceStatus


class BatchItem(Shape, frozen=True, kw_only=True):
    """What became of one task of a batch: decided, or why not."""

    id: str
    ok: bool
    instance_id: str | None
    instance_status: InstanceStatus | None
    problem: ProblemDocument | None


class TaskCounts(Shape, frozen=True, kw_only=True):
    """How many open tasks wait for the caller."""

    mine: int
    claimable: int


def task_item(summary: TaskSummary) -> TaskListItem:
    """Return a row of a task list as the API writes it."""
    instants = ("created_at", "due_at", "unread")
    rest = {name: getattr(summary, name) for name in TaskListItem.__struct_fields__ if name not in instants}
    return TaskListItem(
        created_at=instant_text(summary.created_at),
        due_at=optional_instant(summary.due_at),
        unread=summary.opened_at is None,
        **rest,
    )


def done_item(summary: DoneTaskSummary) -> DoneTaskItem:
    """Return a row of what somebody has decided as the API writes it."""
    instants = ("created_at", "ended_at")
    rest = {name: getattr(summary, name) for name in DoneTaskItem.__struct_fields__ if name not in instants}
    return DoneTaskItem(created_at=instant_text(summary.created_at), ended_at=instant_text(summary.ended_at), **rest)


def task_shape(task: TaskDetail, catalog: Catalog, lang: Language) -> Task:
    """Return a task as the API writes it."""
    instants = ("due_at", "ended_at", "last_urged_at", "undo_until")
    made = (*instants, "created_at", "signers", "trail", "rights")
    rest = {name: getattr(task, name) for name in Task.__struct_fields__ if name not in made}
    rest |= {name: optional_instant(getattr(task, name)) for name in instants}
    return Task(
        created_at=instant_text(task.created_at),
        rights=TaskRights(**msgspec.structs.asdict(task.rights)),
        signers=[_signer_shape(signer) for signer in task.signers],
        trail=[trail_shape(entry, catalog, lang) for entry in task.trail],
        **rest,
    )


def result_shape(result: TaskResult, catalog: Catalog, lang: Language) -> TaskActionResult:
    """Return what a task action answers with."""
    return TaskActionResult(
        task=task_shape(result.task, catalog, lang),
        instance_id=result.instance_id,
        instance_status=result.instance_status,
    )


def batch_shape(one: TaskOfBatch, catalog: Catalog, lang: Language) -> BatchItem:
    """Return what became of one task of a batch."""
    done, error = one.result, one.error
    return BatchItem(
        id=one.id,
        ok=done is not None,
        instance_id=None if done is None else done.instance_id,
        instance_status=None if done is None else done.instance_status,
        problem=None if error is None else msgspec.convert(problem_document(error, catalog, lang), ProblemDocument),
    )


def trail_shape(entry: TrailEntry, catalog: Catalog, lang: Language) -> TrailItem:
    """Return one line of what happened as the API writes it."""
    made = ("at", "fault")
    rest = {name: getattr(entry, name) for name in TrailItem.__struct_fields__ if name not in made}
    return TrailItem(at=instant_text(entry.at), fault=fault_shape(entry.fault, catalog, lang), **rest)


def _signer_shape(signer: Signer) -> SignerItem:
    return SignerItem(**{**msgspec.structs.asdict(signer), "at": optional_instant(signer.at)})
