"""Two nodes on one database: one is paused past its lease, has a wrong clock, fights for an instance (8.10, 13)."""

from __future__ import annotations

import itertools
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.faults.nodes import LEASE_SECONDS, Answer, Installation, Node, installed, wait_until
from tests.support.flows import END, START, edge, flow, node
from tests.support.postgresql import new_database, require_server
from webapp.services.commands import lease_name

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

FIGHT_SECONDS = float(os.environ.get("WAYPOST_TEST_FIGHT_SECONDS", "4"))
"""How long the two nodes fight; 60 for the minute that the product must stand."""

ENOUGH = 20
"""So many decisions must have come through."""

HOUR = 3600.0
ELSEWHERE = ("unshare", "--pid", "--uts", "--fork", "--mount-proc", "--kill-child", "sh", "-c")
ELSEWHERE += ('hostname elsewhere; exec "$@"', "sh")
"""Runs a program as on another host: another name, another process table."""

ASK = node("ask", "UserTask", {"Assignees": ["manager"], "AllowedOutcomes": ["approved"]})
COUNT = node("count", "SetVariable", {"Expressions": {"n": "n + 1"}})
GATED = flow("gated", [START, ASK, node("gate", "TestGate"), COUNT, END])
ROUND = flow(
    "round",
    [START, ASK, node("gate", "TestGate"), COUNT],
    [edge("start", "ask"), edge("ask", "gate"), edge("gate", "count"), edge("count", "ask")],
)
TIMER = flow("timer", [START, node("wait", "Delay", {"DurationSeconds": 1}), COUNT, END])
OUTSIDE = flow("outside", [START, node("work", "ExternalTask", {"Topic": "work"}), END])
GATED_PATH = [(name, "Completed") for name in ("start", "ask", "gate", "count", "end")]
CONFLICT = "WORKFLOW_CONFLICT_003"

KINDS = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgresql),
]


class Pair:
    """An installation with two nodes."""

    def __init__(self, site: Installation) -> None:
        self.site = site
        self.first, self.second = site.start_nodes(2)
        for document in (GATED, ROUND, TIMER, OUTSIDE):
            site.publish(self.first, document)

    def in_the_gate(self) -> tuple[str, str, Any]:
        """Have the first node stand in the middle of a wave; return instance, task, and its answer to come."""
        instance = self.site.start(self.second, "gated", n=0)
        task = self.site.task(self.second, instance)
        self.first.ask("gate", is_open=False)
        late = self.site.complete(self.first, task)
        assert self.first.expect("entered")["instance"] == instance
        return instance, task, late

    def as_stored(self, instance: str) -> tuple[Any, ...]:
        """Return all that is shown of an instance."""
        site, second = self.site, self.second
        return site.instance(second, instance), site.path_of(second, instance), site.actions_of(second, instance)


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with ExitStack() as stack:
        settings = {}
        if request.param == "postgresql":
            require_server()
            settings["WAYPOST_DATABASE_URL"] = stack.enter_context(new_database()).render_as_string(hide_password=False)
        site = stack.enter_context(installed(tmp_path_factory.mktemp("nodes"), **settings))
        yield Pair(site)


def test_a_node_that_was_paused_past_its_lease_overwrites_nothing(pair: Pair) -> None:
    instance, task, late = pair.in_the_gate()
    pair.first.pause()
    try:
        paused = time.monotonic()
        taken = pair.site.complete(pair.second, task).result(30)
        assert taken.status == 200, taken
        # Renewed a third of its life ago at the earliest: until it is over, nobody else has it.
        assert time.monotonic() - paused > LEASE_SECONDS / 3
    finally:
        pair.first.go_on()
    stored = pair.as_stored(instance)
    pair.first.ask("gate", is_open=True)
    refused = late.result(30)
    assert (refused.status, refused.body["code"]) == (409, CONFLICT), refused
    assert pair.as_stored(instance) == stored
    shown, path, actions = stored
    assert (shown["status"], shown["variables"]["n"]) == ("Completed", 1)
    assert path == GATED_PATH
    assert sorted(actions) == ["complete", "start"]


