"""Is the process up, is it ready: at the root, without credentials (spec 11, Operations and Amendments)."""

from __future__ import annotations

from flask import Blueprint, Response

from webapp.engine.numbers import encode
from webapp.web.deps import installation

bp = Blueprint("operations", __name__)


@bp.get("/healthz")
def healthz() -> Response:
    """Say that the process is up; nothing else is asked."""
    return _json({"status": "ok"}, 200)


@bp.get("/readyz")
def readyz() -> Response:
    """Say whether database, migrations and a poller are there: 503 with the failing part named when one is not."""
    parts = installation().readiness()
    ready = all(state == "ok" for state in parts.values())
    return _json({"status": "ready" if ready else "unavailable", **parts}, 200 if ready else 503)


def _json(value: dict[str, str], status: int) -> Response:
    response = Response(encode(value), status=status, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response
