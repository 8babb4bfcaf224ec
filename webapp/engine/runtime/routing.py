"""Where a token goes next: the edges a completed node takes, and the Joins that gather arrivals (spec 3.6, 3.9)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from webapp.engine.activities.compiled import WAIT_ALL, WAIT_ANY, CompiledEdge, CompiledNode
from webapp.engine.descriptors import OutgoingMode
from webapp.engine.errors import UNEXPECTED
from webapp.engine.expressions import ExpressionError
from webapp.engine.instances.model import JoinState, NodeInstance, WorkflowFault, WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.queue import Fresh, Item


class RoutingFault(Exception):
    """No edge can be taken: the instance faults, the node stays Completed (spec 3.6)."""

    def __init__(self, fault: WorkflowFault) -> None:
        self.fault = fault
        super().__init__(fault.key)


def choose(node: CompiledNode, scope: JsonObject) -> Sequence[CompiledEdge]:
    """Return the edges that a completed node takes, by priority; a node without edges takes none.

    :raises RoutingFault: a condition fails, or nothing matches and there is no default edge.
    """
    mode, edges = node.mode, node.edges
    if mode is OutgoingMode.NONE or not edges:
        return ()
    if mode is OutgoingMode.ALL:
        return edges
    if mode is OutgoingMode.EXCLUSIVE:
        return _first(node, scope)
    if node.unconditional:
        return edges
    chosen = [edge for edge in edges if not edge.is_default and _holds(node, edge, scope)]
    return chosen or _defaults(node)


def _first(node: CompiledNode, scope: JsonObject) -> Sequence[CompiledEdge]:
    for edge in node.edges:
        if not edge.is_default and _holds(node, edge, scope):
            return (edge,)
    return _defaults(node)[:1]


def _defaults(node: CompiledNode) -> Sequence[CompiledEdge]:
    defaults = [edge for edge in node.edges if edge.is_default]
    if not defaults:
        args = {"nodeId": node.id, "node": node.name}
        raise RoutingFault(WorkflowFault(code=UNEXPECTED, key="workflow.edge.no_match", args=args))
    return defaults


def _holds(node: CompiledNode, edge: CompiledEdge, scope: JsonObject) -> bool:
    if edge.condition is None:
        return True
    try:
        return edge.condition(scope)
    except ExpressionError as error:
        inner = WorkflowFault(code=error.code, key=error.key, args=error.params)
        args = {"nodeId": node.id, "node": node.name, "transitionId": edge.id}
        fault = WorkflowFault(code=error.code, key="workflow.edge.condition_failed", args=args, inner=inner)
        raise RoutingFault(fault) from error


def send(
    instance: WorkflowInstance, queue: deque[Item], node_instance: NodeInstance, edges: Sequence[CompiledEdge]
) -> None:
    """Put one token on the way along each edge."""
    for edge in edges:
        if edge.target.is_join:
            arrive(instance, queue, node_instance, edge)
        else:
            queue.append(Fresh(edge.target, [node_instance.id], [edge.id]))


def arrive(instance: WorkflowInstance, queue: deque[Item], node_instance: NodeInstance, edge: CompiledEdge) -> None:
    """Take the arrival of a token at a Join; what fires goes to the queue."""
    join = edge.target
    if join.join_mode not in (WAIT_ALL, WAIT_ANY):
        # The Join itself runs and faults: an unknown mode is never a silent WaitAll.
        queue.append(Fresh(join, [node_instance.id], [edge.id]))
        return
    state = instance.join_states.get(join.id)
    if state is None:
        state = instance.join_states[join.id] = JoinState()
    state.arrived.setdefault(edge.id, []).append(node_instance.id)
    complete = len(state.arrived) == join.incoming
    if complete:
        del instance.join_states[join.id]
    if state.fired:
        # The rest of a wave that has fired is swallowed.
        return
    if join.join_mode == WAIT_ANY:
        state.fired = True
        queue.append(Fresh(join, [node_instance.id], [edge.id]))
    elif complete:
        causes = [node_instance_id for arrivals in state.arrived.values() for node_instance_id in arrivals]
        queue.append(Fresh(join, list(dict.fromkeys(causes)), list(state.arrived)))
