"""The engine alone: waves are applied to plain dicts, each record through its stored form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from tests.support.clock import FakeClock
from webapp.engine.activities.api import Activity, ActivityContext, ActivityOutcome, Complete, Fault, ResumeInput
from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.assignees import BUILTIN_PROVIDERS, AssigneeProvider
from webapp.engine.builtin import BUILTIN
from webapp.engine.definitions.model import DefinitionStatus, WorkflowDefinition
from webapp.engine.descriptors import ActivityDescriptor, Category, OutgoingMode
from webapp.engine.errors import UNEXPECTED
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, EndReason, Event, LogLine, TaskRecord
from webapp.engine.instances.model import NodeInstance, NodeStatus, WorkflowFault, WorkflowInstance
from webapp.engine.instances.requests import StartRequest
from webapp.engine.numbers import JsonObject, decode, encode
from webapp.engine.ports.directory import Directory
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.engine import Command, Engine, EngineOptions, Wave

Model = TypeVar("Model", bound=msgspec.Struct)


class CountingIds:
    """Ids that tell their order: ``id-1``, ``id-2`` …"""

    def __init__(self) -> None:
        self.count = 0

    def new(self) -> str:
        """Return the next id."""
        self.count += 1
        return f"id-{self.count}"


class World:
    """An engine with a clock that only moves when told to."""

    def __init__(
        self,
        *,
        activities: Iterable[Activity] = (),
        options: EngineOptions | None = None,
        providers: Sequence[AssigneeProvider] = BUILTIN_PROVIDERS,
        directory: Directory | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.engine = Engine(
            registry=ActivityRegistry([*BUILTIN, *activities]),
            evaluator=ExpressionEvaluator(self.clock),
            clock=self.clock,
            ids=CountingIds(),
            options=options or EngineOptions(),
            assignee_providers=providers,
            directory=directory,
        )

    def compile(self, document: JsonObject) -> CompiledDefinition:
        """Return a definition document as a published, compiled definition."""
        definition = msgspec.convert(
            {"id": f"def-{document['name']}", "status": DefinitionStatus.PUBLISHED, **document}, WorkflowDefinition
        )
        return self.engine.compile(definition)

    def start(
        self,
        document: JsonObject,
        variables: JsonObject | None = None,
        *,
        partition: str | None = None,
        **request: Any,
    ) -> Run:
        """Start an instance of a document."""
        request.setdefault("starter_id", "starter")
        return Run(self, self.compile(document), StartRequest(variables=variables or {}, **request), partition)


class Run:
    """One instance and what a store would hold of it."""

    def __init__(
        self, world: World, compiled: CompiledDefinition, request: StartRequest, partition: str | None = None
    ) -> None:
        self.world = world
        self.compiled = compiled
        self.nodes: dict[str, NodeInstance] = {}
        self.bookmarks: dict[str, Bookmark] = {}
        self.records: dict[tuple[str, int], TaskRecord] = {}
        self.copies: list[tuple[str, str]] = []
        self.audit: list[AuditEntry] = []
        self.events: list[Event] = []
        self.log_lines: list[LogLine] = []
        self.last: Wave
        self.instance: WorkflowInstance
        self._commands = 0
        self.apply(world.engine.start(compiled, request, self.command("start"), partition))

    def command(self, action: str, actor: str | None = "starter", **more: Any) -> Command:
        """Return a command with an id of its own."""
        self._commands += 1
        return Command(id=f"command-{self._commands}", action=action, actor_id=actor, **more)

    # --- what can be done -------------------------------------------------------------------

    def resume(self, bookmark: Bookmark | str, inputs: JsonObject | None = None, *, key: str | None = None) -> Run:
        """Resume a bookmark as spec 3.16 says."""
        bookmark_id = bookmark if isinstance(bookmark, str) else bookmark.id
        wave = self.world.engine.resume(
            self.snapshot(), self.compiled, bookmark_id, inputs or {}, self.command("resume"), expected_key=key
        )
        return self.apply(wave)

    def due(self, *bookmarks: Bookmark | str) -> Run:
        """Run due bookmarks as the poller does; without any, all that are due."""
        now = self.world.clock.now()
        ids = [one if isinstance(one, str) else one.id for one in bookmarks] or [
            one.id for one in self.bookmarks.values() if one.due_at is not None and one.due_at <= now
        ]
        wave = self.world.engine.due(self.snapshot(), self.compiled, ids, self.command("due", None))
        return self.apply(wave)

    def retry(self, reason: str | None = None) -> Run:
        """Retry the instance."""
        wave = self.world.engine.retry(self.snapshot(), self.compiled, self.command("retry"), reason=reason)
        return self.apply(wave)

    def cancel(self, reason: str | None = None) -> Run:
        """Cancel the instance."""
        wave = self.world.engine.cancel(self.snapshot(), self.compiled, self.command("cancel"), reason=reason)
        return self.apply(wave)

    def decide(
        self,
        task: Bookmark | str,
        actor: str,
        outcome: str = "approved",
        *,
        comment: str | None = None,
        variables: JsonObject | None = None,
        **command: Any,
    ) -> Run:
        """Complete a task."""
        wave = self.world.engine.complete_task(
            self.snapshot(),
            self.compiled,
            task if isinstance(task, str) else task.id,
            outcome=outcome,
            comment=comment,
            variables=variables,
            command=self.command("complete", actor, **command),
        )
        return self.apply(wave)

    def approve(self, actor: str, outcome: str = "approved", **more: Any) -> Run:
        """Complete the one open task of *actor*."""
        return self.decide(self.task(actor), actor, outcome, **more)

    def transfer(self, task: Bookmark, actor: str, to: str, comment: str | None = None, **command: Any) -> Run:
        """Hand a task over."""
        wave = self.world.engine.transfer_task(
            self.snapshot(),
            self.compiled,
            task.id,
            to=to,
            comment=comment,
            command=self.command("transfer", actor, **command),
        )
        return self.apply(wave)

    def add(
        self, task: Bookmark, actor: str, *assignees: str, comment: str | None = None, position: str = "parallel"
    ) -> Run:
        """Add signers."""
        wave = self.world.engine.add_signers(
            self.snapshot(),
            self.compiled,
            task.id,
            assignees=assignees,
            position=position,
            comment=comment,
            command=self.command("add", actor),
        )
        return self.apply(wave)

    # --- what it looks like -----------------------------------------------------------------

    @property
    def path(self) -> list[str]:
        """The ids of the executed nodes in the order of their creation."""
        return [node.node_id for node in sorted(self.nodes.values(), key=lambda node: node.sequence)]

    @property
    def topics(self) -> list[str]:
        """The topics of all events so far, without ``workflow.``, nodes in brackets."""
        return [_topic(event) for event in self.events]

    def node(self, node_id: str) -> NodeInstance:
        """Return the latest node instance of a node."""
        return [node for node in self.nodes.values() if node.node_id == node_id][-1]

    def only(self, kind: BookmarkKind) -> Bookmark:
        """Return the one bookmark of a kind."""
        (found,) = [bookmark for bookmark in self.bookmarks.values() if bookmark.kind is kind]
        return found

    def tasks(self) -> list[Bookmark]:
        """Return the open tasks in the order of their creation."""
        found = [bookmark for bookmark in self.bookmarks.values() if bookmark.kind is BookmarkKind.USER_TASK]
        return sorted(found, key=lambda bookmark: bookmark.sequence)

    def holders(self) -> list[str | None]:
        """Return the assignees of the open tasks."""
        return [task.key for task in self.tasks()]

    def task(self, assignee: str) -> Bookmark:
        """Return the one open task of somebody."""
        (found,) = [task for task in self.tasks() if task.key == assignee]
        return found

    def rounds(self) -> list[tuple[str, EndReason | None]]:
        """Return each task round as (assignee, end reason), in the order of their creation."""
        records = sorted(self.records.values(), key=lambda record: record.sequence)
        return [(record.assignee_id, record.end_reason) for record in records]

    # --- the store --------------------------------------------------------------------------

    def snapshot(self) -> InstanceSnapshot:
        """Return what a store would hand to a wave: fresh copies."""
        waiting = {bookmark.node_instance_id for bookmark in self.bookmarks.values()}
        wanted = [
            node
            for node in self.nodes.values()
            if node.status in (NodeStatus.RUNNING, NodeStatus.SUSPENDED)
            or node.id in waiting
            or node.id == self.instance.fault_node_instance_id
        ]
        return InstanceSnapshot(
            instance=_stored(self.instance),
            node_instances=[_stored(node) for node in wanted],
            bookmarks=[_stored(bookmark) for bookmark in self.bookmarks.values()],
        )

    def apply(self, wave: Wave) -> Run:
        """Store what a wave did."""
        written = wave.write_set
        self.last = wave
        if written.instance is None:
            return self
        assert written.expected_revision == (0 if written.is_new else self.instance.revision)
        assert written.instance.revision == written.expected_revision + 1
        self.instance = _stored(written.instance)
        self.nodes.update((node.id, _stored(node)) for node in written.node_instances)
        for bookmark_id in written.deleted_bookmark_ids:
            del self.bookmarks[bookmark_id]
        for bookmark in written.changed_bookmarks:
            assert bookmark.id in self.bookmarks
        for bookmark in [*written.new_bookmarks, *written.changed_bookmarks]:
            self.bookmarks[bookmark.id] = _stored(bookmark)
        self._apply_journal(wave)
        return self

    def _apply_journal(self, wave: Wave) -> None:
        written = wave.write_set
        for record in written.task_records:
            assert (record.task_id, record.round) not in self.records
            self.records[(record.task_id, record.round)] = _stored(record)
        for end in written.task_ends:
            record = self.records[(end.task_id, end.round)]
            assert record.end_reason is None
            for name in ("ended_at", "end_reason", "actor_id", "on_behalf_of", "as_operator", "outcome", "comment"):
                setattr(record, name, getattr(end, name))
        self.copies += [(copy.task_id, copy.user_id) for copy in written.task_copies]
        self.audit += [_stored(entry) for entry in written.audit]
        self.events += [_stored(event) for event in wave.events]
        self.log_lines += wave.log_lines


class Scripted:
    """An activity that does what each test tells it, run by run."""

    def __init__(self, *script: Any, type_name: str = "Scripted", mode: OutgoingMode = OutgoingMode.MATCHED) -> None:
        self.descriptor = ActivityDescriptor(
            type=type_name, category=Category.CUSTOM, icon="puzzle", outgoing_mode=mode, custom=True
        )
        self._script = list(script)
        self.seen: list[JsonObject] = []

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Do the next thing of the script; after it, complete."""
        self.seen.append(dict(context.variables))
        action = self._script.pop(0) if self._script else Complete()
        if isinstance(action, BaseException):
            raise action
        if callable(action):
            action = action(context)
        return action  # type: ignore[no-any-return]  # a script may return what no activity may


class Resuming(Scripted):
    """A scripted activity that decides itself what a resumed wait means."""

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Do the next thing of the script."""
        context.state["resumed"] = [*context.state.get("resumed", []), resume.bookmark.kind.value]
        return self.execute(context)


def doomed(text: str = "doomed") -> Fault:
    """Return a fault."""
    return Fault(fault=WorkflowFault(code=UNEXPECTED, key="workflow.activity.exception", args={"text": text}))


def _topic(event: Event) -> str:
    short = event.topic.removeprefix("workflow.")
    node = event.data.get("nodeInstance")
    return f"{short}({node['nodeId']})" if node else short


def _stored(record: Model) -> Model:
    return decode(encode(record), type(record))
