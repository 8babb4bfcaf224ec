"""One instance twice: the engine's, stored and read again between commands, and the simulator's (spec 3.3 ff.)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.engine.harness import Run, World
from tests.simulation.graphs import LATE, NO, YES, Graph
from tests.simulation.simulator import DONE, GONE, Execution, Simulator
from tests.support.engine import TestFlaky
from tests.support.examples import examples
from webapp.engine.errors import Conflict
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.runtime.child_operations import ChildEnd
from webapp.engine.runtime.commands import EngineOptions
from webapp.engine.runtime.jumping import Jump
from webapp.engine.runtime.migration import Migration

SHORT = 40
"""Nodes a wave may run in graphs whose loops need not wait for anything."""

EXAMPLES = examples(25)
"""Flows a test draws; more of them in a long run: ``WAYPOST_TEST_EXAMPLES=5000``."""

MANY = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])

MIGRATED = "m_"
"""What the names of nodes begin with after a migration."""


class Pair:
    """One instance twice."""

    def __init__(self, graph: Graph, *, limit: int = 1_000) -> None:
        self.world = World(activities=[TestFlaky()], options=EngineOptions(max_node_executions_per_burst=limit))
        self.graph = graph
        self.migrated = False
        document = graph.document()
        self.real: Run = self.world.start(document)
        self.model = Simulator(document, limit=limit)
        self.compare()

    # --- what can be done -------------------------------------------------------------------

    def answers(self, execution: Execution) -> list[str]:
        """Return how a waiting execution can go on."""
        kind = self.model.types[execution.node]
        found = {"UserTask": [YES, NO], "EventGateway": [YES, NO, LATE], "SubWorkflow": ["completed", "faulted"]}
        return found.get(kind, [LATE])

    def finish(self, execution: Execution, answer: str) -> None:
        """Decide a task, let a delay's time pass, send a signal, or let a child end."""
        waits = [one for one in self.real.bookmarks.values() if self._number(one.node_instance_id) == execution.number]
        kind = self.model.types[execution.node]
        if kind == "UserTask":
            self.real.decide(waits[0], "ana", answer)
        elif kind == "SubWorkflow":
            assert self._child_ends(execution, answer)
        else:
            self._pass(waits, answer)
        self.model.finish(execution, None if kind == "Delay" else answer)
        self.compare()

    def _pass(self, waits: list[Bookmark], answer: str) -> None:
        self.world.clock.advance(61)
        named = [one for one in waits if one.key == answer]
        (chosen,) = named or [one for one in waits if one.kind is BookmarkKind.TIMER]
        if chosen.kind is BookmarkKind.TIMER:
            self.real.due(chosen)
        else:
            self.real.resume(chosen)

    def _child_ends(self, execution: Execution, answer: str) -> bool:
        """Tell the engine how a child ended; return whether it did anything."""
        (found,) = [one for one in self.real.nodes.values() if self._number(one.id) == execution.number]
        end = ChildEnd(
            child_id=found.state["__childInstanceIds"][0],
            node_instance_id=found.id,
            status=InstanceStatus(answer.title()),
            variables={},
            fault=None,
            order=None,
        )
        command = self.real.command("childEnded", None)
        wave = self.world.engine.children.ended(self.real.snapshot(), self.real.compiled, end, command)
        if wave is None:
            return False
        self.real.apply(wave)
        return True

    def late_children(self) -> int:
        """Let the children end whose nodes were taken back or canceled: nothing may come of it."""
        gone = [
            one for one in self.model.executions if one.status == GONE and self.model.types[one.node] == "SubWorkflow"
        ]
        for execution in gone:
            self._child_ends(execution, "completed")
            self.compare()
        return len(gone)

    def give_back(self, execution: Execution, target: Execution, *, direct: bool = False) -> None:
        """Send a task back to an earlier step, all over again or to come straight back."""
        waits = {self._number(one.node_instance_id): one for one in self.real.bookmarks.values()}
        resubmit = "direct" if direct else "flow"
        self.real.give_back(waits[execution.number], "ana", target.node, resubmit=resubmit)
        if direct:
            self.model.ask(execution, target)
        else:
            self.model.give_back(execution, target)
        self.compare()

    def cancel(self) -> None:
        """Cancel both."""
        self.real.cancel("enough")
        self.model.cancel()
        self.compare()

    def suspend_and_resume(self) -> None:
        """Suspend both; nothing goes on meanwhile, and nothing is lost."""
        self.real.operate("suspend")
        self.model.suspend()
        self.compare()
        waiting = next(iter(self.real.bookmarks.values()))
        with pytest.raises(Conflict):
            self.real.resume(waiting)
        self.real.operate("resume_instance")
        self.model.resume()
        self.compare()

    def retry(self) -> None:
        """Retry both."""
        self.real.retry()
        self.model.retry()
        self.compare()

    def places(self) -> list[str]:
        """Return the nodes that something can be moved away from."""
        model = self.model
        if model.failed is not None:
            return [model.failed.node]
        found = {one.node for one in model.waiting()} | {token.node for token in model.left_behind}
        found |= {node for node, wave in model.joins.items() if not wave.fired}
        return sorted(found)

    def jump(self, target: str, source: str | None = None) -> None:
        """Move what stands at a node, or everything."""
        self.real.operate("jump", history=True, jump=Jump(to_node_id=target, from_node_id=source))
        self.model.jump(target, source)
        self.compare()

    def migrate(self) -> None:
        """Move the engine's instance to a version in which every node has another name."""
        target = self.world.compile({**self.graph.document(MIGRATED), "id": "def-renamed", "version": 2})
        mapping = {node: MIGRATED + node for node in self.graph.nodes}
        self.real.operate("migrate", history=True, target=target, wanted=Migration(node_mapping=mapping))
        self.real.compiled = target
        self.migrated = True
        assert self.real.instance.definition_version == 2
        self.compare()

    # --- what must be the same --------------------------------------------------------------

    def compare(self) -> None:
        """Every token is accounted for: the same executions, waits, arrivals and end."""
        real, model = self.real, self.model
        nodes = sorted(real.nodes.values(), key=lambda node: node.sequence)
        self._numbers = {node.id: number for number, node in enumerate(nodes)}
        assert [(_drawn(node.node_id), node.status.value) for node in nodes] == model.path()
        assert [[self._number(cause) for cause in node.caused_by] for node in nodes] == [
            one.causes for one in model.executions
        ]
        assert [node.via_transition_ids for node in nodes] == [one.via for one in model.executions]
        assert real.instance.status.value == model.status
        arrivals = {
            _drawn(node_id): (
                {edge: [self._number(one) for one in ids] for edge, ids in state.arrived.items()},
                state.fired,
            )
            for node_id, state in real.instance.join_states.items()
        }
        assert arrivals == model.arrivals()
        left = [
            (_drawn(token.node_id), [self._number(one) for one in token.caused_by])
            for token in real.instance.pending_tokens
        ]
        assert left == [(token.node, token.causes) for token in model.left_behind]
        self._check_waits()

    def _check_waits(self) -> None:
        waits = sorted({self._number(one.node_instance_id) for one in self.real.bookmarks.values()})
        assert waits == [one.number for one in self.model.waiting()]
        if self.real.instance.status is InstanceStatus.RUNNING:
            assert waits, "an instance that runs waits for something"

    def _number(self, node_instance_id: str | None) -> int:
        return self._numbers[node_instance_id or ""]


def _drawn(node_id: str) -> str:
    return node_id.removeprefix(MIGRATED)


def earlier_steps(model: Simulator, execution: Execution) -> list[Execution]:
    """Return the tasks that were completed on the way to an execution, of each step the latest."""
    ancestors = sorted(model.ancestors(execution))
    found = (model.executions[number] for number in ancestors)
    return list({one.node: one for one in found if model.types[one.node] == "UserTask" and one.status == DONE}.values())
