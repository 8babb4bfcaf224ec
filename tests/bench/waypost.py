"""Waypost itself, through its services: what a request costs behind the web layer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from tests.bench.targets import Target
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.app import create_app
from webapp.config import Settings
from webapp.engine.ports.queries import Paging, TaskQuery
from webapp.services import Services
from webapp.web.deps import Installation

PREFIX = "platform_"
"""The bench works in the platform's partition, whose tables have this prefix."""

_STEPS = 8


def _definition(name: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    ids = [node["id"] for node in nodes]
    transitions = [
        {"id": f"t{number}", "sourceNodeId": ids[number], "targetNodeId": ids[number + 1]}
        for number in range(len(ids) - 1)
    ]
    return {"name": name, "nodes": list(nodes), "transitions": transitions}


def _node(node_id: str, activity: str, **properties: Any) -> dict[str, Any]:
    return {"id": node_id, "activityType": activity, "properties": properties}


DEFINITIONS = (
    _definition(
        "bench.straight",
        _node("start", "Start"),
        *(_node(f"s{number}", "SetVariable", Expressions={"n": "n + 1"}) for number in range(_STEPS)),
        _node("end", "End"),
    ),
    _definition(
        "bench.cycle",
        _node("start", "Start"),
        _node("decide", "UserTask", Assignees=["anna"], Title="Decide"),
        _node("end", "End"),
    ),
)


class Waypost:
    """Runs both workloads with Waypost."""

    name = "Waypost"

    def __init__(self, target: Target, folder: Path) -> None:
        logging.getLogger("waypost").setLevel(logging.WARNING)
        app = create_app(_settings(target, folder))
        self._installation: Installation = app.extensions["waypost"]
        self._installation.migrations.upgrade()
        self._services: Services = self._installation.services
        self._anna = self._actor("anna")
        for document in DEFINITIONS:
            catalog = self._services.catalog
            catalog.publish(self._anna, catalog.create(self._anna, document).id)

    def straight(self) -> None:
        """W1: start an instance that runs through ten nodes."""
        self.straight_instance()

    def cycle(self) -> None:
        """W2: start, list, complete."""
        self.start_waiting()
        self.complete_first()

    def straight_instance(self) -> str:
        """Do W1 and return the instance's id."""
        instance = self._services.instances.start(self._anna, name="bench.straight", variables={"n": 0}).instance
        assert instance.status == "Completed"
        assert instance.variables["n"] == _STEPS
        return instance.id

    def start_waiting(self) -> str:
        """Do the first part of W2 and return the instance's id."""
        return self._services.instances.start(self._anna, name="bench.cycle").instance.id

    def complete_first(self) -> None:
        """Do the rest of W2: list the inbox with its total, complete the first task."""
        page = self._services.inbox.query(self._anna, TaskQuery(paging=Paging(limit=50)))
        done = self._services.inbox.complete(self._anna, page.items[0].id, "approved")
        assert done.instance_status == "Completed"

    def close(self) -> None:
        """Let the connections go."""
        self._installation.close()

    def _actor(self, name: str) -> Actor:
        accounts = self._services.accounts
        return accounts.actor(accounts.create(name=name, password="anna's password", roles=[ADMINISTRATOR]))


def _settings(target: Target, folder: Path) -> Settings:
    folder.mkdir(parents=True)
    environ = {
        "WAYPOST_DATA": str(folder),
        "WAYPOST_DATABASE_URL": target.url,
        "WAYPOST_SECRET_KEY": "only for the benchmark",
        "WAYPOST_POLLER": "0",
    }
    if target.synchronous is not None:
        environ["WAYPOST_SQLITE_SYNCHRONOUS"] = target.synchronous
    return Settings.from_environ(environ)
