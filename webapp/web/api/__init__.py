"""The REST API below ``/api/v1`` (spec 11): one module a section, registered here."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from flask import Blueprint, Response, render_template

from webapp.engine.numbers import JsonObject, encode
from webapp.messages.catalog import Catalog
from webapp.web.api import (
    activities,
    batches,
    calendars,
    definitions,
    deliveries,
    endpoints,
    expressions,
    external_tasks,
    instance_operations,
    instances,
    me,
    notice_preferences,
    notice_templates,
    notifications,
    schedules,
    signals,
    substitutions,
    task_returns,
    tasks,
    upkeep,
)
from webapp.web.api.openapi import openapi_document
from webapp.web.api.routing import Endpoint, register
from webapp.web.deps import installation
from webapp.web.i18n import Language, language

SECTIONS = (
    definitions.section,
    activities.section,
    expressions.section,
    schedules.section,
    calendars.section,
    instances.section,
    instance_operations.section,
    batches.section,
    tasks.section,
    substitutions.section,
    task_returns.section,
    external_tasks.section,
    signals.section,
    notifications.section,
    notice_preferences.section,
    notice_templates.section,
    deliveries.section,
    endpoints.section,
    upkeep.section,
    me.section,
)

ENDPOINTS: tuple[Endpoint, ...] = tuple(endpoint for section in SECTIONS for endpoint in section.endpoints)

bp = Blueprint("api", __name__, url_prefix="/api")


def product_version() -> str:
    """Return the installed version, or in a bare checkout that it is one."""
    try:
        return version("waypost")
    except PackageNotFoundError:
        return "0+checkout"


@cache
def document(catalog: Catalog, lang: Language) -> JsonObject:
    """Return the OpenAPI document of this version in a language; it never changes while the process runs."""
    return openapi_document(ENDPOINTS, product_version(), lambda key: catalog.text(key, {}, lang))


@bp.get("/v1/openapi.json")
def openapi() -> Response:
    """Return the OpenAPI document; it holds nothing secret, so it needs no credentials."""
    return Response(encode(document(installation().catalog, language())), content_type="application/json")


@bp.get("/docs")
def docs() -> str:
    """Show the OpenAPI document to a person."""
    return render_template("api/docs.html", document=document(installation().catalog, language()))


_v1 = Blueprint("v1", __name__, url_prefix="/v1")
for _endpoint in ENDPOINTS:
    register(_v1, _endpoint)
bp.register_blueprint(_v1)
