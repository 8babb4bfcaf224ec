"""PostgreSQL is restarted in the middle of waves, of leases, of everything (spec 8.10, 13)."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.cluster import Cluster, own_cluster
from tests.faults.nodes import ANSWER_SECONDS, Answer, Installation, Node, installed, wait_until
from tests.support.flows import END, START, flow, node

pytestmark = [
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.timeout(300),
]

ASK = node("ask", "UserTask", {"Assignees": ["manager"], "AllowedOutcomes": ["approved"]})
COUNT = node("count", "SetVariable", {"Expressions": {"n": "n + 1"}})
GATED = flow("gated", [START, ASK, node("gate", "TestGate"), COUNT, END])
TIMER = flow("timer", [START, node("wait", "Delay", {"DurationSeconds": 1}), COUNT, END])
GATED_PATH = [(name, "Completed") for name in ("start", "ask", "gate", "count", "end")]
TIMER_PATH = [(name, "Completed") for name in ("start", "wait", "count", "end")]


class Place:
    """A cluster, an installation on it, and two nodes."""

    def __init__(self, cluster: Cluster, site: Installation) -> None:
        self.cluster = cluster
        self.site = site
        self.first, self.second = site.start_nodes(2)
        for document in (GATED, TIMER):
            site.publish(self.first, document)

    def in_the_gate(self) -> tuple[str, str, Any]:
        """Have the first node stand in the middle of a wave; return instance, task, and its answer to come."""
        instance = self.site.start(self.first, "gated", n=0)
        task = self.site.task(self.first, instance)
        self.first.ask("gate", is_open=False)
        late = self.site.complete(self.first, task)
        assert self.first.expect("entered")["instance"] == instance
        return instance, task, late

    def leases(self) -> list[str]:
        """Return the names of the instances' leases."""
        with psycopg.connect(self.cluster.url) as connection:
            found = connection.execute("SELECT name FROM leases WHERE name LIKE 'instance:%'").fetchall()
        return [name for (name,) in found]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ExitStack() as stack:
        # Not below the tests' own folder, which no other account may enter.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="waypost-cluster-")))
        folder.chmod(0o711)
        cluster = stack.enter_context(own_cluster(folder / "data"))
        settings = {"WAYPOST_DATABASE_URL": cluster.url}
        site = stack.enter_context(installed(tmp_path_factory.mktemp("restarts"), **settings))
        yield Place(cluster, site)


@pytest.fixture(autouse=True)
def gate_open_again(place: Place) -> Iterator[None]:
    yield
    place.first.ask("gate", is_open=True)


def test_a_wave_that_a_restart_fell_into_is_carried_out_once(place: Place) -> None:
    instance, _task, late = place.in_the_gate()
    place.cluster.restart("fast")
    place.first.ask("gate", is_open=True)
    answer = late.result(ANSWER_SECONDS)
    assert answer.status == 200, answer
    assert place.site.instance(place.second, instance)["variables"]["n"] == 1
    assert place.site.path_of(place.second, instance) == GATED_PATH


def test_a_crash_of_the_server_takes_the_leases_and_the_late_wave_overwrites_nothing(place: Place) -> None:
    instance, task, late = place.in_the_gate()
    assert place.leases() == [f"instance:{instance}"]
    place.cluster.restart("immediate")
    assert place.leases() == [], "the table of leases outlived a crash: it is logged"
    # Nobody has a lease any more, so another node is let in at once, while the first is in the wave.
    taken = place.site.complete(place.second, task).result(ANSWER_SECONDS)
    assert taken.status == 200, taken
    place.first.ask("gate", is_open=True)
    refused = late.result(ANSWER_SECONDS)
    assert (refused.status, refused.body["code"]) == (409, "WORKFLOW_CONFLICT_003"), refused
    assert place.site.instance(place.second, instance)["variables"]["n"] == 1
    assert place.site.path_of(place.second, instance) == GATED_PATH
    assert sorted(place.site.actions_of(place.second, instance)) == ["complete", "start"]


class Callers:
    """Threads that start instances and complete their tasks, and ask again what was refused for the moment."""

    def __init__(self, place: Place) -> None:
        self.asked, self.started, self.completed = set[str](), dict[str, str](), set[str]()
        self.wrong = list[Any]()
        self._place = place
        self._over = threading.Event()
        self._numbers = itertools.count()
        work = [(place.first, "gated"), (place.second, "gated"), (place.second, "timer")]
        self._threads = [threading.Thread(target=self._run, args=each) for each in work]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _run(self, on: Node, name: str) -> None:
        try:
            while not self._over.is_set():
                key = f"restart-{next(self._numbers)}"
                self.asked.add(key)
                body = {"name": name, "variables": {"n": 0}, "correlationId": key}
                answer = self._until_answered(on, "/instances", body, key)
                if answer.status != 201:
                    self.wrong.append(answer)
                    continue
                self.started[answer.body["id"]] = name
                if name == "gated":
                    self._complete(on, answer.body["id"])
        except Exception as error:
            self.wrong.append(repr(error))

    def _complete(self, on: Node, instance: str) -> None:
        found = self._until_answered(on, f"/tasks?instanceId={instance}", None, None)
        (task,) = found.body["items"]
        path = f"/tasks/{task['id']}/complete"
        answer = self._until_answered(on, path, {"outcome": "approved"}, f"complete-{instance}")
        if answer.status == 200:
            self.completed.add(instance)
        else:
            self.wrong.append(answer)

    def _until_answered(self, on: Node, path: str, body: object, key: str | None) -> Answer:
        while True:
            method = "GET" if body is None else "POST"
            answer = self._place.site.call(on, "manager", method, path, body, key=key)
            if answer.status != 503:
                return answer
            if "Retry-After" not in answer.headers:
                self.wrong.append(answer)
            time.sleep(0.1)


def test_restarts_and_crashes_under_load_lose_nothing_and_do_nothing_twice(place: Place) -> None:
    site = place.site
    for each in (place.first, place.second):
        each.ask("poll")
    callers = Callers(place)
    with callers:
        for mode in ("fast", "immediate", "fast"):
            before = len(callers.completed)
            assert wait_until(lambda: len(callers.completed) > before + 5, 20), callers.wrong  # noqa: B023  # used here
            place.cluster.restart(mode)
    assert callers.wrong == []
    timers = {one for one, name in callers.started.items() if name == "timer"}
    gated = callers.started.keys() - timers
    assert callers.completed == gated
    assert len(timers) > 3
    # One instance for each key, whatever of it was answered.
    found = {one["id"]: one for one in site.items(place.first, "admin", "/instances") if one["correlationId"]}
    assert found.keys() == callers.started.keys()
    assert len({one["correlationId"] for one in found.values()}) == len(found) == len(callers.asked)
    done = "/instances?definitionName=timer&status=Completed"
    assert wait_until(lambda: {one["id"] for one in site.items(place.first, "admin", done)} >= timers, 20)
    for instance in callers.started:
        assert site.instance(place.first, instance)["variables"]["n"] == 1
        assert site.path_of(place.first, instance) == (TIMER_PATH if instance in timers else GATED_PATH)
