"""Structured logs: one JSON object a line, with the id of its request."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.support.web import make_site
from webapp.web.logs import configure_logging


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is written while logging is configured as a server does it; everything is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("apscheduler", "sqlalchemy", "alembic", "werkzeug")}
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    configure_logging("INFO")
    yield written
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, old in levels.items():
        logging.getLogger(name).setLevel(old)


def read(written: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_request_leaves_one_line_with_its_id(tmp_path: Path, lines: io.StringIO) -> None:
    site = make_site(tmp_path)
    site.account("ada", "administrator")
    site.caller("ada").get("/me", X_Request_Id="job-7").expect(200)
    (line,) = read(lines)
    assert line["event"] == "request"
    assert line["request_id"] == "job-7"
    assert line["actor"] == "ada"
    assert (line["method"], line["path"], line["status"]) == ("GET", "/api/v1/me", 200)
    assert line["milliseconds"] >= 0
    assert line["level"] == "info"
    assert line["timestamp"].endswith("Z")


def test_a_line_after_a_request_does_not_carry_its_id(tmp_path: Path, lines: io.StringIO) -> None:
    site = make_site(tmp_path)
    site.anybody().get("/me", X_Request_Id="job-7")
    logging.getLogger("gunicorn.error").warning("Invalid request")
    assert [line.get("request_id") for line in read(lines)] == ["job-7", None]


def test_a_failure_is_logged_with_its_trace_and_the_same_id(tmp_path: Path, lines: io.StringIO) -> None:
    site = make_site(tmp_path)

    @site.app.get("/api/v1/broken")
    def broken() -> str:
        raise RuntimeError("out of paper")

    answer = site.anybody().get("/broken")
    failure, request = read(lines)
    assert failure["level"] == "error"
    assert "out of paper" in failure["exception"]
    assert failure["request_id"] == request["request_id"] == answer.headers["X-Request-Id"]


def test_health_checks_and_files_leave_no_line(tmp_path: Path, lines: io.StringIO) -> None:
    client = make_site(tmp_path).app.test_client()
    for path in ("/healthz", "/readyz", "/static/nothing.js"):
        client.get(path)
    assert read(lines) == []


def test_facts_given_to_a_standard_logger_become_members(lines: io.StringIO) -> None:
    logging.getLogger("waypost.flow").info("%s is away", "Lin", extra={"instanceId": "i-1", "nodeId": "n"})
    (line,) = read(lines)
    assert (line["event"], line["instanceId"], line["nodeId"]) == ("Lin is away", "i-1", "n")
    assert line["logger"] == "waypost.flow"


def test_a_line_break_in_a_message_stays_inside_its_line(lines: io.StringIO) -> None:
    logging.getLogger("waypost.flow").warning("first\nsecond")
    assert [line["event"] for line in read(lines)] == ["first\nsecond"]
