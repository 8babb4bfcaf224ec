"""Moving an instance to another step or another version: first what would happen, then that (spec 12, 3.20)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from flask import Blueprint, redirect, request
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.errors import DENIED_PERMISSION, Denied, NotFound, WorkflowError
from webapp.services.operation_views import Jump, JumpReport, Migration, MigrationReport
from webapp.services.views import InstanceOverview
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, problem_text, refusal_text
from webapp.web.htmx import render
from webapp.web.i18n import json_text
from webapp.web.listing import read_integer
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("monitor_moves", __name__, url_prefix="/monitor")
blueprint.before_request(require_sign_in)

START: Final = "Start"
MAP: Final = "map."
"""A mapped step travels under this prefix, so that no id can be mistaken for a field of the page itself."""


def _overview(instance_id: str) -> InstanceOverview:
    overview = services().monitor.overview(current_actor(), instance_id)
    if not overview.may_operate:
        raise Denied("access.denied", code=DENIED_PERMISSION, params={"permission": INSTANCES_OPERATE})
    return overview


def _typed() -> Mapping[str, str]:
    return request.form if request.method == "POST" else request.args


def _reason() -> str | None:
    return request.form.get("reason", "").strip() or None


def _field(name: str, **rest: Any) -> FormField:
    """Return a field with what was typed, and the page's words for it."""
    page = page_text()
    key = f"monitor.field.{name}"
    help_key = f"{key}_help"
    return FormField(
        name=name,
        label=page.text(key),
        help=page.text(help_key) if page.has(help_key) else "",
        **{"value": _typed().get(name, ""), **rest},
    )


def _reason_field() -> FormField:
    label = page_text().text("monitor.reason_label")
    return FormField(
        name="reason",
        label=label,
        kind="area",
        rows=2,
        value=_typed().get("reason", ""),
        attrs={"maxlength": "10000"},
    )


def _labels(definition: WorkflowDefinition) -> dict[str, str]:
    return {node.id: node.label for node in definition.nodes}


def _step_options(nodes: list[Node]) -> list[tuple[str, str]]:
    page = page_text()
    return [(node.id, page.text("monitor.step_option", step=node.label, type=_type_name(node))) for node in nodes]


def _type_name(node: Node) -> str:
    page, key = page_text(), f"workflow.activity.{node.activity_type}.title"
    return page.text(key) if page.has(key) else node.activity_type


# --- to another step --------------------------------------------------------------------------


@blueprint.get("/<instance_id>/jump")
def jump_form(instance_id: str) -> Response:
    """Ask where to."""
    return _jump_page(_overview(instance_id))


@blueprint.post("/<instance_id>/jump")
def jump(instance_id: str) -> Response:
    """Say what the jump would take away; do it when that is what was shown."""
    overview, operations = _overview(instance_id), services().operations
    asked = Jump(
        to_node_id=request.form.get("to", ""),
        from_node_id=request.form.get("from", "") or None,
        reason=_reason(),
    )
    try:
        report = operations.plan_jump(current_actor(), instance_id, asked)
        if _confirmed(_jump_mark(report)):
            changed = operations.jump(current_actor(), instance_id, asked)
            toast("completed", page_text().text("monitor.jump.done"), changed.title)
            return redirect(f"/monitor/{instance_id}", 303)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return _jump_page(overview, refusal=refusal, status=422)
    return _jump_page(overview, report=report)


def _confirmed(mark: str) -> bool:
    """Whether what was shown is what would happen now; else it is shown again."""
    return request.form.get("step") == "do" and request.form.get("shown") == mark


def _jump_mark(report: JumpReport) -> str:
    return json_text([report.revision, request.form.get("to", ""), request.form.get("from", "")])


def _jump_page(
    overview: InstanceOverview,
    *,
    report: JumpReport | None = None,
    refusal: WorkflowError | None = None,
    status: int = 200,
) -> Response:
    labels = _labels(overview.definition)
    targets = [node for node in overview.definition.nodes if node.activity_type != START]
    errors, others = _errors(refusal, {"toNodeId": "to", "fromNodeId": "from"})
    to = _field("to", kind="choice", options=_step_options(targets), error=errors.get("to", ""))
    source = _field("from", kind="choice", options=_sources(overview, labels), error=errors.get("from", ""))
    context = {
        "overview": overview,
        "fields": [to, source, _reason_field()],
        "others": others,
        "report": report,
        "stale": report is not None and request.form.get("step") == "do",
        "mark": "" if report is None else _jump_mark(report),
        "target": labels.get(_typed().get("to", ""), ""),
        "lines": [] if report is None else _jump_lines(report, labels),
    }
    return render("monitor/jump.html", "content", status=status, **context)


