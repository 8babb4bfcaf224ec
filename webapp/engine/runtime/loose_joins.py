"""Joins whose tokens were moved by a jump, a return, a migration: none hangs, fires early or twice (spec 3.20, 3.22).

A Join counts transitions as long as its tokens go as they are drawn. Once they were moved it is *loosened*: a WaitAll
fires when the wave has come to rest and no token can come to it any more in this round, with all that have come; a
WaitAny fires at the first that comes and makes those late that could still have come. What is late is swallowed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from webapp.engine.activities.compiled import WAIT_ANY, CompiledDefinition, CompiledEdge
from webapp.engine.definitions.graph import DefinitionGraph
from webapp.engine.instances.model import JoinState, NodeInstance, WorkflowInstance
from webapp.engine.runtime import routing
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.queue import LATE, Fresh, Item
from webapp.engine.runtime.tokens import Reach, Token, shared_late, tokens_of


def loosen(instance: WorkflowInstance, join_ids: Iterable[str]) -> None:
    """Note that these Joins do not gather as they are drawn any more."""
    instance.loosened_joins += [one for one in join_ids if one not in instance.loosened_joins]


def joins_from(compiled: CompiledDefinition, starts: Iterable[str]) -> list[str]:
    """Return the Joins that tokens on *starts* may come to in this round or a later one, those among them included."""
    reached = DefinitionGraph(compiled.definition).reachable(*starts)
    return [node.id for node in compiled.nodes.values() if node.is_join and node.id in reached]


def send(wave: WaveState, queue: deque[Item], node_instance: NodeInstance, edges: Sequence[CompiledEdge]) -> None:
    """Put one token on the way along each edge, in an instance that has loosened Joins."""
    instance = wave.instance
    for edge in edges:
        late = _late_after(wave.compiled, node_instance, edge)
        if not edge.target.is_join:
            queue.append(Fresh(edge.target, [node_instance.id], [edge.id], late=late))
        elif edge.target.id in instance.loosened_joins and edge.target.join_mode is not None:
            _arrive(wave, queue, node_instance, edge, late)
        else:
            routing.arrive(instance, queue, node_instance, edge)
    make_late(wave, queue)


def _arrive(
    wave: WaveState, queue: deque[Item], node_instance: NodeInstance, edge: CompiledEdge, late: list[str]
) -> None:
    instance, join = wave.instance, edge.target
    state = instance.join_states.get(join.id)
    if join.id in late or (state is not None and state.fired):
        return
    if join.join_mode == WAIT_ANY:
        instance.join_states[join.id] = JoinState(arrived={edge.id: [node_instance.id]}, fired=True)
        queue.append(Fresh(join, [node_instance.id], [edge.id], late=late))
        return
    if state is None:
        state = instance.join_states[join.id] = JoinState(late=list(late))
    if state.late or late:
        reach = Reach(wave.compiled.forward, instance.join_states)
        state.late = shared_late(reach, [Token(join.id, state.late), Token(join.id, late)])
    state.arrived.setdefault(edge.id, []).append(node_instance.id)


def _late_after(compiled: CompiledDefinition, node_instance: NodeInstance, edge: CompiledEdge) -> list[str]:
    """Return what a token is late for once it goes along an edge: what it has left behind does not matter any more."""
    late: list[str] = node_instance.state.get(LATE, [])
    return [one for one in late if one == edge.target.id or compiled.forward.edges_into(one, [edge.target.id])]


def make_late(wave: WaveState, items: Iterable[Item] = ()) -> None:
    """Let those be late who could still have come to a loosened Join that has fired, and forget its wave."""
    states = wave.instance.join_states
    for join_id in [one for one in wave.instance.loosened_joins if one in states and states[one].fired]:
        del states[join_id]
        pass_by(wave, join_id, tokens_of(wave, items))


def pass_by(wave: WaveState, join_id: str, tokens: Iterable[Token]) -> bool:
    """Let those of *tokens* be late for a Join that can still come to it; whether there are any.

    The Joins that they may come to before it are loosened as well: they have to hand on who is late.
    """
    reach = Reach(wave.compiled.forward, wave.instance.join_states)
    late = [token for token in tokens if reach.coming(join_id, [token])]
    for token in late:
        token.mark(join_id)
    loosen(wave.instance, joins_from(wave.compiled, [token.node_id for token in late]))
    return bool(late)


def ready(wave: WaveState) -> list[Fresh]:
    """Fire the loosened Joins that nobody can come to any more; the wave has come to rest."""
    make_late(wave)
    instance, compiled = wave.instance, wave.compiled
    waiting = [one for one, state in instance.join_states.items() if one in instance.loosened_joins and state.arrived]
    if not waiting:
        return []
    reach, tokens = Reach(compiled.forward, instance.join_states), tokens_of(wave)
    fired = []
    for join_id in [one for one in waiting if not reach.coming(one, tokens)]:
        state = instance.join_states.pop(join_id)
        causes = [one for arrived in state.arrived.values() for one in arrived]
        node = compiled.nodes[join_id]
        fired.append(Fresh(node, list(dict.fromkeys(causes)), list(state.arrived), late=state.late))
    return fired
