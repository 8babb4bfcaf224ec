"""``kill -9`` under load: what was acknowledged is there, the rest stands whole, due work goes on (8.10, 13)."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.faults.caller import Caller
from tests.faults.load import DEFINITIONS, TIMER, WORK, Acknowledged, Load
from tests.support.postgresql import new_database, require_server
from tests.support.server import ROOT, ServerProcess

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

ROUNDS = 2
COMMANDS_A_ROUND = 60
TIMERS = 12
FIRES_WITHIN = 10.0
"""Seconds from the moment the server is ready again."""

LOCK_TIMEOUT = 8.0
"""Seconds that a command waits for a lease that somebody holds."""

TAKEN_OVER_WITHIN = 7.0
"""Below that wait, and far below the life of a lease (60 s)."""

HOLD_A_LEASE = """
import sys, time
from webapp import create_app
leases = create_app().extensions["waypost"].leases
with leases.hold(sys.argv[1]):
    print("held", flush=True)
    time.sleep(300)
"""

PATH = ["start", "count", "decide", "confirm", "end"]
TASK_NODES = ("decide", "confirm")


class Site:
    """A server, the tokens of its accounts, and what its instances look like."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.tokens = server.tokens("admin", "designer", "employee", "manager", "operator")

    def caller(self, who: str) -> Caller:
        return Caller(self.server.port, self.tokens[who])

    def publish(self) -> None:
        with self.caller("designer") as designer:
            for document in DEFINITIONS:
                created = designer("POST", "/definitions", document)
                assert created.status == 201, created
                published = designer("POST", f"/definitions/{created.body['id']}/publish", {})
                assert published.status == 200, published

    def start_timers(self, seconds: float) -> set[str]:
        started = set()
        with self.caller("employee") as employee:
            for _ in range(TIMERS):
                variables = {"seconds": seconds, "fired": 0}
                answer = employee("POST", "/instances", {"name": TIMER, "variables": variables})
                assert answer.status == 201, answer
                started.add(answer.body["id"])
        return started


KINDS = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgresql),
]


@pytest.fixture(scope="module", params=KINDS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as stack:
        settings = {"WAYPOST_LOCK_TIMEOUT_SECONDS": str(LOCK_TIMEOUT)}
        if request.param == "postgresql":
            require_server()
            url = stack.enter_context(new_database())
            settings["WAYPOST_DATABASE_URL"] = url.render_as_string(hide_password=False)
        server = ServerProcess(tmp_path_factory.mktemp(request.param), settings=settings)
        stack.callback(server.stop)
        server.prepare()
        server.start()
        made = Site(server)
        made.publish()
        yield made


def test_a_killed_server_loses_nothing_and_goes_on(site: Site) -> None:
    acknowledged = Acknowledged()
    for number in range(1, ROUNDS + 1):
        timers = site.start_timers(seconds=3)
        load = Load(site.caller, acknowledged)
        load.begin()
        load.wait_for(COMMANDS_A_ROUND * number, seconds=60)
        time.sleep(random.uniform(0, 0.3))
        site.server.kill()
        load.end()
        assert acknowledged.unexpected == []
        time.sleep(3)  # the timers come due while nothing runs
        site.server.start()
        ready = time.monotonic()
        with site.caller("admin") as admin:
            wait_until_fired(admin, timers, ready + FIRES_WITHIN)
            everything_acknowledged_is_there(admin, acknowledged)
            every_instance_is_whole(admin)
    every_open_task_can_be_decided_at_once(site)


def test_a_lease_of_a_killed_process_is_taken_over_at_once(site: Site) -> None:
    """Another process of this host takes the lease of an instance and is killed while it holds it."""
    with site.caller("employee") as employee:
        started = employee("POST", "/instances", {"name": WORK, "variables": {"n": 1}})
        assert started.status == 201, started
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_A_LEASE, f"instance:{started.body['id']}"],
        cwd=ROOT,
        env=site.server.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with site.caller("manager") as manager:
            (task,) = manager.whole(f"/tasks?instanceId={started.body['id']}")
            complete = f"/tasks/{task['id']}/complete"
            refused = manager("POST", complete, {"outcome": "approved"})
            assert (refused.status, refused.body["code"]) == (503, "WORKFLOW_TIMEOUT_001"), "the lease is not held"
            holder.kill()
            holder.wait()
            killed = time.monotonic()
            accepted = manager("POST", complete, {"outcome": "approved"})
            assert accepted.status == 200, accepted
            assert time.monotonic() - killed < TAKEN_OVER_WITHIN
    finally:
        holder.kill()
        holder.communicate()


