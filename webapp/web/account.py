"""Sign-in, sign-out, the language switch and the own account."""

from __future__ import annotations

from flask import Blueprint, current_app, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from webapp.accounts.demo import DEMO_ACCOUNTS
from webapp.engine.errors import Denied, WorkflowError
from webapp.web import security
from webapp.web.absences import AbsencePosted, absence_form, set_absence
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, refusal_text
from webapp.web.i18n import LANGUAGE_COOKIE, LANGUAGES, THEME_COOKIE, THEMES
from webapp.web.shell import page_text, require_sign_in, safe_next, signed_in, toast

blueprint = Blueprint("account", __name__)

YEAR = 365 * 24 * 3_600


@blueprint.get("/")
def home() -> Response:
    """Send everybody to the inbox; it asks for the sign-in."""
    return redirect("/inbox", 303)


@blueprint.get("/sign-in")
def sign_in() -> Response | str:
    """Show the sign-in form, with the demonstration's accounts where there are some."""
    if signed_in():
        return redirect(safe_next(request.args.get("next")), 303)
    return _sign_in_page()


@blueprint.post("/sign-in")
def sign_in_with_password() -> Response | tuple[str, int]:
    """Begin a session, or say that name and password do not fit, never which of the two."""
    name = request.form.get("name", "").strip()
    try:
        account = security.authenticate(services().accounts.authenticate, name, request.form.get("password", ""))
    except Denied as denied:
        return _sign_in_page(name=name, error=page_text().text(denied.key, **denied.params)), 403
    if account is None:
        return _sign_in_page(name=name, error=page_text().text("account.sign_in.refused")), 422
    security.sign_in(account)
    return redirect(safe_next(request.form.get("next")), 303)


def _sign_in_page(name: str = "", error: str = "") -> str:
    page = page_text()
    demo = [
        {"name": account.name, "label": account.display_name, "does": page.text(f"account.demo.{account.name}")}
        for account in DEMO_ACCOUNTS
        if current_app.extensions["waypost.demo"]
    ]
    target = safe_next(request.values.get("next"))
    return render_template("account/sign_in.html", name=name, error=error, demo=demo, next=target)


@blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session; who was sent somewhere as somebody else comes there after the next sign-in."""
    security.sign_out()
    target = request.form.get("next")
    return redirect(url_for("account.sign_in", next=safe_next(target)) if target else "/sign-in", 303)


@blueprint.post("/language")
def switch_language() -> Response:
    """Remember the language: in the account of who is signed in, and in this browser."""
    chosen = request.form.get("language")
    response = redirect(safe_next(request.form.get("next"), "/"), 303)
    if chosen in LANGUAGES:
        if signed_in():
            services().accounts.set_language(current_actor(), chosen)
        response.set_cookie(
            LANGUAGE_COOKIE, chosen, max_age=YEAR, samesite="Lax", httponly=True, secure=request.is_secure
        )
    return response


@blueprint.get("/account")
def account() -> Response | str:
    """Show language, theme, keys and the password form."""
    return require_sign_in() or _account_page()


@blueprint.post("/account/look")
def save_look() -> Response:
    """Keep language and theme."""
    refused = require_sign_in()
    if refused is not None:
        return refused
    language, theme = request.form.get("language"), request.form.get("theme", "")
    accounts = services().accounts
    if language in LANGUAGES:
        accounts.set_language(current_actor(), language)
    if theme in ("", *THEMES):
        accounts.set_theme(current_actor(), theme or None)
    toast("completed", page_text().text("account.look.saved"))
    response = redirect("/account", 303)
    for cookie, value in ((LANGUAGE_COOKIE, language), (THEME_COOKIE, theme)):
        if value in (*LANGUAGES, *THEMES):
            response.set_cookie(
                cookie, str(value), max_age=YEAR, samesite="Lax", httponly=True, secure=request.is_secure
            )
        else:
            response.delete_cookie(cookie)
    return response


@blueprint.post("/account/password")
def change_password() -> Response | tuple[str, int]:
    """Change the password; what is wrong stands at its field."""
    refused = require_sign_in()
    if refused is not None:
        return refused
    page = page_text()
    current, new = request.form.get("current", ""), request.form.get("new", "")
    if new != request.form.get("again", ""):
        return _account_page({"again": page.text("account.password.differ")}), 422
    # Whoever finds a window open may not guess here what the sign-in would stop.
    limits, whose = security.failure_limits(), (request.remote_addr or "", current_actor().name)
    limits.check_sign_in(*whose)
    try:
        services().accounts.change_password(current_actor(), current, new)
    except WorkflowError as refusal:
        at = "current" if any(problem.path == "old" for problem in refusal.problems) else "new"
        if at == "current":
            limits.sign_in_failed(*whose)
        return _account_page({at: refusal_text(refusal, page.text)}), 422
    changed = services().accounts.find(current_actor().account_id)
    if changed is not None:
        # The session is tied to the password: without a new one its owner would be signed out as well.
        security.sign_in(changed)
    toast("completed", page.text("account.password.saved"))
    return redirect("/account", 303)


@blueprint.post("/account/absences")
def add_absence() -> Response | tuple[str, int]:
    """Have somebody act for the account; what is wrong stands at its field."""
    refused = require_sign_in()
    if refused is not None:
        return refused
    posted = AbsencePosted(values=request.form, definitions=request.form.getlist("definitions"))
    if not set_absence(posted):
        return _account_page(absence=posted), 422
    toast("completed", page_text().text("account.absence.saved"))
    return redirect("/account", 303)


@blueprint.post("/account/absences/<absence_id>/delete")
def end_absence(absence_id: str) -> Response:
    """End an absence."""
    refused = require_sign_in()
    if refused is not None:
        return refused
    services().substitutions.delete(current_actor(), absence_id)
    toast("completed", page_text().text("account.absence.ended"))
    return redirect("/account", 303)


def _account_page(errors: dict[str, str] | None = None, absence: AbsencePosted | None = None) -> str:
    page, actor, wrong = page_text(), current_actor(), errors or {}
    look = {
        "language": FormField(
            name="language",
            label=page.text("account.look.language"),
            kind="choice",
            value=actor.language,
            options=[("en", "English"), ("zh", "中文")],
        ),
        "theme": FormField(
            name="theme",
            label=page.text("account.look.theme"),
            kind="choice",
            value=actor.theme or "",
            options=[(name, page.text(f"account.look.theme_{name or 'system'}")) for name in ("", *THEMES)],
        ),
    }
    password = {name: _password_field(name, wrong.get(name, "")) for name in ("current", "new", "again")}
    return render_template(
        "account/account.html", look=look, password=password, role_label=_role_label, absence=absence_form(absence)
    )


def _role_label(role: str) -> str:
    """Return a built-in role in the reader's words; any other is a group that stands for itself."""
    page = page_text()
    return page.text(f"account.role.{role}") if page.has(f"account.role.{role}") else role


def _password_field(name: str, error: str) -> FormField:
    return FormField(
        name=name,
        label=page_text().text(f"account.password.{name}"),
        input_type="password",
        required=True,
        error=error,
        attrs={"autocomplete": "current-password" if name == "current" else "new-password"},
    )
