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

from webapp.engine.descriptors import ActivityDescriptor
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Priority
from webapp.engine.instances.model import WorkflowFault
from webapp.engine.numbers import JsonObject, JsonValue


class BookmarkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting point that an activity asks for; the engine fills ids, partition and times."""

    kind: BookmarkKind
    key: str | None = None
    payload: JsonObject = {}
    due_at: datetime | None = None
    available_at: datetime | None = None
    correlation_id: str | None = None
    title: str | None = None
    task_due_at: datetime | None = None
    priority: Priority = Priority.NORMAL
    claimable: bool = False
    copy_user_ids: tuple[str, ...] = ()


class Complete(msgspec.Struct, frozen=True, kw_only=True):
    """The node is done: outputs are merged into the variables, a label is written to ``outcome`` (spec 3.5).

    ``result``, when given, becomes the result of the instance: the last End with an outcome wins (spec 4.2).
    """

    outputs: JsonObject = {}
    label: str | None = None
    result: str | None = None


class Suspend(msgspec.Struct, frozen=True, kw_only=True):
    """The node waits: new bookmarks, bookmarks of its own to delete, outputs merged at once (spec 3.7, 6.1).

    ``signers_done`` and ``signers_total``, when given, are shown on the node's open tasks. ``rebuilt``: what was
    consumed decided nothing, the new bookmark stands in for it (spec 6.3).
    """

    bookmarks: tuple[BookmarkRequest, ...] = ()
    removed_bookmark_ids: tuple[str, ...] = ()
    outputs: JsonObject = {}
    signers_done: int | None = None
    signers_total: int | None = None
    rebuilt: bool = False


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """The node failed: retry, continue on error or the instance's fault decide what follows (spec 3.8)."""

    fault: WorkflowFault


class EndInstance(msgspec.Struct, frozen=True, kw_only=True):
    """The whole instance is terminated at once (spec 4.3)."""

    reason: str


ActivityOutcome = Complete | Suspend | Fault | EndInstance


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

    def evaluate_each(self, name: str) -> JsonObject:
        """Return the values of a property that is an object of expressions."""

    def evaluate_text(self, text: str) -> JsonValue:
        """Return the value of an expression that stands inside a structured property (assignee rules)."""

    def assignees(self) -> AssigneeResult:
        """Resolve the node's assignee rules (spec 6.6, 25): rules' results in order, no blanks, no duplicates.

        Disabled accounts count as absent; when nobody is left, the node's empty-assignee strategy has been applied.
        """

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
    """An activity type."""

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
