"""What every page shares: who is signed in, what the navigation shows, where one may be sent."""

from __future__ import annotations

from typing import Any, Final, cast
from urllib.parse import urlsplit

from flask import Flask, current_app, flash, g, redirect, request, url_for
from werkzeug.wrappers import Response

from webapp.engine.errors import Unavailable
from webapp.web.deps import current_actor, services
from webapp.web.htmx import Components
from webapp.web.i18n import PageText
from webapp.web.listing import list_url

MOST_UNREAD: Final = 99
"""The bell counts so far."""


def page_text() -> PageText:
    """Return the texts of this page."""
    return cast("PageText", current_app.extensions["waypost.page_text"])


def signed_in() -> bool:
    """Whether this request has a session."""
    return getattr(g, "actor", None) is not None


def may(permission: str) -> bool:
    """Whether the signed-in account has a permission; nobody has none."""
    known = getattr(g, "actor", None)
    return bool(known and known.may(permission))


def open_tasks() -> int:
    """Return how many tasks wait for the account."""
    return task_counts()["mine"]


def task_counts() -> dict[str, int]:
    """Return how many tasks wait for the account and how many it may claim, read once a request.

    Nothing is counted while the tenant's own database is away: pages that need nothing of it are shown all the same.
    """
    if "task_counts" not in g:
        try:
            g.task_counts = services().inbox.counts(current_actor())
        except Unavailable:
            g.task_counts = {"mine": 0, "claimable": 0}
    return cast("dict[str, int]", g.task_counts)


def unread_notices() -> int:
    """Return how many notices the account has not read, at most one more than the bell counts; read once a request."""
    if "unread_notices" not in g:
        try:
            g.unread_notices = services().notices.unread(current_actor())
        except Unavailable:
            g.unread_notices = 0
    return cast("int", g.unread_notices)


def unread_text() -> str:
    """Return that number as the bell shows it."""
    found = unread_notices()
    return f"{MOST_UNREAD}+" if found > MOST_UNREAD else str(found)


def here() -> str:
    """Return the address of this page, to come back to it; a refused form comes back to where it stood."""
    if request.method == "GET":
        return request.full_path.rstrip("?")
    page = urlsplit(request.referrer or "")
    return page.path if page.netloc == request.host else "/"


def safe_next(target: str | None, fallback: str = "/inbox") -> str:
    """Return a target inside this installation; anything that could lead elsewhere becomes the fallback (spec 13)."""
    if not target or not target.startswith("/") or target.startswith("//") or "\\" in target:
        return fallback
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or any(ord(character) < 32 for character in target):
        return fallback
    return target


def require_sign_in() -> Response | None:
    """Send a visitor without a session to the sign-in page; for ``blueprint.before_request``."""
    if signed_in():
        return None
    if request.headers.get("HX-Request") == "true":
        page = urlsplit(request.headers.get("HX-Current-URL", "")).path
        response = current_app.response_class(status=204)
        response.headers["HX-Redirect"] = url_for("account.sign_in", next=safe_next(page))
        return response
    return redirect(url_for("account.sign_in", next=safe_next(here())), 303)


def toast(state: str, title: str, sub: str = "", *, undo: str = "") -> None:
    """Show a result on the next page or block: completed, running or faulted; *undo* is where to take it back."""
    flash({"title": title, "sub": sub, "undo": undo}, state)  # type: ignore[arg-type]  # flask keeps any JSON value


def init_shell(app: Flask) -> None:
    """Give Jinja what the shell's templates use."""
    shared: dict[str, Any] = {
        "ui": Components(),
        "me": lambda: getattr(g, "actor", None),
        "may": may,
        "open_tasks": open_tasks,
        "unread_notices": unread_notices,
        "unread_text": unread_text,
        "here": here,
        "list_url": list_url,
    }
    app.jinja_env.globals.update(shared)
