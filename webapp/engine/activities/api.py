"""The contract of an activity (spec 4, 14): descriptor, execute, and optionally resume and compensate.

An activity is one object for all instances: it keeps nothing between calls but what it puts into ``context.state``.
It returns an outcome; raising any exception is a fault of the node (``workflow.activity.exception``), except
``OperationCancelled`` while the call's token is set, which rolls the call back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import msgspec

from webapp.engine.cancellation import CancellationToken
from webapp.engine.descriptors import ActivityDescriptor
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Priority
from webapp.engine.instances.model import WorkflowFault
from webapp.engine.numbers import JsonObject, JsonValue


class BookmarkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting point that an activity asks for; the engine fills ids, partition and times.

    ``id`` and ``round`` are given for a task that comes back under the id it had.
    """

    kind: BookmarkKind
    id: str | None = None
    round: int = 1
    key: str | None = None
    payload: JsonObject = {}
    due_at: datetime | None = None
    available_at: datetime | None = None
    correlation_id: str | None = None
    title: str | None = None
    task_due_at: datetime | None = None
    priority: Priority = Priority.NORMAL
    claimable: bool = False
    claimed_by: str | None = None
    copy_user_ids: tuple[str, ...] = ()


class ChildRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A child instance that a node asks for: the engine mints its id, and starts it after the wave (spec 3.15).

    ``version`` None: the latest published. ``replaces``: the id of a child in whose place this one stands.
    """

    definition_name: str
    version: int | None = None
    variables: JsonObject = {}
    replaces: str | None = None


class Complete(msgspec.Struct, frozen=True, kw_only=True):
    """The node is done: outputs are merged into the variables, a label is written to ``outcome`` (spec 3.5).

    ``result``, when given, becomes the result of the instance: the last End with an outcome wins (spec 4.2).
    ``children`` are started and not waited for.
    """

    outputs: JsonObject = {}
    label: str | None = None
    result: str | None = None
    children: tuple[ChildRequest, ...] = ()


class Suspend(msgspec.Struct, frozen=True, kw_only=True):
    """The node waits: new bookmarks, bookmarks of its own to delete, outputs merged at once (spec 3.7, 6.1).

    ``signers_done`` and ``signers_total``, when given, are shown on the node's open tasks. ``rebuilt``: what was
    consumed decided nothing, the new bookmark stands in for it (spec 6.3). ``children`` are started, and the node is
    resumed each time that one of them has ended; their ids are appended to the state's ``__childInstanceIds``.
    """

    bookmarks: tuple[BookmarkRequest, ...] = ()
    removed_bookmark_ids: tuple[str, ...] = ()
    outputs: JsonObject = {}
    signers_done: int | None = None
    signers_total: int | None = None
    rebuilt: bool = False
    children: tuple[ChildRequest, ...] = ()


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """The node failed: retry, continue on error or the instance's fault decide what follows (spec 3.8)."""

    fault: WorkflowFault


class EndInstance(msgspec.Struct, frozen=True, kw_only=True):
    """The whole instance is terminated at once (spec 4.3)."""

    reason: str


class Compensation(msgspec.Struct, frozen=True, kw_only=True):
    """What completed nodes have done is undone, then the node completes; ``node_ids`` None: all of them (spec 4.17)."""

    node_ids: tuple[str, ...] | None = None


ActivityOutcome = Complete | Suspend | Fault | EndInstance | Compensation


