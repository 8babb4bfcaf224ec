"""What a golden history is: the stored documents of a flow that stopped at waits, what to do, and what must come of it.

The documents are the stored form of the models, so a later engine reads what an earlier one wrote.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

import msgspec

from tests.services.subflows import crash
from tests.support.engine import ADMIN, Installation, actor
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import FollowUp, TaskRecord
from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.numbers import JsonObject, decode, encode
from webapp.engine.ports.stores import Stores, WriteSet
from webapp.services.external_tasks import TopicRequest

Model = TypeVar("Model", bound=msgspec.Struct)


class History(msgspec.Struct, rename="camel", kw_only=True):
    """One golden file."""

    about: str
    now: datetime
    """When it was recorded; times in the documents are around it."""
    definitions: list[JsonObject]
    instances: list[JsonObject]
    node_instances: list[JsonObject]
    bookmarks: list[JsonObject]
    """Those of definitions, which have no instance, included."""
    follow_ups: list[JsonObject]
    task_records: list[JsonObject]
    commands: list[list[Any]]
    expected: JsonObject


def read(text: bytes) -> History:
    """Return the history of a file; numbers as they were written."""
    return decode(text, History)


def write(history: History) -> bytes:
    """Return the text of a file."""
    return msgspec.json.format(encode(history), indent=1) + b"\n"


def documents(models: Any) -> list[JsonObject]:
    """Return models in their stored form."""
    return [decode(encode(model), dict) for model in models]


def load(history: History, stores: Stores) -> None:
    """Put a history into empty stores."""
    nodes = _models(history.node_instances, NodeInstance)
    bookmarks = _models(history.bookmarks, Bookmark)
    records = _models(history.task_records, TaskRecord)
    follow_ups = _models(history.follow_ups, FollowUp)
    with stores.writing(None) as work:
        for definition in _models(history.definitions, WorkflowDefinition):
            work.definitions.insert(None, definition)
        for instance in _models(history.instances, WorkflowInstance):
            own = [one for one in bookmarks if one.instance_id == instance.id]
            written = WriteSet(
                partition=None,
                instance=instance,
                is_new=True,
                node_instances=[one for one in nodes if one.instance_id == instance.id],
                new_bookmarks=own,
                task_records=[one for one in records if one.instance_id == instance.id],
            )
            work.apply(written)
        work.apply(
            WriteSet(
                partition=None,
                new_bookmarks=[one for one in bookmarks if one.instance_id is None],
                new_follow_ups=follow_ups,
            )
        )


def _models(found: list[JsonObject], model: type[Model]) -> list[Model]:
    return [decode(encode(document), model) for document in found]


class Player:
    """Carries out the commands of a history: lists of a name and its arguments."""

    def __init__(self, house: Installation) -> None:
        self.house = house

    def play(self, commands: list[list[Any]]) -> None:
        """Do one after the other."""
        for name, *arguments in commands:
            getattr(self, f"do_{name}")(*arguments)

    def do_crash(self) -> None:
        """Let the process die after each commit from now on, before its follow-ups run."""
        crash(self.house)

    def do_start(self, name: str, variables: JsonObject | None = None, correlation_id: str | None = None) -> None:
        """Start a flow."""
        self.house.start(name, variables, correlation_id=correlation_id)

    def do_decide(self, who: str, outcome: str) -> None:
        """Decide the one task that somebody has."""
        self.house.decide(who, outcome)

    def do_claim(self, who: str, group: str) -> None:
        """Take the one task of a group, as its member."""
        member = actor(who, "user", group.partition(":")[2])
        self.house.services.inbox.claim(member, self.house.task(group).id)

    def do_transfer(self, who: str, to: str) -> None:
        """Hand a task over."""
        self.house.services.inbox.transfer(actor(who), self.house.task(who).id, to)

    def do_return(self, who: str, node_id: str) -> None:
        """Send a task back."""
        self.house.services.returns.return_task(
            actor(who), self.house.task(who).id, to_node_id=node_id, comment="again", resubmit="direct"
        )

    def do_elapse(self, seconds: float) -> None:
        """Let time pass; the poller and the job for timers run once."""
        self.house.elapse(float(seconds))
        self.house.services.housekeeping.run_timers()

    def do_signal(self, name: str, payload: JsonObject, correlation_id: str | None = None) -> None:
        """Publish a signal."""
        self.house.services.signals.publish(ADMIN, name, payload, correlation_id=correlation_id)

    def do_fetch(self, topic: str, seconds: int) -> None:
        """Lock the tasks of a topic as the worker w1."""
        wanted = [TopicRequest(topic=topic, lock_seconds=seconds)]
        self.house.services.external_tasks.fetch_and_lock(ADMIN, "w1", wanted, 10)

    def do_work(self, variables: JsonObject) -> None:
        """Complete the one external task as the worker w1 that has locked it."""
        with self.house.store_set.stores.reading(None) as work:
            instances = [one.id for one in self.house.services.instances.query(ADMIN).items]
            (task,) = [
                mark
                for one in instances
                for mark in work.bookmarks.by_instance(None, one)
                if mark.kind is BookmarkKind.EXTERNAL_TASK
            ]
        self.house.services.external_tasks.complete(ADMIN, task.id, "w1", variables)

    def do_retry(self) -> None:
        """Retry the one top-level instance."""
        self.house.services.instances.retry(ADMIN, self._root())

    def do_suspend(self) -> None:
        """Suspend it."""
        self.house.services.operations.suspend(ADMIN, self._root())

    def do_resume(self) -> None:
        """Let it go on."""
        self.house.services.operations.resume(ADMIN, self._root())

    def do_cancel(self) -> None:
        """Cancel it."""
        self.house.services.instances.cancel(ADMIN, self._root(), "enough")

    def _root(self) -> str:
        (found,) = [one for one in self.house.services.instances.query(ADMIN).items if one.parent_instance_id is None]
        return found.id


def outcome_of(house: Installation, asked: JsonObject) -> JsonObject:
    """Return of what the installation holds that which is *asked* for, in its shape."""
    instances = [house.instance(one.id) for one in house.services.instances.query(ADMIN).items]
    roots = [one for one in instances if one.parent_instance_id is None]
    children = sorted(f"{one.definition_name} {one.status.value}" for one in instances if one.parent_instance_id)
    root = min(roots, key=lambda one: (one.created_at, one.id))
    variables = decode(encode(root.variables), dict)
    found: JsonObject = {
        "status": root.status.value,
        "outcome": root.outcome,
        "fault": None if root.fault is None else root.fault.key,
        "path": [f"{one.node_id} {one.status.value} {one.try_count}" for one in house.nodes(root.id)],
        "variables": {name: variables.get(name) for name in asked.get("variables", {})},
        "children": children,
        "roots": len(roots),
        "holders": sorted(mark.key or "" for mark in house.bookmarks(root.id, BookmarkKind.USER_TASK)),
        "waiting": sorted(mark.kind.value for one in instances for mark in house.bookmarks(one.id)),
    }
    return {name: found[name] for name in asked}
