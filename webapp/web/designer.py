"""The list of workflows: find, create, import, export, duplicate, and the ends of their life; the editor's page."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from webapp.accounts.permissions import DEFINITIONS_READ
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.errors import DENIED_PERMISSION, Denied, WorkflowError
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonObject, encode
from webapp.services.queries import DefinitionQuery
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, problem_text, refusal_text
from webapp.web.htmx import render
from webapp.web.i18n import language
from webapp.web.listing import Listing, read_choice, read_paging
from webapp.web.shell import may, page_text, require_sign_in, toast

blueprint = Blueprint("designer", __name__, url_prefix="/designer")
blueprint.before_request(require_sign_in)


@blueprint.before_request
def require_reading() -> None:
    """Keep the designer to those who may read definitions; who only starts them has the catalogue."""
    if not may(DEFINITIONS_READ):
        raise Denied("access.denied", code=DENIED_PERMISSION, params={"permission": DEFINITIONS_READ})


STATUSES = [status.value for status in DefinitionStatus]
SLUG_GAPS = re.compile(r"[^a-z0-9._-]+")


@blueprint.get("")
def workflows() -> BaseResponse:
    """Show the list; filter, sort and page are the address."""
    return _list_page()


def _list_page(status: int = 200, **dialog: Any) -> BaseResponse:
    args = request.args
    chosen = {name: args.get(name, "").strip() for name in ("keyword", "name", "category", "versions")}
    chosen["status"] = read_choice(args, "status", STATUSES)
    catalog, actor = services().catalog, current_actor()
    query = DefinitionQuery(
        keyword=chosen["keyword"] or None,
        name=chosen["name"] or None,
        category=chosen["category"] or None,
        status=DefinitionStatus(chosen["status"]) if chosen["status"] else None,
        latest=chosen["versions"] != "all",
        paging=read_paging(args, "title,-version"),
    )
    page = catalog.query(actor, query)
    people = {login for row in page.items for login in (row.updated_by, row.created_by) if login}
    context = {
        "rows": page.items,
        "names": services().accounts.names(actor, people),
        "categories": catalog.categories(actor),
        "statuses": STATUSES,
        "filter": chosen,
        "sort": args.get("sort", ""),
        "listing": Listing(page_text(), query.paging, page.total, len(page.items), path="/designer"),
        "new": _new_fields({}, {}),
        **dialog,
    }
    return render("designer/list.html", "list", status=status, **context)


def _new_fields(posted: dict[str, str], errors: dict[str, str]) -> dict[str, FormField]:
    text = page_text().text
    return {
        name: FormField(
            name=name,
            label=text(f"definitions.field.{name}"),
            required=name == "title",
            value=posted.get(name, ""),
            error=errors.get(name, ""),
            help="" if name == "title" else text(f"definitions.field.{name}_help"),
            attrs={"autocomplete": "off", "maxlength": "128" if name == "name" else "500"},
        )
        for name in ("title", "name", "category")
    }


@blueprint.post("/new")
def create() -> BaseResponse:
    """Create a draft that has its start and an end, and open it."""
    text = page_text().text
    posted = {name: request.form.get(name, "").strip() for name in ("title", "name", "category")}
    name = posted["name"] or slug(posted["title"])
    errors = {}
    if not posted["title"]:
        errors["title"] = text("ui.field.required")
    elif not name:
        errors["name"] = text("definitions.new.name_needed")
    if not errors:
        try:
            made = services().catalog.create(current_actor(), _empty_document(name, posted))
            return redirect(f"/designer/{made.id}", 303)
        except Denied:
            raise
        except WorkflowError as refusal:
            errors["name"] = refusal_text(refusal, text)
    return _list_page(422, opened="new", new=_new_fields(posted, errors))


def slug(title: str) -> str:
    """Return the name that a title suggests; empty when nothing of it can stand in a name."""
    return SLUG_GAPS.sub("-", title.lower()).strip("-._")[:128]


def _empty_document(name: str, posted: dict[str, str]) -> JsonObject:
    text = page_text().text
    document: JsonObject = {
        "name": name,
        "displayName": posted["title"],
        "nodes": [
            {
                "id": "start",
                "name": text("definitions.new.start"),
                "activityType": "Start",
                "properties": {},
                "x": 80,
                "y": 160,
            },
            {
                "id": "end",
                "name": text("definitions.new.end"),
                "activityType": "End",
                "properties": {},
                "x": 640,
                "y": 160,
            },
        ],
        "transitions": [],
        "variables": [],
    }
    if posted["category"]:
        document["category"] = posted["category"]
    return document


@blueprint.post("/import")
def import_document() -> BaseResponse:
    """Import a document from a file or a pasted text as a draft; a refusal lists everything that is wrong with it."""
    text = page_text().text
    upload = request.files.get("file")
    pasted = request.form.get("text", "")
    data = upload.read() if upload and upload.filename else pasted.encode()
    if not data.strip():
        return _list_page(
            422, opened="import", import_problems=[text("definitions.import.nothing")], import_text=pasted
        )
    try:
        made = services().catalog.import_document(current_actor(), read_json(data))
    except Denied:
        raise
    except WorkflowError as refusal:
        problems = [": ".join(filter(None, (one.path, problem_text(one, text)))) for one in refusal.problems]
        shown = problems or [refusal_text(refusal, text)]
        return _list_page(422, opened="import", import_problems=shown, import_text=data.decode("utf-8", "replace"))
    toast("completed", text("definitions.import.done"), made.title)
    return redirect(f"/designer/{made.id}", 303)


@blueprint.get("/<definition_id>/export")
def export(definition_id: str) -> Response:
    """Download the portable document."""
    actor, catalog = current_actor(), services().catalog
    document = catalog.export(actor, definition_id)
    definition = catalog.get(actor, definition_id)
    response = Response(encode(document), content_type="application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="{definition.name}-v{definition.version}.json"'
    return response


@blueprint.post("/<definition_id>/duplicate")
def duplicate(definition_id: str) -> BaseResponse:
    """Make a draft with the same content under a new name, and open it."""
    made = services().catalog.duplicate(current_actor(), definition_id)
    toast("completed", page_text().text("definitions.duplicated"), made.title)
    return redirect(f"/designer/{made.id}", 303)


@blueprint.post("/<definition_id>/versions")
def new_version(definition_id: str) -> BaseResponse:
    """Make the next version as a draft, and open it."""
    made = services().catalog.new_version(current_actor(), id=definition_id)
    return redirect(f"/designer/{made.id}", 303)


@blueprint.post("/<definition_id>/<any(disable, archive, delete):action>")
def end(definition_id: str, action: str) -> BaseResponse:
    """Disable, archive or delete; a state that forbids it is told in a toast."""
    text, actor, catalog = page_text().text, current_actor(), services().catalog
    title = catalog.get(actor, definition_id).title
    command = {"disable": catalog.disable, "archive": catalog.archive, "delete": catalog.delete}[action]
    try:
        command(actor, definition_id)
    except Denied:
        raise
    except WorkflowError as refusal:
        toast("faulted", text(f"definitions.not_{action}", title=title), refusal_text(refusal, text))
    else:
        toast("completed", text(f"definitions.done_{action}"), title)
    return redirect("/designer", 303)


@blueprint.get("/<definition_id>")
def edit(definition_id: str) -> str:
    """Show the editor; what is no draft, or is not the reader's to write, opens for reading only."""
    definition = services().catalog.get(current_actor(), definition_id)
    read_only = definition.status is not DefinitionStatus.DRAFT or not may("definitions:write")
    return render_template(
        "designer/edit.html",
        definition_id=definition_id,
        definition=definition,
        read_only=read_only,
        messages=page_text().area("designer"),
        lang=language(),
        actor=current_actor(),
    )
