"""Is the process up, is it ready: at the root, without credentials (spec 11, Operations and Amendments)."""

from __future__ import annotations

from flask import Blueprint, Response

from webapp.engine.numbers import JsonObject, encode
from webapp.web.deps import installation, services

bp = Blueprint("operations", __name__)


@bp.get("/healthz")
def healthz() -> Response:
    """Say that the process is up; nothing else is asked."""
    return _json({"status": "ok"}, 200)


@bp.get("/readyz")
def readyz() -> Response:
    """Say whether database, migrations and a poller are there: 503 with the failing part named when one is not.

    Tenants whose own database is not served are named, and nobody else suffers for them (spec 8.10).
    """
    parts = installation().readiness()
    ready = all(state == "ok" for state in parts.values())
    document: JsonObject = {"status": "ready" if ready else "unavailable", **parts}
    if parts["migrations"] == "ok":
        refused = {tenant: str(one.refusal) for one in services().tenants.refused() for tenant in one.tenants}
        document |= {"tenants": refused} if refused else {}
    return _json(document, 200 if ready else 503)


def _json(value: JsonObject, status: int) -> Response:
    response = Response(encode(value), status=status, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response
