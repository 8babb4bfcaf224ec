"""``kill -9`` amid housekeeping and sealing: trees are whole, gone, or marked; the trail stays whole (8.10, 13)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.stores.records import audit, instance, node, record
from tests.support.postgresql import new_database, require_server
from tests.support.server import ROOT
from webapp.app import create_app
from webapp.config import Settings
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.stores import WriteSet
from webapp.stores.sql import create_database
from webapp.web.deps import Installation

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

KILLS = 2
TREES = 200
NODES = 3
HUGE_NODES = 2_500
WIDE_CHILDREN = 520

WORK = """
from webapp import create_app
services = create_app().extensions["waypost"].services
print("ready", flush=True)
while True:
    services.sealing.seal()
    services.housekeeping.housekeep()
"""


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.postgresql),
    ]
)
def environ(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """What an installation with a retention of thirty days is set to."""
    made = {
        "WAYPOST_DATA": str(tmp_path),
        "WAYPOST_SECRET_KEY": "only for this test",
        "WAYPOST_RETENTION_DAYS": "30",
        "WAYPOST_POLLER": "0",
    }
    with ExitStack() as stack:
        if request.param == "postgresql":
            require_server()
            url = stack.enter_context(new_database())
            made["WAYPOST_DATABASE_URL"] = url.render_as_string(hide_password=False)
        yield made


@pytest.fixture
def here(environ: dict[str, str]) -> Iterator[Installation]:
    """The same installation in this process."""
    found: Installation = create_app(Settings.from_environ(environ)).extensions["waypost"]
    found.migrations.upgrade(None)
    yield found
    found.close()


def fill(here: Installation) -> None:
    ended = here.now() - timedelta(days=40)
    with here.stores.writing(None) as work:  # type: ignore[attr-defined]  # stores, for tests
        for number in range(TREES):
            _store(work, f"i{number:03}", NODES, ended + timedelta(seconds=number))
        _store(work, "huge", HUGE_NODES, ended)
        _store(work, "wide", NODES, ended + timedelta(seconds=1))
        for number in range(WIDE_CHILDREN):
            _store(work, f"w{number:03}", 1, ended, parent_instance_id="wide", root_instance_id="wide", depth=1)


def _store(work: Any, name: str, nodes: int, ended: Any, **values: Any) -> None:
    made = instance(name, status=InstanceStatus.COMPLETED, ended_at=ended, created_at=ended, **values)
    work.apply(
        WriteSet(
            partition=None,
            instance=made,
            is_new=True,
            node_instances=[node(f"{name}-{number}", name) for number in range(nodes)],
            task_records=[record(f"{name}-task", name)],
            audit=[audit(f"{name}-a", instance_id=name, at=ended)],
        )
    )


def rows(here: Installation, query: str) -> dict[str, int]:
    """Return what the query says of each instance."""
    engine = create_database(here.settings.database_url, pool_size=1)
    try:
        with engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(text(query))}
    finally:
        engine.dispose()


def check_whole(here: Installation) -> int:
    """Check that each tree is whole, gone or marked; return how many instances there are."""
    # Marks last: what is marked in between has been counted as whole.
    nodes = rows(here, "SELECT instance_id, count(*) FROM platform_node_instances GROUP BY instance_id")
    tasks = rows(here, "SELECT instance_id, count(*) FROM platform_task_records GROUP BY instance_id")
    there = rows(here, "SELECT id, 1 FROM platform_instances")
    marks = rows(here, "SELECT id, 1 FROM platform_purge_marks")
    for name in there:
        wanted = HUGE_NODES if name == "huge" else 1 if name.startswith("w") and name != "wide" else NODES
        assert (nodes.get(name), tasks.get(name)) == (wanted, 1), name
        # What hangs on a child that is left is found by its root's mark.
        assert not name.startswith("w") or name == "wide" or "wide" in there or "wide" in marks
    loose = {*nodes, *tasks} - set(there)
    assert loose <= set(marks)
    return len(there)


def run(environ: dict[str, str]) -> subprocess.Popen[str]:
    variables = {**os.environ, **environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", WORK], env=variables, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_housekeeping_and_sealing_survive_kills(here: Installation, environ: dict[str, str]) -> None:
    fill(here)
    left = check_whole(here)
    assert left == TREES + 2 + WIDE_CHILDREN
    for _ in range(KILLS):
        with run(environ) as process:
            time.sleep(random.uniform(0.05, 0.9))
            process.kill()
        left = check_whole(here)
        assert here.services.audit.verify(None).is_whole
    with run(environ) as last:
        deadline = time.monotonic() + 120
        while rows(here, "SELECT 'left', count(*) FROM platform_node_instances")["left"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        last.kill()
    assert check_whole(here) == 0
    here.services.housekeeping.housekeep()
    here.services.sealing.seal()
    found = here.services.audit.verify(None)
    assert (found.is_whole, found.unsealed.count) == (True, 0)
    # The trail of everything that is gone, and at least one line that tells of it.
    assert found.rows > TREES + 2 + WIDE_CHILDREN
    state = here.services.purges.state(None)
    assert (state.trees, state.marked, state.run is not None and state.run.ended_at is not None) == (0, 0, True)
    assert state.run is not None
    assert state.run.instances == TREES + 2
