"""What one was told, grouped by the request it is about; read one by one, by request or all at once (spec 10, 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.accounts.permissions import INSTANCES_READ
from webapp.engine.errors import Denied, InputInvalid, NotFound
from webapp.engine.notifications.model import EventType, Notice, NoticeType, Severity
from webapp.services.queries import InstanceQuery, NoticeQuery, Paging
from webapp.web.deps import current_actor, services
from webapp.web.htmx import render, wants_block
from webapp.web.listing import Listing, list_url, read_choice, read_integer, read_paging
from webapp.web.shell import may, page_text, require_sign_in, toast

blueprint = Blueprint("notifications", __name__, url_prefix="/notifications")
blueprint.before_request(require_sign_in)

PATH: Final = "/notifications"
ALL: Final = "all"
PANEL: Final = "bell-panel"
"""The part that the bell opens, on every page."""
LATEST: Final = 8
"""Notices in it."""

ICONS: Final[Mapping[EventType, str]] = {
    EventType.TASK_CREATED: "inbox",
    EventType.TASK_TRANSFERRED: "arrow-right-left",
    EventType.TASK_ADDED: "user-plus",
    EventType.TASK_RETURNED: "corner-up-left",
    EventType.TASK_URGED: "bell-ring",
    EventType.TASK_REMINDER: "clock",
    EventType.TASK_OVERDUE: "triangle-alert",
    EventType.TASK_ESCALATED: "arrow-up-right",
    EventType.TASK_COMPLETED: "check",
    EventType.DECISION_FAILED: "triangle-alert",
    EventType.CARBON_COPY: "copy",
    EventType.INSTANCE_COMPLETED: "circle-check",
    EventType.INSTANCE_REJECTED: "circle-x",
    EventType.INSTANCE_CANCELED: "ban",
    EventType.INSTANCE_TERMINATED: "octagon-x",
    EventType.INSTANCE_FAULTED: "octagon-alert",
    EventType.MENTION: "at-sign",
    EventType.NODE_LISTENER: "megaphone",
}
"""What stands before a notice; the words are its title."""

_TONES: Final[Mapping[EventType, str]] = {
    EventType.TASK_OVERDUE: "waiting",
    EventType.INSTANCE_COMPLETED: "completed",
    EventType.INSTANCE_REJECTED: "faulted",
    EventType.INSTANCE_FAULTED: "faulted",
}
_LOUD: Final = {Severity.ERROR: "faulted", Severity.WARNING: "waiting"}


@dataclass(kw_only=True)
class Line:
    """One notice as the page shows it; ``place`` counts the lines of the page from 0."""

    notice: Notice
    icon: str
    tone: str
    place: int = 0


@dataclass(kw_only=True)
class Group:
    """The notices of one request; ``url`` is empty where the reader may not open it."""

    instance_id: str
    title: str
    url: str
    lines: list[Line]

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.lines)

    @property
    def unread(self) -> list[str]:
        """The ids of those that were not read."""
        return [line.notice.id for line in self.lines if line.notice.read_at is None]


@blueprint.get("")
def notices() -> Response:
    """Show what is unread, or everything."""
    return _page()


@blueprint.get("/latest")
def latest() -> Response:
    """Show the newest unread ones below the bell; without the script the bell is a link to all of them."""
    return _panel() if wants_block() else redirect(PATH, 303)


@blueprint.post("/read")
def read() -> Response:
    """Mark the named notices as read; the focus goes on to the one that takes their place."""
    ids = request.form.getlist("id")
    marked = services().notices.mark_read(current_actor(), ids)
    return _marked(marked)


@blueprint.post("/read-all")
def read_all() -> Response:
    """Mark everything that the page could show as read; what came after it was made stays unread."""
    until = _instant(request.form.get("until", ""))
    return _marked(services().notices.mark_all_read(current_actor(), until))


@blueprint.get("/<notice_id>/open")
def open_notice(notice_id: str) -> Response:
    """Mark a notice as read and lead to its task, else to its request, whichever the reader may still open."""
    notice = services().notices.read(current_actor(), notice_id)
    target = _task(notice.task_id) or _instance(notice.instance_id)
    if target:
        return redirect(target, 303)
    toast("info", page_text().text("notifications.gone"), page_text().text("notifications.gone_text"))
    return redirect(PATH, 303)


def _instant(text: str) -> datetime:
    """Return the moment that a page was made. :raises InputInvalid: it is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InputInvalid("notifications.until_unreadable", path="until")
    return found