def _sources(overview: InstanceOverview, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the places that only one token can be taken from: where something waits, or failed."""
    standing = [wait.node_id for wait in overview.waits if wait.node_id is not None]
    failed = overview.instance.fault_node_id
    places = dict.fromkeys([*standing, *([failed] if failed else [])])
    everything = ("", page_text().text("monitor.jump.everything"))
    return [everything, *((node_id, labels.get(node_id, node_id)) for node_id in places)]


def _jump_lines(report: JumpReport, labels: Mapping[str, str]) -> list[str]:
    """Return what the jump would take away, a sentence for each kind."""
    page = page_text()

    def names(node_ids: list[str]) -> str:
        return page.listed(dict.fromkeys(labels.get(node_id, node_id) for node_id in node_ids))

    lines = []
    if report.canceled_node_ids:
        lines.append(page.text("monitor.jump.canceled", steps=names(report.canceled_node_ids)))
    if report.task_ids:
        lines.append(page.text("monitor.jump.tasks", count=len(report.task_ids)))
    if report.dropped_token_node_ids:
        lines.append(page.text("monitor.jump.tokens", steps=names(report.dropped_token_node_ids)))
    if report.dropped_join_ids:
        lines.append(page.text("monitor.jump.joins", steps=names(report.dropped_join_ids)))
    return lines or [page.text("monitor.jump.nothing")]


def _errors(refusal: WorkflowError | None, fields: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return a refusal's sentences by field, and those that belong to none."""
    text = page_text().text
    if refusal is None:
        return {}, []
    by_field: dict[str, str] = {}
    others = []
    for problem in refusal.problems:
        name = fields.get(problem.path)
        if name is not None and name not in by_field:
            by_field[name] = problem_text(problem, text)
        else:
            others.append(problem_text(problem, text))
    return by_field, others if refusal.problems else [refusal_text(refusal, text)]


# --- to another version -----------------------------------------------------------------------


@blueprint.get("/<instance_id>/migrate")
def migrate_form(instance_id: str) -> Response:
    """Ask to which version."""
    return _migrate_page(_overview(instance_id))


@blueprint.post("/<instance_id>/migrate")
def migrate(instance_id: str) -> Response:
    """Say what would not map; migrate when everything does and that is what was shown."""
    overview, operations, actor = _overview(instance_id), services().operations, current_actor()
    try:
        version = read_integer(request.form, "version", 0)
        asked = Migration(node_mapping=_mapping(request.form), reason=_reason())
        report = operations.plan_migration(actor, instance_id, version, asked)
        if not report.problems and _confirmed(_migration_mark(report)):
            changed = operations.migrate(actor, instance_id, version, asked)
            done = page_text().text("monitor.migrate.done", version=changed.definition_version)
            toast("completed", done, changed.title)
            return redirect(f"/monitor/{instance_id}", 303)
    except Denied:
        raise
    except WorkflowError as refusal:
        return _migrate_page(overview, refusal=refusal, status=422)
    return _migrate_page(overview, report=report, status=422 if report.problems else 200)


def _mapping(form: MultiDict[str, str]) -> dict[str, str]:
    return {name.removeprefix(MAP): value for name, value in form.items() if name.startswith(MAP) and value}


def _migration_mark(report: MigrationReport) -> str:
    return json_text([report.revision, request.form.get("version", ""), report.nodes])


def _migrate_page(
    overview: InstanceOverview,
    *,
    report: MigrationReport | None = None,
    refusal: WorkflowError | None = None,
    status: int = 200,
) -> Response:
    page, actor, instance = page_text(), current_actor(), overview.instance
    found = services().monitor.versions(actor, instance.id)
    versions = [(str(one.version), page.text("ui.version", version=one.version)) for one in found]
    others = [] if refusal is None else [refusal_text(refusal, page.text)]
    rows: list[FormField] = []
    alike: list[str] = []
    if report is not None:
        target = services().monitor.version(actor, instance.id, read_integer(request.form, "version", 0))
        rows, alike, others = _mapping_rows(overview.definition, target, report)
    context = {
        "overview": overview,
        "versions": versions,
        "fields": [_field("version", kind="choice", options=versions), _reason_field()],
        "rows": rows,
        "alike": alike,
        "others": others,
        "report": report,
        "ready": report is not None and not report.problems,
        "stale": report is not None and not report.problems and request.form.get("step") == "do",
        "mark": "" if report is None else _migration_mark(report),
        "version": _typed().get("version", ""),
    }
    return render("monitor/migrate.html", "content", status=status, **context)


def _mapping_rows(
    present: WorkflowDefinition, target: WorkflowDefinition, report: MigrationReport
) -> tuple[list[FormField], list[str], list[str]]:
    """Return a field for each step that has to be mapped, the names of those that map by themselves, and the rest.

    What is in use and has a problem, or was mapped by hand, gets a field that offers the steps of its own type.
    """
    page, posted = page_text(), _mapping(request.form)
    labels = _labels(present)
    types = {node.id: node.activity_type for node in present.nodes}
    wrong: dict[str, str] = {}
    others = []
    for problem in report.problems:
        node_id = problem.path.removeprefix("nodeMapping.")
        if node_id in report.nodes and node_id not in wrong:
            wrong[node_id] = problem_text(problem, page.text)
        else:
            others.append(problem_text(problem, page.text))
    rows, alike = [], []
    for node_id, becomes in report.nodes.items():
        if node_id not in wrong and node_id not in posted:
            alike.append(labels.get(node_id, node_id))
            continue
        same_type = [node for node in target.nodes if node.activity_type == types.get(node_id)]
        options = [("", page.text("monitor.migrate.choose")), *_step_options(same_type)]
        rows.append(
            FormField(
                name=MAP + node_id,
                label=labels.get(node_id, node_id),
                kind="choice",
                options=options,
                value=becomes if node_id in posted else "",
                error=wrong.get(node_id, ""),
            )
        )
    return rows, alike, others
