"""The peer: SpiffWorkflow, its state kept as JSON in a row of the same database.

It stores nothing itself, so this is the least that makes it durable: the state without the specification (which is
kept once a process), one row an instance, and one row an open task so that there is an inbox to list.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from SpiffWorkflow.bpmn.parser.BpmnParser import BpmnParser
from SpiffWorkflow.bpmn.serializer import BpmnWorkflowSerializer
from SpiffWorkflow.bpmn.specs.bpmn_process_spec import BpmnProcessSpec
from SpiffWorkflow.bpmn.workflow import BpmnWorkflow
from SpiffWorkflow.util.task import TaskState

from tests.bench.targets import Target
from webapp.engine.clock import SystemIds

_BPMN = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" id="d" targetNamespace="bench">
<process id="{name}" isExecutable="true">{body}</process></definitions>"""

_new_id = SystemIds().new
_metadata = sa.MetaData()
_instances = sa.Table(
    "spiff_instances",
    _metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("definition", sa.String(64), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)
_tasks = sa.Table(
    "spiff_tasks",
    _metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("instance_id", sa.String(36), nullable=False),
    sa.Column("assignee", sa.String(64), nullable=False),
    sa.Column("title", sa.String(128), nullable=False),
    sa.Index("spiff_tasks_assignee", "assignee"),
)
_timers = sa.Table(
    "spiff_timers",
    _metadata,
    sa.Column("instance_id", sa.String(36), primary_key=True),
    sa.Column("due_at", sa.Float, nullable=False),
    sa.Index("spiff_timers_due_at", "due_at"),
)
_insert_timer = sa.insert(_timers)
_due_timers = (
    sa.select(_timers.c.instance_id)
    .where(_timers.c.due_at <= sa.bindparam("now"))
    .order_by(_timers.c.due_at)
    .limit(100)
)
_delete_timer = sa.delete(_timers).where(_timers.c.instance_id == sa.bindparam("which"))
_insert_instance = sa.insert(_instances)
_insert_task = sa.insert(_tasks)
_inbox = sa.select(_tasks.c.id, _tasks.c.instance_id, _tasks.c.title).where(_tasks.c.assignee == sa.bindparam("who"))
_inbox_page = _inbox.order_by(_tasks.c.id.desc()).limit(50)
_inbox_total = sa.select(sa.func.count()).select_from(_inbox.subquery())
_load = sa.select(_instances.c.document).where(_instances.c.id == sa.bindparam("which"))
_update = sa.update(_instances).where(_instances.c.id == sa.bindparam("which"))
_delete_task = sa.delete(_tasks).where(_tasks.c.id == sa.bindparam("which"))


def _sequence(nodes: list[tuple[str, str]]) -> str:
    """Return the BPMN of nodes in a row: (element with its id, content)."""
    body = [f"<{name.split()[0]} {name.split()[1]}>{content}</{name.split()[0]}>" for name, content in nodes]
    ids = [name.split('"')[1] for name, _ in nodes]
    flows = itertools.pairwise(ids)
    return "".join(body) + _flows(flows)


def _flows(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<sequenceFlow id="f{n}" sourceRef="{a}" targetRef="{b}"/>' for n, (a, b) in enumerate(pairs))


def _branches() -> str:
    """Return the BPMN of a fork into ten script tasks and of the gateway that joins them."""
    ids = [f"b{number}" for number in range(10)]
    body = [f'<scriptTask id="{one}"><script>r{one} = n + 1</script></scriptTask>' for one in ids]
    body += ['<startEvent id="start"/>', '<parallelGateway id="fork"/>', '<parallelGateway id="join"/>']
    flows = [("start", "fork"), *(pair for one in ids for pair in (("fork", one), (one, "join"))), ("join", "end")]
    return "".join(body) + '<endEvent id="end"/>' + _flows(flows)


_NAP = (
    '<startEvent id="start"/><intermediateCatchEvent id="nap"><timerEventDefinition id="t">'
    "<timeDuration>duration</timeDuration></timerEventDefinition></intermediateCatchEvent>"
    '<endEvent id="end"/>' + _flows([("start", "nap"), ("nap", "end")])
)


def _specification(name: str, body: str) -> BpmnProcessSpec:
    parser = BpmnParser()
    document = _BPMN.format(name=name, body=body)
    parser.add_bpmn_str(document.encode(), filename=name)
    return parser.get_spec(name)


class Spiff:
    """Runs the workloads with SpiffWorkflow."""

    name = "SpiffWorkflow"

    def __init__(self, target: Target) -> None:
        self._engine = target.engine()
        _metadata.create_all(self._engine)
        steps = [(f'scriptTask id="s{n}"', "<script>n = n + 1</script>") for n in range(8)]
        ends = ('startEvent id="start"', ""), ('endEvent id="end"', "")
        self._straight = _specification("straight", _sequence([ends[0], *steps, ends[1]]))
        self._cycle = _specification("cycle", _sequence([ends[0], ('manualTask id="decide"', ""), ends[1]]))
        self._fork = _specification("fork", _branches())
        known = {"straight": self._straight, "cycle": self._cycle, "fork": self._fork}
        self._serializer = _serializer(known)

    def straight(self) -> None:
        """W1: run ten nodes and store the instance."""
        assert self._run("straight", self._straight)["n"] == 8

    def fork(self) -> None:
        """W3: fork into ten branches, join them and store the instance."""
        assert self._run("fork", self._fork)["rb9"] == 1

    def cycle(self) -> None:
        """W2: start and wait, list the inbox, complete."""
        workflow = BpmnWorkflow(self._cycle)
        workflow.do_engine_steps()
        (ready,) = workflow.get_tasks(state=TaskState.READY, manual=True)
        row = self._row(workflow, "cycle", "Running")
        task = {"id": str(ready.id), "instance_id": row["id"], "assignee": "anna", "title": "Decide"}
        with self._engine.begin() as connection:
            connection.execute(_insert_instance, row)
            connection.execute(_insert_task, task)
        with self._engine.begin() as connection:
            found = connection.execute(_inbox_page, {"who": "anna"}).all()
            connection.execute(_inbox_total, {"who": "anna"}).scalar_one()
        self._complete(found[0].id, found[0].instance_id)

    def close(self) -> None:
        """Let the connections go."""
        self._engine.dispose()

    def _run(self, name: str, specification: BpmnProcessSpec) -> dict[str, Any]:
        workflow = BpmnWorkflow(specification)
        workflow.task_tree.data = {"n": 0}
        workflow.do_engine_steps()
        assert workflow.is_completed()
        row = self._row(workflow, name, "Completed")
        with self._engine.begin() as connection:
            connection.execute(_insert_instance, row)
        data: dict[str, Any] = workflow.data
        return data

    def _complete(self, task_id: str, instance_id: str) -> None:
        with self._engine.begin() as connection:
            document = connection.execute(_load, {"which": instance_id}).scalar_one()
            workflow = self._serializer.deserialize_json(document)
            workflow.get_task_from_id(uuid.UUID(task_id)).run()
            workflow.do_engine_steps()
            assert workflow.is_completed()
            row = self._row(workflow, "cycle", "Completed")
            values = {"status": row["status"], "document": row["document"]}
            connection.execute(_update.values(**values), {"which": instance_id})
            connection.execute(_delete_task, {"which": task_id})

    def _row(self, workflow: Any, definition: str, status: str) -> dict[str, str]:
        return _instance_row(self._serializer, workflow, definition, status)


class SpiffTimers:
    """Timers with SpiffWorkflow: a row for each that tells when to look at its instance, and a transaction each.

    One transaction for several would lose them all by the failure of one.
    """

    name = "SpiffWorkflow"

    def __init__(self, target: Target, seconds: float) -> None:
        self._seconds = seconds
        self._engine = target.engine()
        _metadata.create_all(self._engine)
        self._nap = _specification("nap", _NAP)
        self._serializer = _serializer({"nap": self._nap})

    def arm(self, number: int) -> None:
        """Start instances with a timer event."""
        for _ in range(number):
            workflow = BpmnWorkflow(self._nap)
            workflow.task_tree.data = {"duration": f"PT{self._seconds}S"}
            due = time.time() + self._seconds
            workflow.do_engine_steps()
            assert not workflow.is_completed()
            row = _instance_row(self._serializer, workflow, "nap", "Running")
            with self._engine.begin() as connection:
                connection.execute(_insert_instance, row)
                connection.execute(_insert_timer, {"instance_id": row["id"], "due_at": due})
        time.sleep(self._seconds)

    def fire(self) -> int:
        """Find what is due, a hundred at a time, and run each."""
        ended = 0
        while True:
            with self._engine.begin() as connection:
                due = connection.execute(_due_timers, {"now": time.time()}).scalars().all()
            if not due:
                return ended
            for instance_id in due:
                self._run(instance_id)
            ended += len(due)

    def close(self) -> None:
        """Let the connections go."""
        self._engine.dispose()

    def _run(self, instance_id: str) -> None:
        with self._engine.begin() as connection:
            document = connection.execute(_load, {"which": instance_id}).scalar_one()
            workflow = self._serializer.deserialize_json(document)
            workflow.refresh_waiting_tasks()
            workflow.do_engine_steps()
            assert workflow.is_completed()
            row = _instance_row(self._serializer, workflow, "nap", "Completed")
            values = {"status": row["status"], "document": row["document"]}
            connection.execute(_update.values(**values), {"which": instance_id})
            connection.execute(_delete_timer, {"which": instance_id})


def _instance_row(serializer: BpmnWorkflowSerializer, workflow: Any, definition: str, status: str) -> dict[str, str]:
    document = serializer.serialize_json(workflow)
    return {"id": _new_id(), "definition": definition, "status": status, "document": document}


def _serializer(specifications: dict[str, BpmnProcessSpec]) -> BpmnWorkflowSerializer:
    """Return a serializer that writes the name of a specification in its place."""
    registry = BpmnWorkflowSerializer.configure()
    registry.register(
        BpmnProcessSpec,
        lambda spec: {"typename": "BpmnProcessSpec", "name": spec.name},
        lambda dct: specifications[dct["name"]],
    )
    return BpmnWorkflowSerializer(registry)
