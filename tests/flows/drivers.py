"""The two ways to the product, in process and over REST."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec

from tests.flows.scenarios import GROUPS, PEOPLE
from tests.support.engine import Installation
from tests.support.web import Answer, Caller, Site
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR, USER, WORKER
from webapp.engine.errors import WorkflowError
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.jumping import Jump
from webapp.engine.runtime.migration import Migration
from webapp.services.calendars import WorkCalendar
from webapp.services.external_tasks import TopicRequest
from webapp.services.housekeeping import HousekeepingService
from webapp.services.queries import BookmarkSummary, InstanceQuery, TaskSummary
from webapp.web.errors import status_of
from webapp.web.wire import optional_instant

DEADLINES = (
    BookmarkKind.NODE_TIMEOUT,
    BookmarkKind.INSTANCE_TIMEOUT,
    BookmarkKind.RETRY,
    BookmarkKind.REMINDER,
)
"""What is due beside the thing that is waited for."""

Way = Literal["services", "rest"]
Refusal = tuple[int, str | None]
POLLS = 5


def _poll(housekeeping: HousekeepingService) -> None:
    """Do what is due, and what that makes due."""
    for _ in range(POLLS):
        housekeeping.poll_once()
        housekeeping.run_timers()


def _tried(call: Callable[[], object]) -> Refusal:
    try:
        call()
    except WorkflowError as refused:
        return status_of(refused), refused.code
    return 200, None


def _answered(answer: Answer) -> Refusal:
    return answer.status, answer.json.get("code")


class ServicesDriver:
    """Calls the services in process."""

    def __init__(self, house: Installation) -> None:
        self.house = house
        self._people: dict[str, Actor] = {name: house.account(name, USER, *GROUPS.get(name, ())) for name in PEOPLE}
        self._admin = self._people["admin"] = house.account("admin", ADMINISTRATOR)
        self._worker = house.account("worker", WORKER)
        self._seen: dict[tuple[str, str], str] = {}

    def publish(self, document: JsonObject) -> str:
        """Import the document and publish it."""
        draft = self.house.services.catalog.import_document(self._admin, document)
        return self.house.services.catalog.publish(self._admin, draft.id).name

    def start(self, name: str, variables: JsonObject, correlation_id: str | None, who: str) -> str:
        """Start the flow."""
        started = self.house.services.instances.start(
            self._people[who], name=name, variables=variables, correlation_id=correlation_id
        )
        return started.instance.id

    def waiting(self, instance_id: str) -> list[str]:
        """Return the nodes that wait for something."""
        return [one.node_id or "" for one in self._waits(instance_id) if one.kind not in DEADLINES]

    def due(self, instance_id: str) -> Iterator[tuple[str, str, datetime]]:
        """Return node, kind and due time of what is due some time, of descendants too."""
        for each in (instance_id, *(found["id"] for found in self.family(instance_id))):
            for one in self._waits(each):
                if one.due_at is not None:
                    yield one.node_id or "", one.kind, one.due_at

    def task_due(self, node_id: str, who: str) -> str | None:
        """Return the due date of a task."""
        task = self._task(node_id, who, "")
        return None if task is None else optional_instant(task.due_at)

    def decide(self, node_id: str, who: str, outcome: str, title: str, **more: Any) -> Refusal | None:
        """Decide a task."""
        task = self._task(node_id, who, title)
        inbox = self.house.services.inbox
        return None if task is None else _tried(lambda: inbox.complete(self._people[who], task.id, outcome, **more))

    def act(self, action: str, node_id: str, who: str, of: str, title: str, **more: Any) -> Refusal | None:
        """Do something else with a task."""
        if action == "recall":
            task_id = self._seen[node_id, of]
        else:
            task = self._task(node_id, of, title)
            if task is None:
                return None
            task_id = task.id
        actor = self._people[who]
        inbox, returns = self.house.services.inbox, self.house.services.returns
        calls: dict[str, Callable[[], object]] = {
            "claim": lambda: inbox.claim(actor, task_id),
            "release": lambda: inbox.release(actor, task_id),
            "transfer": lambda: inbox.transfer(actor, task_id, **more),
            "delegate": lambda: inbox.delegate(actor, task_id, **more),
            "urge": lambda: inbox.urge(actor, task_id, **more),
            "add": lambda: inbox.add(actor, task_id, more.pop("assignees"), **more),
            "remove": lambda: inbox.remove(actor, task_id, more.pop("assignees"), **more),
            "recall": lambda: returns.recall(actor, task_id),
            "return": lambda: returns.return_task(
                actor,
                task_id,
                comment=more["comment"],
                to_node_id=more.get("toNodeId"),
                resubmit=more.get("resubmit"),
            ),
        }
        return _tried(calls[action])

    def operate(self, action: str, instance_id: str, who: str, body: JsonObject) -> Refusal:
        """Do something with the whole instance."""
        services, actor = self.house.services, self._people[who]
        operations = services.operations
        snake = {"toNodeId": "to_node_id", "fromNodeId": "from_node_id", "nodeMapping": "node_mapping"}
        more = {snake.get(name, name): value for name, value in body.items()}
        calls: dict[str, Callable[[], object]] = {
            "suspend": lambda: operations.suspend(actor, instance_id, **more),
            "resume": lambda: operations.resume(actor, instance_id, **more),
            "terminate": lambda: operations.terminate(actor, instance_id, **more),
            "cancel": lambda: services.instances.cancel(actor, instance_id, **more),
            "retry": lambda: services.instances.retry(actor, instance_id, **more),
            "withdraw": lambda: services.returns.withdraw(actor, instance_id, **more),
            "jump": lambda: operations.jump(actor, instance_id, Jump(**more)),
            "migrate": lambda: operations.migrate(actor, instance_id, more.pop("version"), Migration(**more)),
            "variables": lambda: operations.update_variables(
                actor, instance_id, values=more.get("set"), removed=more.get("remove", ())
            ),
        }
        return _tried(calls[action])

    def work(self, topic: str, **result: Any) -> JsonObject:
        """Do the topic's one task; return what it gave."""
        external = self.house.services.external_tasks
        (task,) = external.fetch_and_lock(self._worker, WORKER, [TopicRequest(topic=topic, lock_seconds=60)], 10).items
        (external.fail if "error" in result else external.complete)(self._worker, task.id, WORKER, **result)
        return task.variables

    def signal(self, name: str, payload: JsonObject, correlation_id: str | None) -> int:
        """Publish a signal; return how many it resumed."""
        published = self.house.services.signals.publish(self._admin, name, payload, correlation_id=correlation_id)
        return published.resumed

    def now(self) -> datetime:
        """Return the time of the clock."""
        return self.house.store_set.clock.now()

    def advance(self, seconds: float) -> None:
        """Move the clock and poll."""
        self.house.store_set.clock.advance(seconds)
        _poll(self.house.services.housekeeping)

    def calendar(self, document: JsonObject) -> None:
        """Make a work calendar."""
        made = msgspec.convert(document, WorkCalendar)
        self.house.services.calendars.create(self._admin, made)

    def family(self, instance_id: str) -> list[JsonObject]:
        """Return the descendants."""
        found = self.house.services.instances.children(self._admin, instance_id).items
        return [
            each
            for one in found
            for each in (
                {"id": one.id, "definitionName": one.definition_name, "status": one.status.value},
                *self.family(one.id),
            )
        ]

    def scheduled(self, name: str) -> list[str | None]:
        """Return for which times the instances of a flow were started, oldest first."""
        found = self.house.services.instances.query(self._admin, InstanceQuery(definition_name=name)).items
        times = [self.house.instance(one.id).scheduled_at for one in reversed(found)]
        return [optional_instant(one) for one in times]

    def instance(self, instance_id: str) -> JsonObject:
        """Return how the instance stands."""
        found = self.house.instance(instance_id)
        return {
            "status": found.status.value,
            "outcome": found.outcome,
            "variables": found.variables,
            "cancellationReason": found.cancellation_reason,
            "fault": None if found.fault is None else msgspec.to_builtins(found.fault),
            "path": self.house.path(instance_id),
            "nodes": {one.node_id: one.status.value for one in self.house.nodes(instance_id)},
        }

    def _waits(self, instance_id: str) -> list[BookmarkSummary]:
        return self.house.services.instances.bookmarks(self._admin, instance_id).items

    def _task(self, node_id: str, who: str, title: str) -> TaskSummary | None:
        inbox, actor = self.house.services.inbox, self._people[who]
        for scope in ("mine", "claimable"):
            found = [
                one for one in inbox.query(actor, scope=scope).items if _is(one.node_id, one.title)(node_id, title)
            ]
            if found:
                (task,) = found
                self._seen[node_id, who] = task.id
                return task
        return None


