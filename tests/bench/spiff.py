"""The peer: SpiffWorkflow, its state kept as JSON in a row of the same database.

It stores nothing itself, so this is the least that makes it durable: the state without the specification (which is
kept once a process), one row an instance, and one row an open task so that there is an inbox to list.
"""

from __future__ import annotations

import itertools
import uuid
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
    body += [f'<sequenceFlow id="f{n}" sourceRef="{a}" targetRef="{b}"/>' for n, (a, b) in enumerate(flows)]
    return "".join(body)


def _specification(name: str, nodes: list[tuple[str, str]]) -> BpmnProcessSpec:
    parser = BpmnParser()
    document = _BPMN.format(name=name, body=_sequence(nodes))
    parser.add_bpmn_str(document.encode(), filename=name)
    return parser.get_spec(name)


class Spiff:
    """Runs both workloads with SpiffWorkflow."""

    name = "SpiffWorkflow"

    def __init__(self, target: Target) -> None:
        self._engine = target.engine()
        _metadata.create_all(self._engine)
        steps = [(f'scriptTask id="s{n}"', "<script>n = n + 1</script>") for n in range(8)]
        ends = ('startEvent id="start"', ""), ('endEvent id="end"', "")
        self._straight = _specification("straight", [ends[0], *steps, ends[1]])
        self._cycle = _specification("cycle", [ends[0], ('manualTask id="decide"', ""), ends[1]])
        self._serializer = _serializer({"straight": self._straight, "cycle": self._cycle})

    def straight(self) -> None:
        """W1: run ten nodes and store the instance."""
        workflow = BpmnWorkflow(self._straight)
        workflow.task_tree.data = {"n": 0}
        workflow.do_engine_steps()
        assert workflow.is_completed()
        row = self._row(workflow, "straight", "Completed")
        with self._engine.begin() as connection:
            connection.execute(_insert_instance, row)

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
        document = self._serializer.serialize_json(workflow)
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
