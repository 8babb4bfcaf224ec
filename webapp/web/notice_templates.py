"""The texts of notices for administrators: versions, the names that may stand in them, how they come out (spec 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from flask import Blueprint, redirect, render_template, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Conflict, InputInvalid, NotFound, StaleRevision, WorkflowError
from webapp.engine.notifications.model import EventType, NoticeTemplate
from webapp.web.deps import current_actor, services
from webapp.web.errors import NO_SUCH_ADDRESS
from webapp.web.forms import FormField, problem_text, refusal_text
from webapp.web.htmx import render, wants_block
from webapp.web.i18n import LANGUAGES, language
from webapp.web.listing import read_choice, read_integer
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("notice_templates", __name__, url_prefix="/admin/notifications/templates")
blueprint.before_request(require_sign_in)

PATH: Final = "/admin/notifications/templates"
LANGUAGE_NAMES: Final = {"en": "English", "zh": "中文"}


@dataclass(frozen=True, kw_only=True)
class Editing:
    """Which text is edited: of an event type, in a language, for a category of workflows (empty: for all)."""

    event_type: EventType
    language: str
    category: str

    def url(self, **changes: str | int) -> str:
        """Return the address of this text in the editor, or of another one near it."""
        query = {"language": self.language, "category": self.category, **changes}
        return f"{PATH}/{self.event_type}?{urlencode({name: value for name, value in query.items() if value})}"


@dataclass(kw_only=True)
class Typed:
    """What stands in the editor, and what is wrong with it by field."""

    title: str
    body: str
    enabled: bool = True
    errors: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()


@blueprint.get("")
def templates() -> str:
    """List the event types, and which texts of each are the installation's own."""
    found = services().notice_templates.list(current_actor())
    own: dict[EventType, list[NoticeTemplate]] = {}
    for one in found:
        own.setdefault(one.event_type, []).append(one)
    rows = [
        {
            "event": event.value,
            "own": sorted(own.get(event, []), key=lambda one: (one.language, one.business_type or "")),
            "title": services().notice_templates.built_in(event, language()).title,
        }
        for event in EventType
        if services().notice_templates.names(event)
    ]
    return render_template("notifications/templates.html", rows=rows, editing=Editing, languages=LANGUAGE_NAMES)


@blueprint.get("/<event_type>")
def template(event_type: str) -> Response:
    """Show the editor with the text that counts, or with an earlier version of it."""
    editing = _editing(event_type)
    versions = services().notice_templates.versions(
        current_actor(), editing.event_type, editing.category or None, editing.language
    )
    wanted = read_integer(request.args, "version", 0)
    chosen = next((one for one in versions if one.version == wanted), versions[0] if versions else None)
    if chosen is not None:
        return _page(editing, Typed(title=chosen.title, body=chosen.body, enabled=chosen.enabled))
    built_in = services().notice_templates.built_in(editing.event_type, editing.language)
    return _page(editing, Typed(title=built_in.title, body=built_in.body))


@blueprint.post("/<event_type>")
def add(event_type: str) -> Response:
    """Keep the text as the next version, or only show how it comes out."""
    editing, typed = _editing(event_type), _typed()
    if request.form.get("do") == "preview":
        return _page(editing, typed)
    try:
        made = services().notice_templates.add(
            current_actor(),
            event_type=editing.event_type,
            business_type=editing.category or None,
            language=editing.language,
            title=typed.title,
            body=typed.body,
            enabled=typed.enabled,
            expected_version=read_integer(request.form, "version", 0),
        )
    except StaleRevision as stale:
        typed.lines = [refusal_text(stale, page_text().text)]
        return _page(editing, typed, status=412)
    except (InputInvalid, Conflict) as refusal:
        _explain(typed, refusal)
        return _page(editing, typed, status=422)
    toast("completed", page_text().text("notifications.templates.saved", version=made.version))
    return redirect(editing.url(), 303)


@blueprint.post("/<event_type>/preview")
def preview(event_type: str) -> Response:
    """Show how what is typed comes out, with sample values."""
    return _page(_editing(event_type), _typed(), block="preview")


def _editing(event_type: str) -> Editing:
    known = {one.value: one for one in EventType}
    found = known.get(event_type)
    if found is None or not services().notice_templates.names(found):
        params = {"method": request.method, "path": f"{PATH}/{event_type}"}
        raise NotFound("errors.no_such_address", code=NO_SUCH_ADDRESS, params=params)
    spoken = read_choice(request.args, "language", LANGUAGES) or language()
    return Editing(event_type=found, language=spoken, category=request.args.get("category", "").strip())


def _typed() -> Typed:
    form = request.form
    body = form.get("body", "").replace("\r\n", "\n")
    return Typed(title=form.get("title", ""), body=body, enabled=form.get("enabled") == "true")


def _explain(typed: Typed, refusal: WorkflowError) -> None:
    text = page_text().text
    errors: dict[str, str] = {}
    others: list[str] = []
    for problem in refusal.problems:
        if problem.path in ("title", "body") and problem.path not in errors:
            errors[problem.path] = problem_text(problem, text)
        else:
            others.append(problem_text(problem, text))
    typed.errors = errors
    typed.lines = others if refusal.problems else [refusal_text(refusal, text)]


def _page(editing: Editing, typed: Typed, *, block: str = "content", status: int = 200) -> Response:
    actor, found = current_actor(), services().notice_templates
    shown = found.preview(actor, editing.event_type, editing.language, typed.title, typed.body)
    warnings = found.warnings(editing.event_type, typed.title, typed.body)
    context: dict[str, Any] = {
        "editing": editing,
        "typed": typed,
        "shown": shown,
        "warnings": [problem_text(problem, page_text().text) for problem in warnings],
    }
    if block == "preview" and wants_block():
        return render("notifications/template.html", block, **context)
    versions = found.versions(actor, editing.event_type, editing.category or None, editing.language)
    context |= {
        "versions": versions,
        "names": found.names(editing.event_type),
        "built_in": found.built_in(editing.event_type, editing.language),
        "people": services().accounts.names(actor, {one.created_by for one in versions if one.created_by}),
        "fields": _fields(typed),
        "languages": LANGUAGE_NAMES,
        "categories": _categories(actor, editing.category),
    }
    return render("notifications/template.html", "content", status=status, **context)


def _categories(actor: Any, chosen: str) -> list[str]:
    return sorted({*services().catalog.categories(actor), *([chosen] if chosen else [])})


def _fields(typed: Typed) -> dict[str, FormField]:
    text = page_text().text
    return {
        "title": FormField(
            name="title",
            label=text("notifications.templates.field.title"),
            required=True,
            value=typed.title,
            error=typed.errors.get("title", ""),
            attrs={"maxlength": "1000", "autocomplete": "off", "data-insertable": ""},
        ),
        "body": FormField(
            name="body",
            label=text("notifications.templates.field.body"),
            kind="area",
            rows=8,
            value=typed.body,
            error=typed.errors.get("body", ""),
            attrs={"maxlength": "10000", "data-insertable": ""},
        ),
        "enabled": FormField(
            name="enabled",
            label=text("notifications.templates.field.enabled"),
            kind="switch",
            value="true" if typed.enabled else "",
            help=text("notifications.templates.field.enabled_help"),
        ),
    }