@pytest.mark.parametrize("pair", KINDS[1:], indirect=True)
def test_a_dead_process_keeps_its_lease_from_other_hosts_only(pair: Pair) -> None:
    if subprocess.run([*ELSEWHERE, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no process can be put into a host name and a process table of its own here")
    (here,) = pair.site.start_nodes(1)
    (elsewhere,) = pair.site.start_nodes(1, prefix=ELSEWHERE)
    waited = {}
    for holder in (here, elsewhere):
        instance = pair.site.start(pair.second, "round", n=0)
        task = pair.site.task(pair.second, instance)
        holder.send("hold", name=lease_name(instance))
        holder.expect("held")
        holder.kill()
        killed = time.monotonic()
        assert pair.site.complete(pair.second, task).result(30).status == 200
        waited[holder] = time.monotonic() - killed
    # Whether a process of another host runs, nobody can tell: its lease must be over first.
    assert waited[here] < LEASE_SECONDS * 2 / 3 < waited[elsewhere]


def test_a_worker_that_waits_at_one_node_gets_what_another_leaves(pair: Pair) -> None:
    site = pair.site
    wanted = {"workerId": "w", "topics": [{"topic": "work", "lockSeconds": 60}], "maxTasks": 1, "waitSeconds": 20}
    waiting = site.send(pair.second, "admin", "POST", "/external-tasks/fetch-and-lock", wanted)
    time.sleep(0.5)
    assert not waiting.done()
    instance = site.start(pair.first, "outside", n=0)
    (task,) = waiting.result(30).body["items"]
    assert task["instanceId"] == instance


@pytest.mark.parametrize("pair", KINDS[1:], indirect=True)
def test_wrong_clocks_take_no_lease_from_who_holds_it(pair: Pair) -> None:
    """Not on an SQLite file: its processes are on one machine, with one clock."""
    instance, task, late = pair.in_the_gate()
    try:
        pair.first.ask("clock", seconds=-2 * HOUR)
        pair.second.ask("clock", seconds=2 * HOUR)
        # It waits longer than a lease lasts: renewals go by the database's clock as well.
        refused = pair.site.complete(pair.second, task).result(30)
        assert (refused.status, refused.body["code"]) == (503, "WORKFLOW_TIMEOUT_001"), refused
        assert refused.headers["Retry-After"] == "1"
        pair.first.ask("gate", is_open=True)
        assert late.result(30).status == 200
    finally:
        pair.first.ask("gate", is_open=True)
        for each in (pair.first, pair.second):
            each.ask("clock", seconds=0)
    assert pair.as_stored(instance)[1] == GATED_PATH


def test_a_clock_that_is_put_back_fires_no_timer_twice_and_mixes_up_no_order(pair: Pair) -> None:
    site, first, second = pair.site, pair.first, pair.second
    before = site.start(first, "round", n=0)
    timers = {site.start(first, "timer", n=0) for _ in range(8)}
    for each in (first, second):
        each.ask("poll")
    site.complete(first, site.task(first, before)).result(30)
    first.ask("clock", seconds=-HOUR)
    try:
        after = site.start(first, "round", n=0)
        assert after > before, "an id is smaller than one that the same process made before"
        for _ in range(2):
            assert site.complete(first, site.task(first, before)).result(30).status == 200
        ended = "/instances?definitionName=timer&status=Completed"
        assert wait_until(lambda: {one["id"] for one in site.items(second, "admin", ended)} >= timers)
    finally:
        first.ask("clock", seconds=0)
    for timer in timers:
        assert site.instance(second, timer)["variables"]["n"] == 1
        assert site.path_of(second, timer) == [(name, "Completed") for name in ("start", "wait", "count", "end")]
    round_path = [name for name, _ in site.path_of(second, before)]
    assert round_path == ["start", "ask", *["gate", "count", "ask"] * 3]


class Fight:
    """Threads on both nodes that complete whatever task the one instance has."""

    def __init__(self, pair: Pair, instance: str) -> None:
        self.answers, self.done, self.wrong = Counter[Any](), list[str](), list[Any]()
        self._pair, self._instance = pair, instance
        self._over, self._guard = threading.Event(), threading.Lock()
        nodes = (pair.first, pair.second)
        self._threads = [threading.Thread(target=self._run, args=(on,)) for on in nodes for _ in range(2)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def is_long_enough(self, seconds: float) -> bool:
        """Whether they have fought for long, and done something: a busy machine needs more time for it."""
        return seconds > FIGHT_SECONDS and (len(self.done) > ENOUGH or seconds > FIGHT_SECONDS + 60)

    def _run(self, on: Node) -> None:
        try:
            while not self._over.is_set():
                path = f"/tasks?instanceId={self._instance}&limit=5"
                for task in self._pair.site.call(on, "manager", "GET", path).body["items"]:
                    self._note(task["id"], self._pair.site.complete(on, task["id"]).result(60))
        except Exception as error:
            self.wrong.append(repr(error))

    def _note(self, task: str, answer: Answer) -> None:
        with self._guard:
            self.answers[answer.status, (answer.body or {}).get("code")] += 1
            if answer.status == 200:
                self.done.append(task)
            elif answer.status not in (409, 503):
                self.wrong.append(answer)


def test_two_nodes_fight_for_one_instance_and_nothing_is_lost_or_done_twice(pair: Pair) -> None:
    """In turns a node is paused past its lease, each time in the middle of a wave."""
    site = pair.site
    instance = site.start(pair.first, "round", n=0)
    fight = Fight(pair, instance)
    with fight:
        began, victims = time.monotonic(), itertools.cycle((pair.first, pair.second))
        while not fight.is_long_enough(time.monotonic() - began):
            victim = next(victims)
            time.sleep(0.5)
            victim.forget()
            victim.ask("gate", is_open=False)
            victim.expect("entered")
            victim.pause()
            time.sleep(LEASE_SECONDS + 0.5)
            victim.go_on()
            victim.ask("gate", is_open=True)
    done = len(fight.done)
    assert fight.wrong == []
    assert done == len(set(fight.done)) > ENOUGH, fight.answers
    assert site.instance(pair.second, instance)["variables"]["n"] == done, fight.answers
    assert Counter(site.path_of(pair.second, instance)) == {
        ("start", "Completed"): 1,
        ("ask", "Completed"): done,
        ("ask", "Suspended"): 1,
        ("gate", "Completed"): done,
        ("count", "Completed"): done,
    }
