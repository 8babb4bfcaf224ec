"""What every page shares: who is signed in, what the navigation shows, where one may be sent."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

from flask import Flask, current_app, flash, g, redirect, request, url_for
from werkzeug.wrappers import Response

from webapp.web.deps import current_actor, services
from webapp.web.htmx import Components
from webapp.web.i18n import PageText
from webapp.web.listing import list_url


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
    """Return how many tasks wait for the account, once a request."""
    if "open_tasks" not in g:
        g.open_tasks = services().inbox.counts(current_actor())["mine"]
    return cast("int", g.open_tasks)


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


def toast(state: str, title: str, sub: str = "") -> None:
    """Show a result on the next page or block: completed, running or faulted."""
    flash({"title": title, "sub": sub}, state)  # type: ignore[arg-type]  # flask keeps any JSON value


def init_shell(app: Flask) -> None:
    """Give Jinja what the shell's templates use."""
    shared: dict[str, Any] = {
        "ui": Components(),
        "me": lambda: getattr(g, "actor", None),
        "may": may,
        "open_tasks": open_tasks,
        "here": here,
        "list_url": list_url,
    }
    app.jinja_env.globals.update(shared)
