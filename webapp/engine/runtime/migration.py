"""Moving an instance to another version of its definition: ids are rewritten, nothing is executed (spec 3.20)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.definitions.graph import DefinitionGraph
from webapp.engine.errors import Conflict, InputInvalid, Problem
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import TaskMove
from webapp.engine.instances.model import InstanceStatus, JoinState, NodeInstance, PendingToken
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime import due_times, events, loose_joins, timeouts
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.queue import BACK, LATE, Retrial
from webapp.engine.runtime.resubmission import way_of
from webapp.engine.runtime.suspension import check_reason
from webapp.engine.runtime.tokens import Reach, Token, is_live, standing, tokens_of

_MIGRATABLE = (InstanceStatus.RUNNING, InstanceStatus.SUSPENDED, InstanceStatus.FAULTED)


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """Which node of the present version becomes which of the new one; a node that is not named keeps its id."""

    node_mapping: dict[str, str] = {}
    reason: str | None = None


class MigrationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a migration would do: the nodes in use with what they become, and everything that does not map."""

    nodes: dict[str, str]
    problems: list[Problem]


def plan(wave: WaveState, target: CompiledDefinition, migration: Migration) -> MigrationPlan:
    """Return what the migration would do. :raises Conflict: the instance has ended."""
    return _Move(wave, target, migration).plan()


def run(wave: WaveState, target: CompiledDefinition, migration: Migration) -> Wave:
    """Migrate; waits keep their ids and due times.

    :raises InputInvalid: listing all that does not map. :raises Conflict: the instance has ended.
    """
    move = _Move(wave, target, migration)
    planned = move.plan()
    if planned.problems:
        raise InputInvalid("workflow.migrate.invalid", problems=planned.problems)
    version = wave.instance.definition_version
    move.rewrite()
    wave.instance_event(events.INSTANCE_MIGRATED, fromVersion=version, toVersion=target.definition.version)
    details: JsonObject = {
        "fromVersion": version,
        "toVersion": target.definition.version,
        "nodes": {old: new for old, new in planned.nodes.items() if old != new},
    }
    return wave.finish(wave.entry(reason=migration.reason, details=details))


