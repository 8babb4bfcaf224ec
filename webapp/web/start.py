"""Start: the catalogue of what an account may start, and the form made from a workflow's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Denied, NotFound, WorkflowError
from webapp.services.queries import DefinitionSummary
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, errors_by_variable, fields_of, read_variables
from webapp.web.htmx import render
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("start", __name__, url_prefix="/start")
blueprint.before_request(require_sign_in)

TITLE = "title"


@dataclass(frozen=True, kw_only=True)
class StartForm:
    """The form of one workflow as the page shows it."""

    name: str
    title: str
    version: int
    description: str
    heading: FormField
    fields: Sequence[FormField]
    refusals: Sequence[str] = ()
    people: Sequence[Mapping[str, str]] = ()

    @property
    def needs(self) -> bool:
        """Whether a field must be filled in."""
        return any(field.required for field in self.fields)


@blueprint.get("")
def catalogue() -> Response:
    """Show what the account may start, by category."""
    return _page(None)


@blueprint.get("/<name>")
def form(name: str) -> Response:
    """Show the form of a workflow."""
    definition = services().catalog.get_published(current_actor(), name)
    return _page(_form(definition))


@blueprint.post("/<name>")
def start(name: str) -> Response:
    """Start the workflow, or show the form again with what was typed and what is wrong at each field."""
    page, actor = page_text(), current_actor()
    definition = services().catalog.get_published(actor, name)
    values, errors = read_variables(definition.variables, request.form, page.zone, page.text)
    if errors:
        return _page(_form(definition, request.form, errors), status=422)
    try:
        title = request.form.get(TITLE, "").strip() or None
        result = services().instances.start(actor, definition_id=definition.id, title=title, variables=values)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        names = [variable.name for variable in definition.variables]
        errors, others = errors_by_variable(refusal, names, page.text)
        return _page(_form(definition, request.form, errors, others), status=422)
    # An unfinished request with the same number is taken instead of a second one (spec 3.19).
    toast("completed", page.text("start.done" if result.created else "start.reused"), result.instance.title)
    return redirect(f"/requests/{result.instance.id}", 303)


def _page(shown: StartForm | None, status: int = 200) -> Response:
    keyword = request.args.get("keyword", "").strip()
    offers = services().catalog.offered(current_actor(), keyword or None)
    return render("start/start.html", "list", status=status, form=shown, keyword=keyword, groups=group_offers(offers))


def group_offers(offers: Sequence[DefinitionSummary]) -> list[dict[str, Any]]:
    """Return the offers by category in its order, those without one last."""
    ordered = sorted(
        offers, key=lambda offer: (not offer.category, offer.category or "", offer.display_name or offer.name)
    )
    return [
        {"title": title, "offers": list(group)} for title, group in groupby(ordered, key=lambda offer: offer.category)
    ]


def _form(
    definition: WorkflowDefinition,
    posted: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    refusals: Sequence[str] = (),
) -> StartForm:
    text = page_text().text
    heading = FormField(
        name=TITLE,
        label=text("start.heading"),
        help=text("start.heading_help"),
        value=(posted or {}).get(TITLE, ""),
        attrs={"maxlength": "500", "autocomplete": "off", "placeholder": definition.title},
    )
    fields = fields_of(definition.variables, page_text().zone, posted, errors)
    first = next((index for index, field in enumerate(fields) if field.error), None)
    if first is not None:
        fields[first] = replace(fields[first], attrs={**fields[first].attrs, "autofocus": ""})
    return StartForm(
        name=definition.name,
        title=definition.title,
        version=definition.version,
        description=definition.description or "",
        heading=heading,
        fields=fields,
        refusals=refusals,
        people=_people(definition),
    )


def _people(definition: WorkflowDefinition) -> list[dict[str, str]]:
    """Return the steps in which somebody decides, in the order in which they were drawn."""
    steps = [node.label for node in definition.nodes if node.activity_type == "UserTask"]
    return [{"icon": "user-check", "text": step} for step in steps]