def wait_until_fired(admin: Caller, timers: set[str], deadline: float) -> None:
    waiting = set(timers)
    while waiting:
        assert time.monotonic() < deadline, f"{len(waiting)} of {len(timers)} timers did not fire in time"
        ended = admin.every(f"/instances?definitionName={TIMER}&status=Completed")
        waiting -= {instance["id"] for instance in ended}
        time.sleep(0.1)
    for instance_id in timers:
        assert admin("GET", f"/instances/{instance_id}").body["variables"]["fired"] == 1
        nodes = admin.every(f"/instances/{instance_id}/nodes")
        assert [node["nodeId"] for node in nodes] == ["start", "wait", "count", "end"]
        assert {node["status"] for node in nodes} == {"Completed"}


def everything_acknowledged_is_there(admin: Caller, acknowledged: Acknowledged) -> None:
    there = {instance["id"] for instance in admin.every(f"/instances?definitionName={WORK}")}
    assert acknowledged.started.keys() <= there
    for task_id, (instance_id, node_id) in acknowledged.completed.items():
        nodes = {node["nodeId"]: node["status"] for node in admin.every(f"/instances/{instance_id}/nodes")}
        assert nodes[node_id] == "Completed", (task_id, nodes)
        task = admin("GET", f"/tasks/{task_id}")
        assert (task.status, task.body["status"], task.body["outcome"]) == (200, "ended", "approved")


def every_instance_is_whole(admin: Caller) -> None:
    """Each instance stands where a wave ends: waiting for one task, or completed, with all that belongs to it."""
    for summary in admin.every(f"/instances?definitionName={WORK}"):
        instance = admin("GET", f"/instances/{summary['id']}").body
        nodes = admin.every(f"/instances/{instance['id']}/nodes")
        bookmarks = admin.whole(f"/instances/{instance['id']}/bookmarks")
        actions = [entry["action"] for entry in admin.whole(f"/instances/{instance['id']}/history")]
        check_position(instance, nodes, bookmarks, actions)


def check_position(
    instance: dict[str, Any], nodes: list[dict[str, Any]], bookmarks: list[dict[str, Any]], actions: list[str]
) -> None:
    visited = [node["nodeId"] for node in nodes]
    assert visited == PATH[: len(visited)], instance["id"]
    done = sum(1 for node in nodes if node["nodeId"] in TASK_NODES and node["status"] == "Completed")
    assert sorted(actions) == sorted(["start", *["complete"] * done])
    if instance["status"] == "Completed":
        assert visited == PATH
        assert bookmarks == []
        assert instance["endedAt"]
        assert {node["status"] for node in nodes} == {"Completed"}
        return
    assert instance["status"] == "Running"
    assert visited[-1] == TASK_NODES[done]
    assert [(mark["kind"], mark["nodeId"]) for mark in bookmarks] == [("UserTask", visited[-1])]
    assert [node["status"] for node in nodes] == ["Completed"] * (len(nodes) - 1) + ["Suspended"]


def every_open_task_can_be_decided_at_once(site: Site) -> None:
    """A lease that the killed process held is taken over, since its process is gone: nobody waits for it to run out."""
    for who in ("manager", "operator"):
        with site.caller(who) as caller:
            for task in caller.every("/tasks?scope=mine"):
                started = time.monotonic()
                answer = caller("POST", f"/tasks/{task['id']}/complete", {"outcome": "approved"})
                assert answer.status == 200, answer
                assert time.monotonic() - started < TAKEN_OVER_WITHIN
    with site.caller("admin") as admin:
        statuses = {instance["status"] for instance in admin.every(f"/instances?definitionName={WORK}")}
        assert statuses == {"Completed"}
        every_instance_is_whole(admin)