class _Move:
    def __init__(self, wave: WaveState, target: CompiledDefinition, migration: Migration) -> None:
        check_reason(migration.reason)
        if wave.instance.status not in _MIGRATABLE:
            raise Conflict("workflow.instance.ended", params={"status": wave.instance.status})
        self._wave = wave
        self._old = wave.compiled
        self._new = target
        self._mapping: Mapping[str, str] = migration.node_mapping
        self._graph = DefinitionGraph(target.definition)
        fault = wave.instance.fault_node_instance_id
        self._executions = [one for one in wave.known_nodes() if is_live(wave, one) or one.id == fault]

    def plan(self) -> MigrationPlan:
        used = dict.fromkeys(self._used())
        problems = [*self._mapping_problems(), *(problem for node_id in used for problem in self._node(node_id))]
        if not problems:
            problems = self._join_problems()
        return MigrationPlan(nodes={node_id: self._to(node_id) for node_id in used}, problems=problems)

    def rewrite(self) -> None:
        instance, definition = self._wave.instance, self._new.definition
        instance.join_states = {self._to(old): self._state(old, state) for old, state in instance.join_states.items()}
        instance.loosened_joins = [new for old in instance.loosened_joins if (new := self._to(old)) in self._new.nodes]
        instance.pending_tokens = [self._token(token) for token in instance.pending_tokens]
        if instance.fault_node_id is not None:
            instance.fault_node_id = self._to(instance.fault_node_id)
        for execution in (*self._executions, *self._passed()):
            self._rewrite_execution(execution)
        self._rewrite_waits()
        instance.definition_id, instance.definition_version = definition.id, definition.version
        instance.definition_title = definition.title
        self._wave.definition_changed = True
        self._wave.compiled = self._new
        self._time()
        if self._is_drawn_anew():
            self._loosen()

    def _time(self) -> None:
        """Keep a deadline of the instance where both versions have one; else drop it, or count from now."""
        wave, timeout = self._wave, self._new.definition.timeout
        armed = [one for one in wave.waits.open.values() if one.kind is BookmarkKind.INSTANCE_TIMEOUT]
        if timeout is None:
            for bookmark in armed:
                wave.waits.consume(bookmark)
        elif self._old.definition.timeout is None and not armed:
            wave.add_instance_bookmark(BookmarkKind.INSTANCE_TIMEOUT, due_times.instance_deadline(wave, timeout))

    def _passed(self) -> list[NodeInstance]:
        """Return what is over of renamed nodes: it can still be undone, returned to, or asked who did it."""
        live = {one.id for one in self._executions}
        known = [one for one in self._wave.known_nodes() if one.id not in live and one.node_id in self._mapping]
        return [one for one in known if self._new.nodes[self._to(one.node_id)].node.activity_type == one.activity_type]

    def _rewrite_execution(self, execution: NodeInstance) -> None:
        back, late = way_of(execution), execution.state.get(LATE, [])
        present = (execution.node_id, back, late)
        new = (self._to(execution.node_id), [self._to(one) for one in back], self._joins(late))
        own = None if new == present else self._wave.touch(execution.id)
        if own is not None:
            own.node_id = new[0]
            own.state |= {BACK: new[1]} if back else {}
            own.state |= {LATE: new[2]} if late else {}

    def _rewrite_waits(self) -> None:
        title = self._new.definition.title
        for bookmark in list(self._wave.waits.open.values()):
            if bookmark.node_id is None:
                continue
            node_id = self._to(bookmark.node_id)
            if node_id != bookmark.node_id:
                self._wave.waits.change(bookmark).node_id = node_id
            if bookmark.kind is BookmarkKind.NODE_TIMEOUT:
                # What follows a time limit is read from the new version, and so is who runs it.
                key = timeouts.lane_key(self._new.nodes[node_id])
                if key != bookmark.key:
                    self._wave.waits.change(bookmark).key = key
            if bookmark.kind is BookmarkKind.USER_TASK:
                self._wave.tasks.moves.append(TaskMove(task_id=bookmark.id, node_id=node_id, definition_title=title))

    def _is_drawn_anew(self) -> bool:
        """Whether tokens go other ways in the new version than those on their way have gone."""
        return _ways(self._old, self._to) != _ways(self._new, lambda node_id: node_id)

    def _loosen(self) -> None:
        """Let no Join of the new version count transitions that tokens of the old one do not come by."""
        wave = self._wave
        failed = wave.instance.fault_node_instance_id
        items = [] if failed is None else [Retrial(failed)]
        starts = {*(token.node_id for token in tokens_of(wave, items)), *wave.instance.join_states}
        loose_joins.loosen(wave.instance, loose_joins.joins_from(self._new, starts))
        loose_joins.make_late(wave, items)

    # --- what does not map --------------------------------------------------------------------

    def _used(self) -> Iterable[str]:
        instance = self._wave.instance
        yield from (one.node_id for one in self._wave.waits.open.values() if one.node_id is not None)
        yield from (one.node_id for one in self._executions)
        yield from (node_id for one in self._executions for node_id in way_of(one))
        yield from instance.join_states
        yield from (node_id for token in instance.pending_tokens for node_id in (token.node_id, *token.back))
        if instance.fault_node_id is not None:
            yield instance.fault_node_id

    def _to(self, node_id: str) -> str:
        return self._mapping.get(node_id, node_id)

    def _mapping_problems(self) -> Iterable[Problem]:
        for old, new in self._mapping.items():
            path = f"nodeMapping.{old}"
            if old not in self._old.nodes:
                yield Problem(path=path, key="workflow.migrate.unknown_source", params={"nodeId": old})
            elif new not in self._new.nodes:
                yield Problem(path=path, key="workflow.migrate.missing", params={"nodeId": old, "to": new})

    def _node(self, node_id: str) -> Iterable[Problem]:
        new = self._new.nodes.get(self._to(node_id))
        old = self._old.nodes.get(node_id)
        path = f"nodeMapping.{node_id}"
        if new is None:
            if node_id not in self._mapping:
                yield Problem(path=path, key="workflow.migrate.missing", params={"nodeId": node_id, "to": node_id})
        elif old is not None and old.node.activity_type != new.node.activity_type:
            params = {"nodeId": node_id, "to": new.id, "type": old.node.activity_type, "other": new.node.activity_type}
            yield Problem(path=path, key="workflow.migrate.type", params=params)

    def _join_problems(self) -> list[Problem]:
        problems = []
        seen = set[str]()
        for node_id, state in self._wave.instance.join_states.items():
            path, new = f"nodeMapping.{node_id}", self._to(node_id)
            if new in seen:
                problems.append(Problem(path=path, key="workflow.migrate.join_twice", params={"to": new}))
            seen.add(new)
            for edge in state.arrived:
                if self._edge(edge, new) is None:
                    params = {"nodeId": node_id, "transitionId": edge}
                    problems.append(Problem(path=path, key="workflow.migrate.transition", params=params))
            # Who comes last is what makes a Join fire, and nothing is executed here.
            if not state.fired and self._is_drawn_anew() and not self._coming(new):
                problems.append(Problem(path=path, key="workflow.migrate.join_complete", params={"nodeId": node_id}))
        return problems

    def _coming(self, join_id: str) -> set[str]:
        instance = self._wave.instance
        moved = [Token(self._to(one.node_id), self._joins(one.late)) for one in standing(instance, self._executions)]
        states = {self._to(node_id): state for node_id, state in instance.join_states.items()}
        return Reach(self._new.forward, states).coming(join_id, moved)

    def _joins(self, late: Iterable[str]) -> list[str]:
        return [new for old in late if (new := self._to(old)) in self._new.nodes]

    def _edge(self, transition_id: str, join_id: str) -> str | None:
        """Return the transition of the new version that an arrival came by: of the same id, or with the same ends."""
        incoming = self._graph.incoming(join_id)
        if any(edge.id == transition_id for edge in incoming):
            return transition_id
        source = next((one.source_node_id for one in self._old.definition.transitions if one.id == transition_id), None)
        same = [] if source is None else [edge.id for edge in incoming if edge.source_node_id == self._to(source)]
        return same[0] if len(same) == 1 else None

    def _state(self, join_id: str, state: JoinState) -> JoinState:
        new = self._to(join_id)
        arrived = {self._edge(edge, new) or edge: ids for edge, ids in state.arrived.items()}
        return JoinState(arrived=arrived, fired=state.fired, late=self._joins(state.late))

    def _token(self, token: PendingToken) -> PendingToken:
        back = [self._to(one) for one in token.back]
        node_id, late = self._to(token.node_id), self._joins(token.late)
        return msgspec.structs.replace(token, node_id=node_id, back=back, late=late)


def _ways(compiled: CompiledDefinition, name: Callable[[str], str]) -> tuple[Counter[tuple[str, str]], JsonObject]:
    """Return what decides where tokens go: the transitions by their ends, and how nodes split and gather."""
    edges = Counter((name(one.source_node_id), name(one.target_node_id)) for one in compiled.definition.transitions)
    nodes = {name(node.id): (node.mode, node.join_mode) for node in compiled.nodes.values() if node.edges}
    return edges, nodes
