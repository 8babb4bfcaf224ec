"""What an instance waits for, in sentences: one for each kind of waiting point (spec 12, Monitor)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.services.views import Wait
from webapp.web.i18n import PageText

WORTH_SAYING_SECONDS = 60

LIMITS = frozenset({BookmarkKind.NODE_TIMEOUT, BookmarkKind.REMINDER, BookmarkKind.INSTANCE_TIMEOUT})
"""What runs beside the waiting and ends it: told last, and never why a request stands still."""

Name = Callable[[str | None], str]


@dataclass(frozen=True, kw_only=True)
class WaitLine:
    """One thing that is waited for."""

    text: Markup
    sub: str = ""
    due_at: datetime | None = None
    task_id: str | None = None


def span_of(page: PageText, since: datetime | None) -> str:
    """Return how long a wait has lasted; empty when it is not worth a word yet."""
    if since is None or (page.now() - since).total_seconds() < WORTH_SAYING_SECONDS:
        return ""
    return page.since(since)


def wait_line(page: PageText, wait: Wait, name: Name, reader: str) -> WaitLine:
    """Return the sentence of a wait; *name* says how a person is shown, *reader* is "you"."""
    strong, step = page.strong, page.strong(wait.node_name)
    key = f"monitor.wait.{_case(page, wait, reader)}"
    text = page.markup(
        key,
        step=step,
        name=strong(name(wait.claimed_by or wait.decided_by or wait.who)),
        done=wait.arrived or 0,
        total=wait.expected or 0,
        signal=strong(wait.signal or ""),
        worker=strong(wait.worker or ""),
        outcome=page.outcome(wait.outcome or ""),
        attempt=wait.attempt or 1,
        most=wait.max_attempts or wait.attempt or 1,
    )
    task = wait.bookmark_id if wait.kind is BookmarkKind.USER_TASK else None
    return WaitLine(text=text, sub=_sub(page, wait), due_at=_due(page, wait), task_id=task)


def _case(page: PageText, wait: Wait, reader: str) -> str:
    """Return which sentence of its kind a wait has."""
    if wait.kind is BookmarkKind.USER_TASK:
        if wait.decided_by is not None or wait.outcome is not None:
            return "decided"
        if wait.claimable and wait.claimed_by is None:
            return "claimable"
        return "you" if reader in (wait.claimed_by, None if wait.claimed_by else wait.who) else "UserTask"
    if wait.kind is BookmarkKind.EXTERNAL_TASK and _held(page, wait):
        return "worker"
    if wait.kind in (BookmarkKind.RETRY, BookmarkKind.REMINDER) and wait.reason:
        return f"{wait.kind}.{wait.reason}"
    if wait.kind is BookmarkKind.NODE_TIMEOUT and page.has(f"monitor.wait.NodeTimeout.{wait.action}"):
        return f"NodeTimeout.{wait.action}"
    return str(wait.kind)


def _held(page: PageText, wait: Wait) -> bool:
    return wait.held_until is not None and wait.worker is not None and wait.held_until > page.now()


def _due(page: PageText, wait: Wait) -> datetime | None:
    """Return until when: the due time, the end of a worker's lock, or when a decision counts."""
    return wait.held_until if wait.decided_by is not None or _held(page, wait) else wait.due_at


def _sub(page: PageText, wait: Wait) -> str:
    parts = []
    if wait.missing:
        parts.append(page.text("monitor.wait.missing", steps=page.listed(wait.missing)))
    span = span_of(page, wait.since)
    if span and wait.kind not in LIMITS:
        parts.append(page.text("monitor.wait.since", span=span))
    if wait.failures:
        parts.append(page.text("monitor.wait.failures", count=wait.failures))
    if wait.retries is not None:
        parts.append(page.text("monitor.wait.retries", count=wait.retries))
    if wait.worker is not None and not _held(page, wait):
        parts.append(page.text("monitor.wait.last_worker", worker=wait.worker))
    return " · ".join(parts)
