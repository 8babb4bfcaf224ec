"""Structured logs: one JSON object a line, each with the id of the request it belongs to (spec 11, Conventions)."""

from __future__ import annotations

import logging
import time
from collections.abc import MutableMapping
from typing import Any

import structlog
from flask import Flask, Response, g, request

log = logging.getLogger("waypost.access")

_QUIET_PATHS = ("/static/", "/healthz", "/readyz")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


def configure_logging(level: str) -> None:
    """Send every log line of the process to stderr as JSON; called by commands, never by ``create_app``."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_extra,
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # They tell of each job and each statement; their warnings are enough.
    for chatty in ("apscheduler", "sqlalchemy", "alembic", "werkzeug"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def init_request_log(app: Flask) -> None:
    """Write one line for each request: method, path, status, duration."""
    app.before_request(_start_watch)
    app.after_request(_write_line)


def _start_watch() -> None:
    g.began = time.perf_counter()


def _write_line(response: Response) -> Response:
    if not request.path.startswith(_QUIET_PATHS):
        took = time.perf_counter() - g.get("began", time.perf_counter())
        facts = {
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "milliseconds": round(took * 1000, 1),
            "address": request.remote_addr,
        }
        log.info("request", extra=facts)
    return response


def _add_extra(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Take over what a logger of the standard library was given by ``extra``."""
    record = event.get("_record")
    if record is not None:
        event.update({name: value for name, value in vars(record).items() if name not in _STANDARD and name[0] != "_"})
    return event
