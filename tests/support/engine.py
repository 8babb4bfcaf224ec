"""An installation in process: engine, services, recorded events and the test activities of spec 20."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.stores import StoreSet
from webapp.accounts.model import Actor
from webapp.accounts.passwords import Passwords
from webapp.accounts.permissions import ADMINISTRATOR, USER, permissions_of
from webapp.accounts.secret_box import SecretBox
from webapp.engine.activities.api import Activity, ActivityContext, ActivityOutcome, Complete, Fault
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN
from webapp.engine.clock import SystemIds
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED, OperationCancelled
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import Event
from webapp.engine.instances.model import NodeInstance, WorkflowFault, WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.channels import Channel
from webapp.engine.ports.messaging import Subscriptions
from webapp.engine.ports.outcomes import OutcomeHandler
from webapp.engine.ports.stores import Partition
from webapp.engine.runtime.commands import EngineOptions
from webapp.engine.runtime.engine import Engine
from webapp.services import Services, ServiceSettings, build_services
from webapp.services.calendars import CalendarCopy
from webapp.services.directory import AccountDirectory
from webapp.services.queries import TaskQuery, TaskSummary


def actor(name: str, *roles: str, partition: str | None = None) -> Actor:
    """Return an actor; without roles one that has the role ``user``."""
    chosen = roles or (USER,)
    return Actor(
        account_id=f"id-of-{name}",
        name=name,
        display_name=name.title(),
        partition=partition,
        roles=chosen,
        permissions=permissions_of(chosen),
        request_id=f"request-of-{name}",
    )


ADMIN = actor("admin", ADMINISTRATOR)


class TestFlaky:
    """Faults while its try count is below ``SucceedOnAttempt`` (default 1), then completes."""

    __test__ = False
    descriptor = ActivityDescriptor(
        type="TestFlaky",
        category=Category.CUSTOM,
        icon="zap",
        custom=True,
        properties=(
            PropertyDescriptor(name="SucceedOnAttempt", editor=Editor.NUMBER, kind=Kind.LITERAL, type="number"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Fail or complete."""
        if context.try_count < context.literal("SucceedOnAttempt", 1):
            text = f"attempt {context.try_count} doomed"
            return Fault(fault=WorkflowFault(code=UNEXPECTED, key="workflow.activity.exception", args={"text": text}))
        return Complete(outputs={"flakyDone": True})


class TestCancellation:
    """Always raises a cancellation, although nobody cancelled the call."""

    __test__ = False
    descriptor = ActivityDescriptor(type="TestCancellation", category=Category.CUSTOM, icon="x", custom=True)

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Raise."""
        raise OperationCancelled("cancelled inside the activity")


class TestCompensable:
    """Completes; its compensation notes the node's id, and fails for the ids in ``refuses``."""

    __test__ = False
    descriptor = ActivityDescriptor(
        type="TestCompensable",
        category=Category.CUSTOM,
        icon="undo-2",
        custom=True,
        properties=(PropertyDescriptor(name="Output", editor=Editor.EXPRESSION, kind=Kind.EXPRESSION),),
    )

    def __init__(self) -> None:
        self.undone: list[str] = []
        self.refuses: set[str] = set()

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Complete, and keep what it has done for the undoing."""
        value = context.evaluate("Output")
        context.state["done"] = value
        return Complete(outputs={} if value is None else {context.node_id: value})

    def compensate(self, context: ActivityContext) -> None:
        """Undo."""
        done = context.state["done"]
        context.state["done"] = "undone"
        if context.node_id in self.refuses:
            raise RuntimeError(f"{context.node_id} cannot be undone")
        self.undone.append(context.node_id if done is None else f"{context.node_id} {done}")


TEST_ACTIVITIES: tuple[Activity, ...] = (TestFlaky(), TestCancellation())


class RecordingPublisher:
    """Keeps the events of committed waves in the order of their publication."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def publish(self, partition: Partition, events: Sequence[Event]) -> None:
        """Keep events."""
        self.events.extend(events)

    def topics(self) -> list[str]:
        """Return the topics so far."""
        return [event.topic for event in self.events]

    def of(self, topic: str) -> list[JsonObject]:
        """Return the data of each event of a topic."""
        return [event.data for event in self.events if event.topic == topic]