def _task(task_id: str | None) -> str:
    if not task_id:
        return ""
    try:
        return f"/inbox/{services().inbox.get(current_actor(), task_id).id}"
    except (Denied, NotFound):
        return ""


def _instance(instance_id: str) -> str:
    try:
        return f"{_home()}/{services().instances.get(current_actor(), instance_id).id}"
    except (Denied, NotFound):
        return ""


def _home() -> str:
    """Return the page under which the reader looks at requests."""
    return "/monitor" if may(INSTANCES_READ) else "/requests"


def _marked(count: int) -> Response:
    if wants_block() and request.headers.get("HX-Target") == PANEL:
        return _panel(focus=read_integer(request.form, "place", 0))
    if wants_block():
        return _page(focus=read_integer(request.form, "place", 0))
    toast("completed", page_text().text("notifications.marked", count=count))
    return redirect(list_url(PATH, offset=request.args.get("offset")), 303)


def _page(focus: int | None = None) -> Response:
    actor, page = current_actor(), page_text()
    shown = {
        "show": read_choice(request.args, "show", (ALL,)),
        "type": read_choice(request.args, "type", list(NoticeType)),
    }
    paging = read_paging(request.args, "")
    found = services().notices.list(actor, _query(shown, paging))
    if found.total and not found.items:
        # The page was emptied by marking what stood on it.
        paging = Paging(limit=paging.limit)
        found = services().notices.list(actor, _query(shown, paging))
    context: dict[str, Any] = {
        "filter": shown,
        "types": [one.value for one in NoticeType],
        "groups": group_notices(found.items, _open_urls(found.items)),
        "focus": None if focus is None else min(focus, len(found.items) - 1),
        "listing": Listing(page, paging, found.total, len(found.items), path=PATH),
        "until": page.now().isoformat(),
    }
    return render("notifications/notifications.html", "list", **context)


def _panel(focus: int | None = None) -> Response:
    found = services().notices.latest(current_actor(), LATEST)
    context: dict[str, Any] = {
        "groups": group_notices(found, _open_urls(found)),
        "focus": None if focus is None else min(focus, len(found) - 1),
        "until": page_text().now().isoformat(),
    }
    return render("notifications/_panel.html", "panel", **context)


def _query(shown: Mapping[str, str], paging: Paging) -> NoticeQuery:
    wanted = NoticeType(shown["type"]) if shown["type"] else None
    return NoticeQuery(unread=shown["show"] != ALL, type=wanted, paging=paging)


def _open_urls(found: Sequence[Notice]) -> dict[str, str]:
    """Return the page of each request that the reader may open, by one query."""
    ids = tuple(dict.fromkeys(one.instance_id for one in found))
    if not ids:
        return {}
    known = services().instances.query(current_actor(), InstanceQuery(ids=ids, paging=Paging(limit=len(ids))))
    return {one.id: f"{_home()}/{one.id}" for one in known.items}


def group_notices(found: Sequence[Notice], urls: Mapping[str, str]) -> list[Group]:
    """Return notices by the request they are about, both in the order in which the newest of each came."""
    groups: dict[str, Group] = {}
    for one in found:
        group = groups.setdefault(
            one.instance_id,
            Group(
                instance_id=one.instance_id,
                title=one.instance_title,
                url=urls.get(one.instance_id, ""),
                lines=[],
            ),
        )
        tone = _TONES.get(one.event_type, _LOUD.get(one.severity, ""))
        group.lines.append(Line(notice=one, icon=ICONS[one.event_type], tone=tone))
    for place, line in enumerate(line for group in groups.values() for line in group.lines):
        line.place = place
    return list(groups.values())
