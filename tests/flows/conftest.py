"""The two ways to the product, in process and over REST, over each set of stores."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.flows.scenarios import PEOPLE, Driver
from tests.support.engine import Installation, install
from tests.support.stores import StoreSet
from tests.support.web import CATALOG, CHEAP, Site, make_settings
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.app import Backend, create_app
from webapp.engine.errors import WorkflowError
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.numbers import JsonObject
from webapp.web.deps import Migrations
from webapp.web.errors import status_of

Way = Literal["services", "rest"]


class ServicesDriver:
    """Calls the services in process."""

    def __init__(self, house: Installation) -> None:
        self.house = house
        self._people: dict[str, Actor] = {name: house.account(name) for name in PEOPLE}
        self._admin = self._people["admin"] = house.account("admin", ADMINISTRATOR)

    def publish(self, document: JsonObject) -> str:
        """Import the document and publish it."""
        draft = self.house.services.catalog.import_document(self._admin, document)
        return self.house.services.catalog.publish(self._admin, draft.id).name

    def start(self, name: str, variables: JsonObject) -> str:
        """Start the flow."""
        return self.house.services.instances.start(self._admin, name=name, variables=variables).instance.id

    def waiting(self, instance_id: str) -> list[str]:
        """Return the nodes of the open tasks."""
        kinds = self.house.services.instances.bookmarks(self._admin, instance_id).items
        return [one.node_id or "" for one in kinds if one.kind is BookmarkKind.USER_TASK]

    def decide(self, instance_id: str, node_id: str, who: str, outcome: str, **more: Any) -> tuple[int, str | None]:
        """Decide a task."""
        inbox, actor = self.house.services.inbox, self._people[who]
        (task,) = [one for one in inbox.query(actor).items if (one.instance_id, one.node_id) == (instance_id, node_id)]
        try:
            inbox.complete(actor, task.id, outcome, **more)
        except WorkflowError as refused:
            return status_of(refused), refused.code
        return 200, None

    def elapse(self, instance_id: str, node_id: str) -> None:
        """Move the clock to the node's deadline and poll."""
        (due,) = [
            one.due_at
            for one in self.house.services.instances.bookmarks(self._admin, instance_id).items
            if one.node_id == node_id and one.due_at is not None
        ]
        self.house.elapse((due - self.house.store_set.clock.now()).total_seconds())

    def instance(self, instance_id: str) -> JsonObject:
        """Return how the instance stands."""
        found = self.house.instance(instance_id)
        return {
            "status": found.status.value,
            "outcome": found.outcome,
            "variables": found.variables,
            "path": self.house.path(instance_id),
        }


class RestDriver:
    """Calls the REST API of a whole application."""

    def __init__(self, site: Site) -> None:
        self.site = site
        for name in PEOPLE:
            site.account(name)
        site.account("admin", ADMINISTRATOR)
        self._admin = site.caller("admin")

    def publish(self, document: JsonObject) -> str:
        """Import the document and publish it."""
        draft = self._admin.post("/definitions/import", document).expect(201)
        published = self._admin.post(f"/definitions/{draft['id']}/publish").expect(200)
        name: str = published["name"]
        return name

    def start(self, name: str, variables: JsonObject) -> str:
        """Start the flow."""
        started = self._admin.post("/instances", {"name": name, "variables": variables}).expect(201)
        instance_id: str = started["id"]
        return instance_id

    def waiting(self, instance_id: str) -> list[str]:
        """Return the nodes of the open tasks."""
        found = self._admin.get(f"/instances/{instance_id}/bookmarks").expect(200)["items"]
        return [one["nodeId"] for one in found if one["kind"] == "UserTask"]

    def decide(self, instance_id: str, node_id: str, who: str, outcome: str, **more: Any) -> tuple[int, str | None]:
        """Decide a task."""
        caller = self.site.caller(who)
        tasks = caller.get(f"/tasks?instanceId={instance_id}").expect(200)["items"]
        (task,) = [one for one in tasks if one["nodeId"] == node_id]
        answer = caller.post(f"/tasks/{task['id']}/complete", {"outcome": outcome, **more})
        return answer.status, answer.json.get("code")

    def elapse(self, instance_id: str, node_id: str) -> None:
        """Move the clock to the node's deadline and poll."""
        found = self._admin.get(f"/instances/{instance_id}/bookmarks").expect(200)["items"]
        (due,) = [one["dueAt"] for one in found if one["nodeId"] == node_id and one["dueAt"] is not None]
        left = datetime.fromisoformat(due) - self.site.clock.now()
        # The wire has milliseconds, the clock microseconds.
        self.site.clock.advance(left.total_seconds() + 0.001)
        self.site.services.housekeeping.poll_once()

    def instance(self, instance_id: str) -> JsonObject:
        """Return how the instance stands."""
        found = self._admin.get(f"/instances/{instance_id}").expect(200)
        nodes = self._admin.get(f"/instances/{instance_id}/nodes").expect(200)["items"]
        return {
            "status": found["status"],
            "outcome": found["outcome"],
            "variables": found["variables"],
            "path": [one["nodeId"] for one in nodes],
        }


def site_over(stores: StoreSet, folder: Path) -> Site:
    """Return a whole application over a set of stores."""
    backend = Backend(
        stores=stores.stores,
        leases=stores.leases,
        accounts=stores.accounts,
        migrations=Migrations(
            ping=lambda: None,
            check=lambda: None,
            upgrade=lambda: None,
            current=lambda: stores.kind,
            head=lambda: stores.kind,
        ),
    )
    app = create_app(make_settings(folder), backend=backend, clock=stores.clock, passwords=CHEAP, catalog=CATALOG)
    app.testing = False
    return Site(app, stores.clock)


@pytest.fixture(params=["services", "rest"])
def driver(request: pytest.FixtureRequest, stores: StoreSet, tmp_path: Path) -> Driver:
    """Each way over each set of stores."""
    if request.param == "services":
        return ServicesDriver(install(stores))
    return RestDriver(site_over(stores, tmp_path))