class ActivityContext(Protocol):
    """What a running activity sees. Variables are those before the node ran; only outputs change them."""

    @property
    def instance_id(self) -> str:
        """The instance's id."""

    @property
    def instance_title(self) -> str:
        """The instance's title."""

    @property
    def correlation_id(self) -> str | None:
        """The instance's correlation id."""

    @property
    def starter_id(self) -> str | None:
        """Who started the instance."""

    @property
    def node_id(self) -> str:
        """The node's id in its definition."""

    @property
    def node_name(self) -> str:
        """The node's name."""

    @property
    def node_instance_id(self) -> str:
        """The id of this execution."""

    @property
    def try_count(self) -> int:
        """1 on the first run."""

    @property
    def now(self) -> datetime:
        """The wave's instant."""

    @property
    def effect_key(self) -> str:
        """The key of this run's outside effect (3.22): the same when the same wave is run again after a crash.

        Only for an activity whose class says ``effects = True``.
        """

    @property
    def cancellation(self) -> CancellationToken:
        """Set when the caller does not wait any more; long work calls ``cancellation.check()`` now and then."""

    def deadline(self, seconds: float) -> CancellationToken:
        """Return a token that the engine's clock sets after so many seconds."""

    @property
    def default_priority(self) -> str | None:
        """The definition's own default for the priority of tasks."""

    @property
    def variables(self) -> JsonObject:
        """The instance's variables; not to be changed."""

    @property
    def state(self) -> JsonObject:
        """This execution's private state: changed in place, kept over waits."""

    @property
    def bookmarks(self) -> Sequence[Bookmark]:
        """This execution's open bookmarks (the one being resumed is already gone)."""

    def literal(self, name: str, default: JsonValue = None) -> JsonValue:
        """Return a copy of the property as it stands in the definition, PascalCase or camelCase."""

    def text(self, name: str) -> str | None:
        """Return a template property rendered (T): None when absent; a fault when it is an object or a list."""

    def evaluate(self, name: str) -> JsonValue:
        """Return the value of an expression property (E); no text stands for itself; None if absent."""

    def evaluate_each(self, name: str, more: JsonObject | None = None) -> JsonObject:
        """Return the values of a property that is an object of expressions, which see *more* beside the variables."""

    def evaluate_text(self, text: str) -> JsonValue:
        """Return the value of an expression that stands inside a structured property (assignee rules)."""

    def later(self, value: JsonValue, calendar: str | None = None, zone: str | None = None) -> datetime | None:
        """Return the instant at which a span from now on is over; None when the value is no span.

        The span: a number of seconds above 0, or a text such as ``P1D``. It counts inside the working hours of
        *calendar*, else of the node's ``WorkCalendar``, else of the definition's; a day is then a working day. An
        unknown calendar or zone is a fault.
        """

    def instant(self, value: JsonValue, zone: str | None = None) -> datetime | None:
        """Return the instant a value names: RFC 3339 with an offset, or a date: its midnight in the zone; else None."""

    def next_firing(self, cron: str, zone: str | None = None) -> datetime:
        """Return the first occurrence of a cron schedule after now, in the zone, the node's ``TimeZone`` or ours."""

    def render(self, text: str) -> str:
        """Return a template rendered that stands inside a structured property."""

    def assignees(self) -> AssigneeResult:
        """Resolve the node's assignee rules (spec 6.6, 25): rules' results in order, no blanks, no duplicates.

        Disabled accounts count as absent; when nobody is left, the node's empty-assignee strategy has been applied.
        """

    def transaction(self) -> Any:
        """Return a connection for the application's own tables in the same database (spec 3.22).

        In SQL a ``sqlalchemy.Connection`` inside the transaction that the wave is stored in: what is written commits
        with the wave or not at all, and is undone when this activity faults or raises. Never commit or roll it back.
        The first use in a wave begins the transaction; SQLite then lets nobody else write until the wave ends. A wave
        that used it is never run or applied again: a lost race is a conflict, a failing database
        ``WORKFLOW_UNAVAILABLE_001``.

        :raises Unexpected: the stores are in memory.
        """

    def approvers(self) -> frozenset[str]:
        """Return who has approved an earlier task of this instance; for definitions that need their history."""

    def remark(self, action: str, details: JsonObject) -> None:
        """Add a line to the instance's trail that tells what the node did by itself."""

    def log(self, level: str, message: str) -> None:
        """Queue a line for the logger ``waypost.flow``, written after the commit."""

    def publish(self, name: str, payload: JsonObject) -> None:
        """Queue a ``workflow.custom`` event."""


class ResumeInput(msgspec.Struct, frozen=True, kw_only=True):
    """Why a waiting node runs again: the bookmark that was consumed and the caller's inputs."""

    bookmark: Bookmark
    inputs: JsonObject = {}


class AssigneeResult(msgspec.Struct, frozen=True, kw_only=True):
    """Who may decide; ``claimable`` holds the ids that are groups. ``fault``: a rule failed (never "empty").

    ``label`` set: nobody was found, and the node's strategy completes it with that label (spec 6.6).
    """

    ids: tuple[str, ...] = ()
    claimable: frozenset[str] = frozenset()
    fault: WorkflowFault | None = None
    label: str | None = None


@runtime_checkable
class Activity(Protocol):
    """An activity type. One that changes the world outside says so with a class attribute ``effects = True``."""

    @property
    def descriptor(self) -> ActivityDescriptor:
        """How it looks to a designer, its outgoing mode, its properties."""

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Run the node for the first time, or again by a retry."""


@runtime_checkable
class ResumableActivity(Activity, Protocol):
    """An activity that decides itself what a resumed wait means."""

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Run the node because a bookmark of it was consumed."""


@runtime_checkable
class CompensableActivity(Activity, Protocol):
    """An activity whose effect can be undone."""

    def compensate(self, context: ActivityContext) -> None:
        """Undo what the completed execution did; raising leaves the node Completed and the chain goes on."""


class ActivityFault(Exception):
    """Raised by context methods and activities to fault the node with a key and arguments."""

    def __init__(
        self, key: str, *, code: str, args: dict[str, Any] | None = None, inner: WorkflowFault | None = None
    ) -> None:
        self.fault = WorkflowFault(code=code, key=key, args=args or {}, inner=inner)
        super().__init__(key)