def _is(node_id: str, title: str) -> Callable[[str, str], bool]:
    return lambda wanted, part: node_id == wanted and part in title


class RestDriver:
    """Calls the REST API of a whole application."""

    def __init__(self, site: Site) -> None:
        self.site = site
        for name in PEOPLE:
            site.account(name, USER, *GROUPS.get(name, ()))
        site.account("admin", ADMINISTRATOR)
        self._admin = site.caller("admin")
        site.account("worker", WORKER)
        self._worker = site.caller("worker")
        self._seen: dict[tuple[str, str], str] = {}

    def publish(self, document: JsonObject) -> str:
        """Import the document and publish it."""
        draft = self._admin.post("/definitions/import", document).expect(201)
        published = self._admin.post(f"/definitions/{draft['id']}/publish").expect(200)
        name: str = published["name"]
        return name

    def start(self, name: str, variables: JsonObject, correlation_id: str | None, who: str) -> str:
        """Start the flow."""
        asked = {"name": name, "variables": variables, "correlationId": correlation_id}
        instance_id: str = self.site.caller(who).post("/instances", asked).expect(201)["id"]
        return instance_id

    def waiting(self, instance_id: str) -> list[str]:
        """Return the nodes that wait for something."""
        return [one["nodeId"] for one in self._waits(instance_id) if one["kind"] not in DEADLINES]

    def due(self, instance_id: str) -> Iterator[tuple[str, str, datetime]]:
        """Return node, kind and due time of what is due some time, of descendants too."""
        for each in (instance_id, *(found["id"] for found in self.family(instance_id))):
            for one in self._waits(each):
                if one["dueAt"] is not None:
                    yield one["nodeId"] or "", one["kind"], datetime.fromisoformat(one["dueAt"])

    def task_due(self, node_id: str, who: str) -> str | None:
        """Return the due date of a task."""
        task = self._task(node_id, who, "")
        found: str | None = None if task is None else task["dueAt"]
        return found

    def decide(self, node_id: str, who: str, outcome: str, title: str, **more: Any) -> Refusal | None:
        """Decide a task."""
        task = self._task(node_id, who, title)
        if task is None:
            return None
        return _answered(self.site.caller(who).post(f"/tasks/{task['id']}/complete", {"outcome": outcome, **more}))

    def act(self, action: str, node_id: str, who: str, of: str, title: str, **more: Any) -> Refusal | None:
        """Do something else with a task."""
        task_id = self._seen.get((node_id, of))
        if action != "recall":
            task = self._task(node_id, of, title)
            if task is None:
                return None
            task_id = task["id"]
        return _answered(self.site.caller(who).post(f"/tasks/{task_id}/{action}", more or None))

    def operate(self, action: str, instance_id: str, who: str, body: JsonObject) -> Refusal:
        """Do something with the whole instance."""
        caller: Caller = self.site.caller(who)
        send = caller.patch if action == "variables" else caller.post
        return _answered(send(f"/instances/{instance_id}/{action}", body or None))

    def work(self, topic: str, **result: Any) -> JsonObject:
        """Do the topic's one task; return what it gave."""
        asked = {"workerId": WORKER, "topics": [{"topic": topic, "lockSeconds": 60}], "maxTasks": 10}
        (task,) = self._worker.post("/external-tasks/fetch-and-lock", asked).expect(200)["items"]
        action = "fail" if "error" in result else "complete"
        self._worker.post(f"/external-tasks/{task['id']}/{action}", {"workerId": WORKER, **result}).expect(200)
        given: JsonObject = task["variables"]
        return given

    def signal(self, name: str, payload: JsonObject, correlation_id: str | None) -> int:
        """Publish a signal; return how many it resumed."""
        told = self._admin.post(f"/signals/{name}", {"payload": payload, "correlationId": correlation_id}).expect(200)
        resumed: int = told["resumed"]
        return resumed

    def now(self) -> datetime:
        """Return the time of the clock."""
        return self.site.clock.now()

    def advance(self, seconds: float) -> None:
        """Move the clock and poll."""
        self.site.clock.advance(seconds)
        _poll(self.site.services.housekeeping)

    def calendar(self, document: JsonObject) -> None:
        """Make a work calendar."""
        self._admin.post("/calendars", document).expect(201)

    def family(self, instance_id: str) -> list[JsonObject]:
        """Return the descendants."""
        found = self._admin.get(f"/instances?parentId={instance_id}&sort=createdAt").expect(200)["items"]
        return [each for one in found for each in (one, *self.family(one["id"]))]

    def scheduled(self, name: str) -> list[str | None]:
        """Return for which times the instances of a flow were started, oldest first."""
        found = self._admin.get(f"/instances?definitionName={name}&sort=createdAt").expect(200)["items"]
        return [self._admin.get(f"/instances/{one['id']}").expect(200)["scheduledAt"] for one in found]

    def instance(self, instance_id: str) -> JsonObject:
        """Return how the instance stands."""
        found = self._admin.get(f"/instances/{instance_id}").expect(200)
        nodes = self._admin.get(f"/instances/{instance_id}/nodes").expect(200)["items"]
        members = ("status", "outcome", "variables", "cancellationReason", "fault")
        return {
            **{name: found[name] for name in members},
            "path": [one["nodeId"] for one in nodes],
            "nodes": {one["nodeId"]: one["status"] for one in nodes},
        }

    def _waits(self, instance_id: str) -> list[JsonObject]:
        found: list[JsonObject] = self._admin.get(f"/instances/{instance_id}/bookmarks").expect(200)["items"]
        return found

    def _task(self, node_id: str, who: str, title: str) -> JsonObject | None:
        for scope in ("mine", "claimable"):
            listed = self.site.caller(who).get(f"/tasks?scope={scope}").expect(200)["items"]
            found: list[JsonObject] = [one for one in listed if _is(one["nodeId"], one["title"])(node_id, title)]
            if found:
                (task,) = found
                self._seen[node_id, who] = task["id"]
                return task
        return None