@dataclass
class Installation:
    """Services over one set of stores; no poller runs, tests call it."""

    store_set: StoreSet
    services: Services
    engine: Engine
    publisher: RecordingPublisher
    pauses: list[float] = field(default_factory=list)

    def account(self, name: str, *roles: str, partition: str | None = None, **more: Any) -> Actor:
        """Make an account without a password and return it as an actor."""
        made = self.services.accounts.create(name=name, roles=roles, tenant_id=partition, **more)
        return self.services.accounts.actor(made, request_id=f"request-of-{name}")

    def publish(self, document: JsonObject, by: Actor = ADMIN) -> WorkflowDefinition:
        """Create a definition and publish it."""
        draft = self.services.catalog.create(by, document)
        return self.services.catalog.publish(by, draft.id)

    def start(self, name: str, variables: JsonObject | None = None, by: Actor = ADMIN, **more: Any) -> WorkflowInstance:
        """Start the latest published version and return the instance after its first wave."""
        return self.services.instances.start(by, name=name, variables=variables or {}, **more).instance

    def instance(self, instance_id: str, by: Actor = ADMIN) -> WorkflowInstance:
        """Return the instance as it is stored now."""
        return self.services.instances.get(by, instance_id)

    def nodes(self, instance_id: str) -> list[NodeInstance]:
        """Return the executed nodes in the order of their creation."""
        return self.services.instances.nodes(ADMIN, instance_id).items

    def path(self, instance_id: str) -> list[str]:
        """Return the ids of the executed nodes in the order of their creation."""
        return [node.node_id for node in self.nodes(instance_id)]

    def bookmarks(self, instance_id: str, kind: BookmarkKind | None = None) -> list[Bookmark]:
        """Return the waiting points of the instance, payloads included."""
        with self.store_set.stores.reading(None) as work:
            found = work.bookmarks.by_instance(None, instance_id)
        return [one for one in found if kind is None or one.kind is kind]

    def tasks(self, assignee: str) -> list[TaskSummary]:
        """Return the open tasks of somebody."""
        return self.services.inbox.query(ADMIN, TaskQuery(assignee=assignee)).items

    def task(self, assignee: str) -> TaskSummary:
        """Return somebody's one open task."""
        (found,) = self.tasks(assignee)
        return found

    def decide(self, assignee: str, outcome: str, **more: Any) -> WorkflowInstance:
        """Have somebody decide the one task he has, and return the instance afterwards."""
        task = self.task(assignee)
        self.services.inbox.complete(actor(assignee), task.id, outcome, **more)
        return self.instance(task.instance_id)

    def elapse(self, seconds: float) -> None:
        """Let time pass and poll once."""
        self.store_set.clock.advance(seconds)
        self.services.housekeeping.poll_once()


def install(
    store_set: StoreSet,
    *,
    activities: Iterable[Activity] = (),
    options: EngineOptions | None = None,
    settings: ServiceSettings | None = None,
    outcome_handlers: Sequence[OutcomeHandler] = (),
    subscriptions: Subscriptions | None = None,
    channels: Sequence[Channel] = (),
    **notices: Any,
) -> Installation:
    """Put an installation together over these stores; pauses between attempts are noted, not slept.

    *notices*: whatever else ``build_services`` takes (listeners, the applicant resolver, endpoints …).
    """
    clock, ids = store_set.clock, SystemIds()
    directory = AccountDirectory(store_set.accounts, clock)
    calendars = CalendarCopy(store_set.calendars, clock)
    engine = Engine(
        registry=ActivityRegistry((*BUILTIN, *TEST_ACTIVITIES, *activities)),
        evaluator=ExpressionEvaluator(clock),
        clock=clock,
        ids=ids,
        options=options or EngineOptions(),
        directory=directory,
        outcome_handlers=outcome_handlers,
        calendars=calendars,
    )
    publisher = RecordingPublisher()
    pauses: list[float] = []
    services = build_services(
        stores=store_set.stores,
        leases=store_set.leases,
        accounts=store_set.accounts,
        engine=engine,
        directory=directory,
        calendars=store_set.calendars,
        calendar_copy=calendars,
        notice_settings=store_set.notice_settings,
        publisher=publisher,
        clock=clock,
        ids=ids,
        settings=settings,
        passwords=Passwords(memory_kib=8, passes=1),
        subscriptions=subscriptions,
        channels=channels,
        link_key="a key for tests only",
        secret_box=SecretBox(notices.pop("secret_keys", ["an encryption key for tests"])),
        tenants=store_set.tenants,
        databases=store_set.databases,
        pause=pauses.append,
        **notices,
    )
    return Installation(store_set, services, engine, publisher, pauses)
