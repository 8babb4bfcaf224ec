"""Definitions: drafts, their life cycle, import and export (spec 11, Definitions)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from webapp.engine.definitions.model import DefinitionStatus, WorkflowDefinition
from webapp.engine.numbers import JsonObject
from webapp.services.queries import DefinitionQuery
from webapp.web.api.definition_shapes import (
    Definition,
    DefinitionDocument,
    DefinitionListItem,
    PublishBody,
    ValidationReport,
    definition_shape,
    summary_shape,
)
from webapp.web.api.diff_shapes import Diff, diff_shape
from webapp.web.api.query import Keyword, SortedWindow, paging
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import ListOf, problem_shape

section = Section("Definitions")
PATH = "/api/v1/definitions"


class DefinitionFilter(SortedWindow, frozen=True, kw_only=True, rename="camel"):
    """Filters of the definition list."""

    keyword: Keyword | None = None
    name: str | None = None
    category: str | None = None
    status: DefinitionStatus | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    latest: bool = False


@section.call(
    "POST", "/definitions", document=True, body=DefinitionDocument, answers={201: Definition},
    refuses=(409,), sends_revision=True,
)  # fmt: skip
def create_definition(call: Call[JsonObject, None]) -> Reply:
    """Create a draft; nothing but its shape is checked."""
    return _created(call.services.catalog.create(call.actor, call.body))


@section.call("GET", "/definitions", query=DefinitionFilter, answers={200: ListOf[DefinitionListItem]})
def list_definitions(call: Call[None, DefinitionFilter]) -> Reply:
    """List definitions, one row a version, or one a name with ``latest``."""
    wanted = call.query
    query = DefinitionQuery(
        keyword=wanted.keyword,
        name=wanted.name,
        category=wanted.category,
        status=wanted.status,
        created_from=wanted.created_from,
        created_to=wanted.created_to,
        latest=wanted.latest,
        paging=paging(wanted),
    )
    page = call.services.catalog.query(call.actor, query)
    return Reply(value=ListOf(items=[summary_shape(item) for item in page.items], total=page.total))


@section.call(
    "POST", "/definitions/import", document=True, answers={201: Definition},
    refuses=(409,), sends_revision=True,
)  # fmt: skip
def import_definition(call: Call[JsonObject, None]) -> Reply:
    """Create the next version of the document's name."""
    return _created(call.services.catalog.import_document(call.actor, call.body))


@section.call("GET", "/definitions/<id>", answers={200: Definition}, refuses=(404,), sends_revision=True)
def get_definition(call: Call[None, None], id: str) -> Reply:
    """Return the whole definition."""
    return _changed(call.services.catalog.get(call.actor, id))


@section.call(
    "PUT", "/definitions/<id>", document=True, body=DefinitionDocument,
    answers={200: Definition}, refuses=(404, 409, 412, 428), if_match="required", sends_revision=True,
)  # fmt: skip
def replace_definition(call: Call[JsonObject, None], id: str) -> Reply:
    """Replace the content of a draft whose revision is the one that was read."""
    return _changed(call.services.catalog.update(call.actor, id, call.body, call.revision_read))


@section.call("DELETE", "/definitions/<id>", answers={204: None}, refuses=(404, 409, 412), if_match="optional")
def delete_definition(call: Call[None, None], id: str) -> Reply:
    """Delete a draft; other versions stay for ever."""
    call.services.catalog.delete(call.actor, id, expected_revision=call.expected_revision)
    return Reply(status=204)


@section.call(
    "POST", "/definitions/<id>/validate", document=True,
    body=DefinitionDocument, body_required=False, answers={200: ValidationReport}, refuses=(404,), answers_once="no",
)  # fmt: skip
def validate_definition(call: Call[JsonObject | None, None], id: str) -> Reply:
    """Validate the document in the body, or without one what is stored; nothing is changed."""
    problems = call.services.catalog.validate(call.actor, id, call.body)
    shapes: dict[str, list[Any]] = {"error": [], "warning": []}
    for problem in problems:
        shapes[problem.severity].append(problem_shape(problem, call.catalog, call.lang))
    return Reply(value=ValidationReport(errors=shapes["error"], warnings=shapes["warning"]))


@section.call(
    "POST", "/definitions/<id>/publish", body=PublishBody, body_required=False,
    answers={200: Definition}, refuses=(404, 409, 412), if_match="optional", sends_revision=True,
)  # fmt: skip
def publish_definition(call: Call[PublishBody, None], id: str) -> Reply:
    """Publish a draft; everything that is wrong with it comes back at once."""
    published = call.services.catalog.publish(
        call.actor, id, note=call.body.note, expected_revision=call.expected_revision
    )
    return _changed(published)


@section.call(
    "POST", "/definitions/<id>/disable", answers={200: Definition},
    refuses=(404, 409, 412), if_match="optional", sends_revision=True,
)  # fmt: skip
def disable_definition(call: Call[None, None], id: str) -> Reply:
    """Refuse new instances; running ones go on."""
    return _changed(call.services.catalog.disable(call.actor, id, expected_revision=call.expected_revision))


@section.call(
    "POST", "/definitions/<id>/archive", answers={200: Definition},
    refuses=(404, 409, 412), if_match="optional", sends_revision=True,
)  # fmt: skip
def archive_definition(call: Call[None, None], id: str) -> Reply:
    """Put a version away; running instances go on."""
    return _changed(call.services.catalog.archive(call.actor, id, expected_revision=call.expected_revision))


@section.call(
    "POST", "/definitions/<id>/versions", answers={201: Definition},
    refuses=(404, 409), sends_revision=True,
)  # fmt: skip
def create_version(call: Call[None, None], id: str) -> Reply:
    """Copy this version into a draft with the next number."""
    return _created(call.services.catalog.new_version(call.actor, id=id))


@section.call("GET", "/definitions/<id>/diff/<other_id>", answers={200: Diff}, refuses=(404,))
def diff_definitions(call: Call[None, None], id: str, other_id: str) -> Reply:
    """Say what was added, removed and changed from the first to the other."""
    return Reply(value=diff_shape(call.services.catalog.diff(call.actor, id, other_id)))


@section.call("GET", "/definitions/<id>/export", answers={200: dict[str, Any]}, refuses=(404,))
def export_definition(call: Call[None, None], id: str) -> Reply:
    """Return name and content, without the ids of this installation."""
    return Reply(value=call.services.catalog.export(call.actor, id))


def _changed(definition: WorkflowDefinition) -> Reply:
    return Reply(value=definition_shape(definition), revision=definition.revision)


def _created(definition: WorkflowDefinition) -> Reply:
    return Reply(
        value=definition_shape(definition),
        status=201,
        location=f"{PATH}/{definition.id}",
        revision=definition.revision,
    )
