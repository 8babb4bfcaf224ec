"""What the services answer with, beside the engine's own models: shapes of spec 11 and 25, names as on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.bookmarks import BookmarkKind, Priority
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, WorkflowFault, WorkflowInstance
from webapp.engine.numbers import JsonNumber, JsonObject

TrailKind = Literal["command", "task", "node", "fault"]
NodeStateName = Literal["running", "waiting", "retrying", "completed", "faulted", "canceled", "compensated"]


class _View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class FunctionHelp(_View, frozen=True, kw_only=True):
    """A function of the expression language: its call, and the message key of its one-line help."""

    signature: str
    help_key: str


class StartResult(_View, frozen=True, kw_only=True):
    """A start's answer: ``created`` is false when an unfinished instance was reused (spec 3.19)."""

    instance: WorkflowInstance
    created: bool


class TrailEntry(_View, frozen=True, kw_only=True):
    """One line of what happened.

    ``kind`` command: somebody did ``action`` (start, complete, transfer, add, cancel, retry …). task: a task was
    given to ``assignee_id``, or ended without a person (``end_reason``). node: a step ended with ``status``. fault: a
    step failed (``fault``), or waits for its next try.
    """

    at: datetime
    kind: TrailKind
    action: str
    actor_id: str | None = None
    on_behalf_of: str | None = None
    node_id: str | None = None
    node_name: str | None = None
    activity_type: str | None = None
    task_id: str | None = None
    assignee_id: str | None = None
    outcome: str | None = None
    comment: str | None = None
    reason: str | None = None
    status: str | None = None
    try_count: int = 1
    fault: WorkflowFault | None = None
    sequence: int = 0


class Signer(_View, frozen=True, kw_only=True):
    """One person who decides a task: pending, waiting, approved, rejected or removed."""

    id: str
    state: str
    outcome: str | None = None
    at: datetime | None = None


class TaskRights(_View, frozen=True, kw_only=True):
    """What the asking account may do with a task now."""

    complete: bool = False
    transfer: bool = False
    add: bool = False


class TaskDetail(_View, frozen=True, kw_only=True):
    """A task as its page and ``GET /tasks/{id}`` show it; ``status`` ended adds who, what and when (spec 25, Tasks)."""

    id: str
    instance_id: str
    node_id: str
    node_instance_id: str
    node_name: str = ""
    title: str
    instance_title: str
    definition_id: str | None = None
    definition_name: str
    definition_title: str = ""
    definition_version: int | None = None
    assignee_id: str
    starter_id: str | None = None
    claimed_by: str | None = None
    candidates: list[str] = []
    correlation_id: str | None = None
    form_data: JsonObject = {}
    form: JsonObject | None = None
    allowed_outcomes: list[str] = []
    priority: Priority = Priority.NORMAL
    created_at: datetime
    due_at: datetime | None = None
    opened_at: datetime | None = None
    policy: str | None = None
    threshold: JsonNumber | None = None
    signers: list[Signer] = []
    variables: JsonObject = {}
    comment_required: list[str] = []
    copied_to: list[str] = []
    trail: list[TrailEntry] = []
    rights: TaskRights = TaskRights()
    status: Literal["open", "ended"] = "open"
    completed_by: str | None = None
    on_behalf_of: str | None = None
    outcome: str | None = None
    comment: str | None = None
    ended_at: datetime | None = None
    end_reason: EndReason | None = None


class TaskResult(_View, frozen=True, kw_only=True):
    """What every task action answers with."""

    task: TaskDetail
    instance_id: str
    instance_status: InstanceStatus


class NodeState(_View, frozen=True, kw_only=True):
    """How one node of the diagram stands: its latest execution's state, and how often it ran."""

    node_id: str
    state: NodeStateName
    count: int
    try_count: int = 1
    max_attempts: int | None = None
    since: datetime | None = None
    signers_done: int | None = None
    signers_total: int | None = None
    arrived: int | None = None
    expected: int | None = None


class Wait(_View, frozen=True, kw_only=True):
    """What an instance waits for: who (tasks), what, since when, due when."""

    bookmark_id: str | None
    kind: BookmarkKind | Literal["Join"]
    node_id: str | None
    node_name: str
    who: str | None = None
    title: str | None = None
    since: datetime | None = None
    due_at: datetime | None = None
    signal: str | None = None
    arrived: int | None = None
    expected: int | None = None
    missing: list[str] = []


class InstanceOverview(_View, frozen=True, kw_only=True):
    """All that the page of one instance shows; ``trail`` newest first, ``names`` login name to shown name."""

    instance: WorkflowInstance
    definition: WorkflowDefinition
    node_states: dict[str, NodeState]
    taken_transition_ids: list[str]
    waits: list[Wait]
    trail: list[TrailEntry]
    names: dict[str, str]
    may_operate: bool
    truncated: bool = False


class ProblemReport(_View, frozen=True, kw_only=True):
    """Failures of one poll: bookmark or follow-up id and the reason, for the log and the operations page."""

    id: str
    reason: str


class PollReport(_View, frozen=True, kw_only=True):
    """What one poll did."""

    claimed: int = 0
    resumed: int = 0
    left: int = 0
    failed: list[ProblemReport] = []
    follow_ups: int = 0
