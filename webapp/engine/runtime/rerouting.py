"""What a jump means for the Joins between where its tokens stood and where they go (spec 3.20, 3.22)."""

from __future__ import annotations

from collections.abc import Mapping

from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.instances.model import JoinState, NodeInstance
from webapp.engine.runtime import loose_joins
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.queue import Fresh, Retrial
from webapp.engine.runtime.tokens import Reach, Token, inherited_late, of_execution, tokens_of


class Detour:
    """Some tokens are taken from where they stand, and one goes on from the target instead.

    Made before they are taken: *executions*, *taken* (of the queue that a fault left), *joins* (what they gathered).
    """

    def __init__(
        self,
        wave: WaveState,
        kept: list[Fresh],
        taken: list[Fresh],
        *,
        executions: list[NodeInstance],
        joins: Mapping[str, JoinState],
        target: CompiledNode,
        partial: bool,
    ) -> None:
        self._wave = wave
        self._kept = kept
        self._target = target
        self._joins = joins
        self.dropped: list[str] = []
        """The Joins whose wave was dropped."""
        starts = {
            target.id,
            *joins,
            *(of_execution(one).node_id for one in executions),
            *(one.node.id for one in taken),
        }
        loose_joins.loosen(wave.instance, loose_joins.joins_from(wave.compiled, starts))
        loose_joins.make_late(wave, [*kept, *taken, *(Retrial(one.id) for one in executions)])
        moved = [of_execution(wave.touch(one.id) or one) for one in executions]
        moved += [Token(one.node.id, one.late or ()) for one in taken]
        moved += [Token(node_id, state.late) for node_id, state in joins.items() if not state.fired]
        reach = Reach(wave.compiled.forward, wave.instance.join_states)
        nodes = wave.compiled.nodes
        self._expected = {one: reach.coming(one, moved) for one in nodes if nodes[one].is_join}
        """By Join, the transitions that those who are moved could have come by."""
        for node_id, state in joins.items():
            self._expected[node_id] |= set(state.arrived)
        self._late = inherited_late(reach, moved, target.id) if partial else []

    def go(self, causes: list[str]) -> Fresh:
        """Return the token on the target, now that the others are gone; bring the Joins in order."""
        wave, target = self._wave, self._target
        states = wave.instance.join_states
        for node_id in self._joins:
            states.pop(node_id, None)
        reach = Reach(wave.compiled.forward, wave.instance.join_states)
        for join_id, expected in self._expected.items():
            ahead = reach.coming(join_id, [Token(target.id)])
            if expected and join_id != target.id and not ahead and reach.is_behind(join_id, target.id):
                self._go_round(join_id)
        via: list[str] = []
        if target.is_join:
            state = states.pop(target.id, None) or JoinState()
            causes = list(dict.fromkeys([*causes, *(one for arrived in state.arrived.values() for one in arrived)]))
            via = list(state.arrived)
            loose_joins.pass_by(wave, target.id, self._others())
        token = Fresh(target, causes, via, late=self._late)
        self._drop_unreachable(token)
        return token

    def _go_round(self, join_id: str) -> None:
        """What a Join was waiting for goes on behind it: who comes there still is late, who has come is dropped."""
        others = loose_joins.pass_by(self._wave, join_id, self._others())
        self._drop(join_id)
        if others and join_id not in self.dropped:
            self.dropped.append(join_id)

    def _drop_unreachable(self, token: Fresh) -> None:
        """Drop the waves that the moved could have come to and that nobody can come to any more, and so on."""
        wave = self._wave
        states = wave.instance.join_states
        lost = {join_id for join_id, expected in self._expected.items() if expected}
        while True:
            reach = Reach(wave.compiled.forward, wave.instance.join_states)
            tokens = tokens_of(wave, [token, *self._kept])
            gone = [one for one in states if one in lost and not reach.coming(one, tokens)]
            if not gone:
                return
            for join_id in gone:
                dropped = Token(join_id, states[join_id].late)
                lost |= {one for one in self._expected if reach.coming(one, [dropped])}
                self._drop(join_id)

    def _drop(self, join_id: str) -> None:
        if self._wave.instance.join_states.pop(join_id, None) is not None and join_id not in self._joins:
            self.dropped.append(join_id)

    def _others(self) -> list[Token]:
        return tokens_of(self._wave, self._kept)
