"""Waypost itself, through its services: what a request costs behind the web layer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.bench.targets import Target
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.app import create_app
from webapp.config import Settings
from webapp.engine.ports.queries import Paging, TaskQuery
from webapp.services import Services
from webapp.services.due_work import Crew
from webapp.web.deps import Installation

PREFIX = "platform_"
"""The bench works in the platform's partition, whose tables have this prefix."""


def _definition(name: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    ids = [node["id"] for node in nodes]
    transitions = [
        {"id": f"t{number}", "sourceNodeId": ids[number], "targetNodeId": ids[number + 1]}
        for number in range(len(ids) - 1)
    ]
    return {"name": name, "nodes": list(nodes), "transitions": transitions}


def _node(node_id: str, activity: str, **properties: Any) -> dict[str, Any]:
    return {"id": node_id, "activityType": activity, "properties": properties}


def _row(name: str, nodes: int) -> dict[str, Any]:
    """Return a definition of nodes in a row, Start and End among them."""
    steps = (_node(f"s{number}", "SetVariable", Expressions={"n": "n + 1"}) for number in range(nodes - 2))
    return _definition(name, _node("start", "Start"), *steps, _node("end", "End"))


def _fan(name: str, branches: int) -> dict[str, Any]:
    """Return a definition of parallel branches of one node each, between a fork and a join."""
    ids = [f"b{number}" for number in range(branches)]
    steps = (_node(node_id, "SetVariable", Expressions={f"r{node_id}": "n + 1"}) for node_id in ids)
    ends = _node("start", "Start"), _node("fork", "Parallel"), _node("join", "Join"), _node("end", "End")
    flows = [("start", "fork"), *(pair for one in ids for pair in (("fork", one), (one, "join"))), ("join", "end")]
    transitions = [{"id": f"t{n}", "sourceNodeId": a, "targetNodeId": b} for n, (a, b) in enumerate(flows)]
    return {"name": name, "nodes": [*ends[:2], *steps, *ends[2:]], "transitions": transitions}


ROWS = (10, 100, 1_000)
"""Nodes in a row, for how the cost grows."""

FANS = (10, 100)
"""Parallel branches, for how the cost grows."""

DEFINITIONS = (
    *(_row(f"bench.row{nodes}", nodes) for nodes in ROWS),
    *(_fan(f"bench.fan{branches}", branches) for branches in FANS),
    _definition(
        "bench.cycle",
        _node("start", "Start"),
        _node("decide", "UserTask", Assignees=["anna"], Title="Decide"),
        _node("end", "End"),
    ),
    _definition(
        "bench.asked",
        _node("start", "Start"),
        _node("decide", "UserTask", AssigneesExpression="who", Title="Decide"),
        _node("end", "End"),
    ),
    _definition(
        "bench.timer", _node("start", "Start"), _node("delay", "Delay", DurationSeconds="seconds"), _node("end", "End")
    ),
)


class Waypost:
    """Runs the workloads with Waypost."""

    name = "Waypost"

    def __init__(self, target: Target, folder: Path, **settings: str) -> None:
        self._installation = opened(target, folder, settings)
        self._installation.migrations.upgrade(None)
        self._services: Services = self._installation.services
        self._anna = self._actor("anna")
        for document in DEFINITIONS:
            catalog = self._services.catalog
            catalog.publish(self._anna, catalog.create(self._anna, document).id)

    @classmethod
    def beside(cls, target: Target, folder: Path) -> Waypost:
        """Return another process's installation on a database that is set up: it only polls."""
        made = cls.__new__(cls)
        made._installation = opened(target, folder, {})
        made._services = made._installation.services
        return made

    def straight(self) -> None:
        """W1: start an instance that runs through ten nodes."""
        self.run_row(10)

    def cycle(self) -> None:
        """W2: start, list, complete."""
        self.start_waiting()
        self.complete_first()

    def fork(self) -> None:
        """W3: start an instance that forks into ten branches and joins them."""
        self.run_fan(10)

    def run_row(self, nodes: int) -> str:
        """Run nodes in a row (W1 when they are ten) and return the instance's id."""
        instance = self._services.instances.start(self._anna, name=f"bench.row{nodes}", variables={"n": 0}).instance
        assert instance.status == "Completed"
        assert instance.variables["n"] == nodes - 2
        return instance.id

    def run_fan(self, branches: int) -> str:
        """Run parallel branches (W3 when they are ten) and return the instance's id."""
        instance = self._services.instances.start(self._anna, name=f"bench.fan{branches}", variables={"n": 0}).instance
        assert instance.status == "Completed"
        assert instance.variables[f"rb{branches - 1}"] == 1
        return instance.id

    def start_waiting(self) -> str:
        """Do the first part of W2 and return the instance's id."""
        return self._services.instances.start(self._anna, name="bench.cycle").instance.id

    def complete_first(self) -> None:
        """Do the rest of W2: list the inbox with its total, complete the first task."""
        page = self._services.inbox.query(self._anna, TaskQuery(paging=Paging(limit=50)))
        done = self._services.inbox.complete(self._anna, page.items[0].id, "approved")
        assert done.instance_status == "Completed"

    @property
    def services(self) -> Services:
        """The use cases, for what is no workload."""
        return self._services

    def open_tasks(self, number: int) -> list[str]:
        """Return the ids of so many open tasks, the oldest first."""
        found: list[str] = []
        while len(found) < number:
            paging = Paging(offset=len(found), limit=min(1_000, number - len(found)))
            found += (task.id for task in self._services.inbox.query(self._anna, TaskQuery(paging=paging)).items)
        return found

    def approve(self, task_id: str) -> None:
        """Complete a task."""
        self._services.inbox.complete(self._anna, task_id, "approved")

    def colleague(self, name: str) -> Actor:
        """Make another account."""
        return self._actor(name)

    def start_for(self, approver: Actor, number: int) -> list[str]:
        """Start so many requests of anna's that the approver decides, and return the tasks' ids."""
        for _ in range(number):
            self._services.instances.start(self._anna, name="bench.asked", variables={"who": approver.name})
        page = self._services.inbox.query(approver, TaskQuery(paging=Paging(limit=number)))
        return [task.id for task in page.items]

    def approve_as(self, approver: Actor, task_id: str) -> None:
        """Complete a task as somebody else."""
        self._services.inbox.complete(approver, task_id, "approved", comment="fine")

    def start_delayed(self, number: int, seconds: float) -> None:
        """Start so many instances that wait so many seconds and then end (W4)."""
        for _ in range(number):
            self._services.instances.start(self._anna, name="bench.timer", variables={"seconds": Decimal(str(seconds))})

    def poll(self, crew: Crew) -> int:
        """Run all that is due; return how many bookmarks that were."""
        report = self._services.housekeeping.poll_once(crew)
        assert not report.failed
        assert not report.left
        return report.resumed

    def close(self) -> None:
        """Let the connections go."""
        self._installation.close()

    def _actor(self, name: str) -> Actor:
        accounts = self._services.accounts
        return accounts.actor(accounts.create(name=name, password="anna's password", roles=[ADMINISTRATOR]))


def opened(target: Target, folder: Path, more: Mapping[str, str]) -> Installation:
    """Return an installation on that database, without a poller; its tables are still to be made."""
    logging.getLogger("waypost").setLevel(logging.WARNING)
    found: Installation = create_app(_settings(target, folder, more)).extensions["waypost"]
    return found


def _settings(target: Target, folder: Path, more: Mapping[str, str]) -> Settings:
    folder.mkdir(parents=True)
    environ = {
        "WAYPOST_DATA": str(folder),
        "WAYPOST_DATABASE_URL": target.url,
        "WAYPOST_SECRET_KEY": "only for the benchmark",
        "WAYPOST_POLLER": "0",
        **more,
    }
    if target.synchronous is not None:
        environ["WAYPOST_SQLITE_SYNCHRONOUS"] = target.synchronous
    return Settings.from_environ(environ)
