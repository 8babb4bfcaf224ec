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
from webapp.engine.ports.outcomes import OutcomeHandler
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.engine import Command, Engine, EngineOptions, Wave
from webapp.engine.runtime.jumping import Jump, JumpPlan
from webapp.engine.runtime.migration import Migration
from webapp.engine.runtime.recalling import Decision

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
        outcome_handlers: Sequence[OutcomeHandler] = (),
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
            outcome_handlers=outcome_handlers,
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

    def retry(self, reason: str | None = None, **more: bool) -> Run:
        """Retry the instance."""
        wave = self.world.engine.retry(self.snapshot(), self.compiled, self.command("retry"), reason=reason, **more)
        return self.apply(wave)

    def cancel(self, reason: str | None = None) -> Run:
        """Cancel the instance."""
        wave = self.world.engine.cancel(self.snapshot(), self.compiled, self.command("cancel"), reason=reason)
        return self.apply(wave)

    def operate(self, name: str, *, actor: str | None = "operator", history: bool = False, **arguments: Any) -> Run:
        """Run one of the engine's operations by the name of its method."""
        operation = getattr(self.world.engine, name)
        wave = operation(self.snapshot(history=history), self.compiled, self.command(name, actor), **arguments)
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

    def claim(self, task: Bookmark | str, actor: str, *groups: str, **command: Any) -> Run:
        """Take a shared task."""
        wave = self.world.engine.claim_task(
            self.snapshot(),
            self.compiled,
            task if isinstance(task, str) else task.id,
            principals=(actor, *groups),
            command=self.command("claim", actor, **command),
        )
        return self.apply(wave)

    def release(self, task: Bookmark, actor: str, **command: Any) -> Run:
        """Give a task back."""
        wave = self.world.engine.release_task(
            self.snapshot(), self.compiled, task.id, command=self.command("release", actor, **command)
        )
        return self.apply(wave)

    def delegate(self, task: Bookmark, actor: str, to: str, comment: str | None = None, **command: Any) -> Run:
        """Lend a task."""
        wave = self.world.engine.delegate_task(
            self.snapshot(),
            self.compiled,
            task.id,
            to=to,
            comment=comment,
            command=self.command("delegate", actor, **command),
        )
        return self.apply(wave)

    def urge(self, task: Bookmark, actor: str, comment: str | None = None) -> Run:
        """Remind those whom a task's node waits for."""
        wave = self.world.engine.urge_task(
            self.snapshot(), self.compiled, task.id, comment=comment, command=self.command("urge", actor)
        )
        return self.apply(wave)

    def remove(self, task: Bookmark, actor: str, *assignees: str, comment: str | None = None, **command: Any) -> Run:
        """Take signers off."""
        wave = self.world.engine.remove_signers(
            self.snapshot(),
            self.compiled,
            task.id,
            assignees=assignees,
            comment=comment,
            command=self.command("remove", actor, **command),
        )
        return self.apply(wave)

    def send_back(
        self,
        actor: str,
        to: str | None = None,
        *,
        comment: str | None = "Please look again",
        resubmit: str | None = None,
    ) -> Run:
        """Return the one open task of *actor*."""
        wave = self.world.engine.return_task(
            self.snapshot(history=True),
            self.compiled,
            self.task(actor).id,
            to_node_id=to,
            comment=comment,
            resubmit=resubmit,
            command=self.command("return", actor),
        )
        return self.apply(wave)

    def give_back(self, task: Bookmark, actor: str, to_node_id: str | None = None, **more: Any) -> Run:
        """Send a task back to an earlier step."""
        snapshot = self.snapshot()
        present = {node.id for node in snapshot.node_instances}
        snapshot.history = [_stored(node) for node in self.nodes.values() if node.id not in present]
        wave = self.world.engine.return_task(
            snapshot,
            self.compiled,
            task.id,
            to_node_id=to_node_id,
            comment=more.pop("comment", "again"),
            resubmit=more.pop("resubmit", None),
            command=self.command("return", actor, **more),
        )
        return self.apply(wave)

    def recall(self, actor: str) -> Run:
        """Take back the decision that *actor* made last."""
        ended = [one for one in self.records.values() if one.actor_id == actor and one.ended_at is not None]
        last = max(ended, key=lambda one: (one.ended_at, one.sequence))
        decision = Decision(
            task_id=last.task_id, round=last.round, holder=last.assignee_id, node_instance_id=last.node_instance_id
        )
        return self.operate("recall", actor=actor, history=True, decision=decision)

    def jump(self, to: str, source: str | None = None, **more: Any) -> Run:
        """Move the instance to another step."""
        return self.operate("jump", history=True, jump=Jump(to_node_id=to, from_node_id=source, **more))

    def plan_jump(self, to: str, source: str | None = None) -> JumpPlan:
        """Return what a jump would take away."""
        wanted = Jump(to_node_id=to, from_node_id=source)
        return self.world.engine.plan_jump(self.snapshot(history=True), self.compiled, self.command("jump"), wanted)

    def migrate(self, document: JsonObject, **mapping: str) -> Run:
        """Move the instance to another version, given as a document, and go on with that."""
        target = self.world.compile({"version": 2, **document, "id": f"def-{document['name']}-2"})
        wanted = Migration(node_mapping=mapping)
        before = self.snapshot(history=bool(mapping))
        planned = self.world.engine.plan_migration(before, self.compiled, self.command("migrate"), target, wanted)
        wave = self.world.engine.migrate(before, self.compiled, self.command("migrate"), target, wanted)
        assert planned.problems == []
        self.compiled = target
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

    def snapshot(self, *, history: bool = False) -> InstanceSnapshot:
        """Return what a store would hand to a wave: fresh copies; with *history* all other node instances too."""
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
            history=[_stored(node) for node in self.nodes.values() if node not in wanted]
            if history or self.compiled.needs_history
            else None,
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
