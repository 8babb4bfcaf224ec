"""What the services answer with, beside the engine's own models: shapes of spec 11 and 25, names as on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import WorkflowError
from webapp.engine.instances.bookmarks import BookmarkKind, Priority
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, WorkflowFault, WorkflowInstance
from webapp.engine.numbers import JsonNumber, JsonObject
from webapp.engine.ports.queries import InstanceSummary, Page

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
    step failed (``fault``), or waits for its next try. ``details`` of a command: which step, version or variables.
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
    details: JsonObject = {}
    sequence: int = 0


class Signer(_View, frozen=True, kw_only=True):
    """One person who decides a task: pending, waiting, approved, rejected or removed; ``unknown``: no such account."""

    id: str
    state: str
    outcome: str | None = None
    at: datetime | None = None
    after: str | None = None
    before: str | None = None
    added_by: str | None = None
    delegate: str | None = None
    unknown: bool = False


class TaskRights(_View, frozen=True, kw_only=True):
    """What the asking account may do with a task now."""

    complete: bool = False
    claim: bool = False
    release: bool = False
    transfer: bool = False
    delegate: bool = False
    add: bool = False
    remove: bool = False
    urge: bool = False
    undo: bool = False


class TaskDetail(_View, frozen=True, kw_only=True):
    """A task as its page and ``GET /tasks/{id}`` show it; ``status`` ended adds who, what and when (spec 25, Tasks).

    ``writable_variables``: what a decision may write where there is no form; None leaves all names free.
    """

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
    writable_variables: list[str] | None = None
    copied_to: list[str] = []
    trail: list[TrailEntry] = []
    rights: TaskRights = TaskRights()
    status: Literal["open", "decided", "ended"] = "open"
    completed_by: str | None = None
    on_behalf_of: str | None = None
    outcome: str | None = None
    comment: str | None = None
    ended_at: datetime | None = None
    end_reason: EndReason | None = None
    undo_until: datetime | None = None
    delegated_by: str | None = None
    urge_count: int = 0
    last_urged_at: datetime | None = None


class ReturnTarget(_View, frozen=True, kw_only=True):
    """An earlier step that a task may be sent back to."""

    node_id: str
    node_name: str


class TaskResult(_View, frozen=True, kw_only=True):
    """What every task action answers with."""

    task: TaskDetail
    instance_id: str
    instance_status: InstanceStatus


class TaskOfBatch(_View, frozen=True, kw_only=True):
    """What became of one of several tasks that were decided together: a result, or why it was refused."""

    id: str
    result: TaskResult | None = None
    error: WorkflowError | None = None


class FetchedTask(_View, frozen=True, kw_only=True):
    """An external task as its worker gets it: locked for that worker until ``locked_until``."""

    id: str
    topic: str
    worker_id: str
    variables: JsonObject
    instance_id: str
    definition_name: str
    correlation_id: str | None
    retries: int
    locked_until: datetime | None


class FetchResult(_View, frozen=True, kw_only=True):
    """What a fetch found; ``retry_after`` in seconds when it could not wait, since too many others do."""

    items: list[FetchedTask]
    retry_after: int | None = None


class ExternalTaskResult(_View, frozen=True, kw_only=True):
    """What became of an external task: ``open`` when it can be fetched (again), else ``ended``."""

    id: str
    topic: str
    instance_id: str
    instance_status: InstanceStatus
    status: Literal["open", "ended"]
    retries: int
    locked_until: datetime | None = None


class SignalResult(_View, frozen=True, kw_only=True):
    """What a signal did: waits resumed, instances started, waits left to follow-ups; kept for a wait to come."""

    resumed: int
    started: int
    queued: int
    kept: bool = False


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
    """What an instance waits for: who (tasks), what, since when, due when.

    ``signal`` is a signal's name, or the topic of an external task; ``worker`` holds that task until ``held_until``, or
    held it last, and ``retries`` are left to it. ``reason``: background (a node that the poller runs), due or remind (a
    reminder). ``attempt`` is the try that a retry makes; ``failures``: how often the poller could not carry it out,
    whatever the step itself does. ``action`` is what a time limit does. A task that somebody has
    to take is ``claimable``, or taken by ``claimed_by``; one that ``decided_by`` has decided with ``outcome`` can be
    taken back until ``held_until``.
    """

    bookmark_id: str | None
    kind: BookmarkKind | Literal["Join"]
    node_id: str | None
    node_name: str
    who: str | None = None
    title: str | None = None
    since: datetime | None = None
    due_at: datetime | None = None
    signal: str | None = None
    worker: str | None = None
    held_until: datetime | None = None
    retries: int | None = None
    reason: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    action: str | None = None
    failures: int = 0
    claimable: bool = False
    claimed_by: str | None = None
    decided_by: str | None = None
    outcome: str | None = None
    arrived: int | None = None
    expected: int | None = None
    missing: list[str] = []


class InstanceOverview(_View, frozen=True, kw_only=True):
    """All that the page of one instance shows; ``trail`` newest first, ``names`` login name to shown name.

    ``parent`` and ``children`` are those that the reader may read, children the oldest first.
    """

    instance: WorkflowInstance
    definition: WorkflowDefinition
    node_states: dict[str, NodeState]
    taken_transition_ids: list[str]
    waits: list[Wait]
    trail: list[TrailEntry]
    names: dict[str, str]
    may_operate: bool
    truncated: bool = False
    parent: WorkflowInstance | None = None
    children: Page[InstanceSummary] = Page([], 0)


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
