"""Several processes of the ``worker`` command share due work: each timer fires once, whoever takes it (8.10)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.caller import Caller
from tests.support.postgresql import new_database, require_server
from tests.support.server import ROOT, ServerProcess

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

TIMERS = 40
FIRED_WITHIN = 60.0
COUNT = {"Expressions": {"n": "n + 1"}}
PAUSE = {
    "name": "pause",
    "displayName": "Pause",
    "nodes": [
        {"id": "start", "activityType": "Start"},
        {"id": "wait", "activityType": "Delay", "properties": {"DurationSeconds": 1}},
        {"id": "count", "activityType": "SetVariable", "properties": COUNT, "background": True},
        {"id": "end", "activityType": "End"},
    ],
    "transitions": [
        {"id": "a", "sourceNodeId": "start", "targetNodeId": "wait"},
        {"id": "b", "sourceNodeId": "wait", "targetNodeId": "count"},
        {"id": "c", "sourceNodeId": "count", "targetNodeId": "end"},
    ],
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server on PostgreSQL that polls nothing itself."""
    with ExitStack() as stack:
        require_server()
        url = stack.enter_context(new_database())
        settings = {"WAYPOST_DATABASE_URL": url.render_as_string(hide_password=False), "WAYPOST_POLLER": "0"}
        made = ServerProcess(tmp_path, settings=settings)
        stack.callback(made.stop)
        made.prepare()
        yield made


def _worker(server: ServerProcess, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "flask", "--app", "webapp", "worker"]
    with (server.data / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=server.environment, stdout=log, stderr=log, start_new_session=True
        )


def _run(server: ServerProcess) -> None:
    """Start timers that the workers must fire, once each."""
    tokens = server.tokens("designer", "admin")
    with Caller(server.port, tokens["designer"]) as designer:
        created = designer("POST", "/definitions", PAUSE)
        assert created.status == 201, created
        assert designer("POST", f"/definitions/{created.body['id']}/publish", {}).status == 200
    with Caller(server.port, tokens["admin"]) as admin:
        before = admin("GET", "/instances/counts").body.get("Completed", 0)
        for _ in range(TIMERS):
            assert admin("POST", "/instances", {"name": "pause", "variables": {"n": 0}}).status == 201
        deadline, done = time.monotonic() + FIRED_WITHIN, 0
        while done < TIMERS and time.monotonic() < deadline:
            time.sleep(0.2)
            done = admin("GET", "/instances/counts").body.get("Completed", 0) - before
        assert done == TIMERS
        found = admin.whole("/instances?definitionName=pause")
        assert len(found) == TIMERS
        for instance in found:
            assert admin("GET", f"/instances/{instance['id']}").body["variables"]["n"] == 1


@pytest.mark.postgresql
def test_two_workers_share_the_work_and_end_at_sigterm(server: ServerProcess) -> None:
    workers = [_worker(server, name) for name in ("one", "two")]
    try:
        server.start()
        _run(server)
        for worker in workers:
            os.killpg(worker.pid, signal.SIGTERM)
        assert [worker.wait(20) for worker in workers] == [0, 0]
        logs = [(server.data / f"{name}.log").read_text() for name in ("one", "two")]
        assert all("poller stopped" in log for log in logs), logs
        assert not any("Traceback" in log for log in logs), logs
    finally:
        for worker in workers:
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
