"""Bookmarks: persisted waiting points (spec 1.8, 1.9, 1.12, 25)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from webapp.engine.numbers import JsonObject


class BookmarkKind(StrEnum):
    """What is waited for."""

    USER_TASK = "UserTask"
    TIMER = "Timer"
    SIGNAL = "Signal"
    SUB_WORKFLOW = "SubWorkflow"
    RETRY = "Retry"
    NODE_TIMEOUT = "NodeTimeout"
    EXTERNAL_TASK = "ExternalTask"
    REMINDER = "Reminder"
    INSTANCE_TIMEOUT = "InstanceTimeout"
    DEFINITION_TIMER = "DefinitionTimer"


class Lane(StrEnum):
    """Who runs a due bookmark (spec 3.22): the poller, half of its threads at most, or the job ``workflow-timer``."""

    POLLER = "poller"
    BACKGROUND = "background"
    WORKFLOW_TIMER = "workflow-timer"


BACKGROUND_KEY = "Background"
"""The key of a Retry bookmark whose node runs in the background; in a column, so that a claim can tell."""

SLOW_TIMEOUT_KEYS = ("Escalate", "Transfer")
"""Keys of NodeTimeout bookmarks that only the job ``workflow-timer`` claims: their node's timeout action."""

POLLED_KINDS = (
    BookmarkKind.TIMER,
    BookmarkKind.RETRY,
    BookmarkKind.NODE_TIMEOUT,
    BookmarkKind.INSTANCE_TIMEOUT,
    BookmarkKind.DEFINITION_TIMER,
)


def lane_of(kind: BookmarkKind, key: str | None) -> Lane | None:
    """Return who runs such a bookmark when it is due; None: nobody does."""
    if kind is BookmarkKind.RETRY and key == BACKGROUND_KEY:
        return Lane.BACKGROUND
    if kind is BookmarkKind.REMINDER or (kind is BookmarkKind.NODE_TIMEOUT and key in SLOW_TIMEOUT_KEYS):
        return Lane.WORKFLOW_TIMER
    return Lane.POLLER if kind in POLLED_KINDS else None


class Priority(StrEnum):
    """A task's priority; ``rank`` is its column."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"

    @property
    def rank(self) -> int:
        """0 (low) to 3 (urgent)."""
        return list(Priority).index(self)


class Bookmark(msgspec.Struct, kw_only=True, rename="camel"):
    """A waiting point. For a user task ``id`` is the task's id, ``key`` the assignee, ``due_at`` null.

    ``task_due_at`` is a task's due date. ``title`` is a task's rendered title. Columns that repeat the instance
    (title, status, definition …) are the store's affair: they are filled from the instance in the write set.
    ``claimed_by`` belongs to people (pollers' claims are columns of the store alone). ``round`` numbers the open
    task record.
    """

    id: str
    tenant_id: str | None = None
    sequence: int = 0
    instance_id: str | None = None
    root_instance_id: str | None = None
    node_id: str | None = None
    node_instance_id: str | None = None
    kind: BookmarkKind
    key: str | None = None
    payload: JsonObject = {}
    correlation_id: str | None = None
    created_at: datetime
    due_at: datetime | None = None
    original_due_at: datetime | None = None
    available_at: datetime | None = None
    failures: int = 0
    worker_id: str | None = None
    lock_token: str | None = None
    task_due_at: datetime | None = None
    priority: Priority = Priority.NORMAL
    title: str | None = None
    claimed_by: str | None = None
    claimable: bool = False
    signers_done: int = 0
    signers_total: int = 0
    opened_at: datetime | None = None
    round: int = 1
