"""The drawing as a whole: start, arrows, reachability, decisions, joins, loops (spec 2.4: 8 to 13, 17, 19; 2.5: 27)."""

from __future__ import annotations

import re
from collections import Counter

from webapp.engine.activities.compiled import JOIN, WAIT_ALL, WAIT_ANY, join_mode
from webapp.engine.definitions.model import IDENTIFIER_PATTERN, Node, Transition
from webapp.engine.descriptors import OutgoingMode
from webapp.engine.json_input import item_path, member_path
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.subject import Subject

COMPENSATING = ("SetVariable", "Http", "PublishEvent", "Log", "ExternalTask", "SubWorkflow")
"""Activities that may compensate another (spec 1.17); a SubWorkflow must not wait."""

_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)
_MOST_NAMES = 5


def check_start(subject: Subject, findings: Findings) -> None:
    """Check that there is one start, that nothing leads to it, and that it leads everywhere (8, 12, 17)."""
    if len(subject.starts) != 1:
        paths = [(path, node) for path, node in subject.each_node() if node in subject.starts]
        path, node_id = (paths[1][0], paths[1][1].id) if paths else ("nodes", None)
        findings.error(path, keys.START_COUNT, node_id, found=len(subject.starts))
        return
    start = subject.starts[0]
    for index, transition in enumerate(subject.definition.transitions):
        if transition.target_node_id == start.id:
            path = member_path(item_path("transitions", index), "targetNodeId")
            findings.error(path, keys.START_INCOMING, start.id, transition.id)
    reached = subject.graph.reachable(start.id)
    compensating = {node.compensate_with for node in subject.definition.nodes}
    for path, node in subject.each_node():
        if node.id not in reached and node.id not in compensating and node.id.strip():
            findings.error(path, keys.UNREACHABLE, node.id, name=node.label)


def check_transitions(subject: Subject, findings: Findings) -> None:
    """Check ids and ends of every arrow, and the defaults of every node (9, 10, 13, 18, 19)."""
    counts = Counter(transition.id for transition in subject.definition.transitions)
    seen: Counter[str] = Counter()
    defaults: Counter[str] = Counter()
    totals = Counter(item.source_node_id for item in subject.definition.transitions if item.is_default)
    for index, transition in enumerate(subject.definition.transitions):
        path = item_path("transitions", index)
        seen[transition.id] += 1
        _check_id(transition, path, seen[transition.id], counts[transition.id], findings)
        _check_ends(subject, transition, path, findings)
        if not transition.is_default:
            continue
        source = transition.source_node_id
        defaults[source] += 1
        if defaults[source] == 2:
            where, name = member_path(path, "isDefault"), subject.label(source)
            findings.error(where, keys.TRANSITION_DEFAULT, source, transition.id, name=name, found=totals[source])
        if transition.condition is not None and transition.condition.strip():
            findings.warning(member_path(path, "condition"), keys.DEFAULT_CONDITION, source, transition.id)


def _check_id(transition: Transition, path: str, occurrence: int, count: int, findings: Findings) -> None:
    where, id_ = member_path(path, "id"), transition.id
    if not id_.strip():
        findings.error(where, keys.TRANSITION_BLANK, None, id_)
    elif occurrence == 2:
        findings.error(where, keys.TRANSITION_DUPLICATE, None, id_, id=id_, count=count)
    elif occurrence == 1 and not _IDENTIFIER.fullmatch(id_):
        findings.error(where, keys.TRANSITION_ID, None, id_)


def _check_ends(subject: Subject, transition: Transition, path: str, findings: Findings) -> None:
    source, target = transition.source_node_id, transition.target_node_id
    if source not in subject.nodes:
        findings.error(member_path(path, "sourceNodeId"), keys.TRANSITION_SOURCE, None, transition.id, id=source)
    if target not in subject.nodes:
        findings.error(member_path(path, "targetNodeId"), keys.TRANSITION_TARGET, None, transition.id, id=target)


def check_decisions(subject: Subject, findings: Findings) -> None:
    """Warn of a node that takes one arrow and has none for "no condition holds"."""
    for path, node in subject.each_node():
        edges = subject.graph.outgoing(node.id)
        if _is_exclusive(subject, node) and edges and all(_is_conditional(edge) for edge in edges):
            findings.warning(path, keys.NO_DEFAULT, node.id, name=node.label)


def _is_exclusive(subject: Subject, node: Node) -> bool:
    descriptor = subject.descriptor(node)
    return descriptor is not None and descriptor.outgoing_mode is OutgoingMode.EXCLUSIVE


def _is_conditional(edge: Transition) -> bool:
    return not edge.is_default and edge.condition is not None and bool(edge.condition.strip())


def check_joins(subject: Subject, findings: Findings) -> None:
    """Refuse a WaitAny join on a cycle; warn of a WaitAll join fed by branches of which only one runs (27)."""
    on_cycle = {node_id for cycle in subject.graph.cycles() for node_id in cycle}
    for path, node in subject.each_node():
        if node.activity_type != JOIN:
            continue
        mode = join_mode(subject.property(node, "Mode"))
        if mode == WAIT_ANY and node.id in on_cycle:
            findings.error(path, keys.JOIN_CYCLE, node.id, name=node.label)
        decision = _feeding_decision(subject, node.id) if mode == WAIT_ALL else None
        if decision is not None:
            findings.warning(path, keys.JOIN_EXCLUSIVE, node.id, name=node.label, decision=decision.label)


def _feeding_decision(subject: Subject, join: str) -> Node | None:
    """Return a node that takes one arrow and has two arrows that lead to different arrivals of the join, or None."""
    arrivals = subject.graph.incoming(join)
    if len(arrivals) < 2 or not subject.starts:
        return None
    before = subject.graph.leading_to(join)
    for decision in subject.nodes.values():
        branches = subject.graph.outgoing(decision.id)
        if decision.id not in before or len(branches) < 2 or not _is_exclusive(subject, decision):
            continue
        elsewhere = subject.graph.reachable(subject.starts[0].id, without={decision.id})
        sets = [_branches_of(subject, decision.id, join, arrival) for arrival in arrivals]
        fed = [
            branch for branch, arrival in zip(sets, arrivals, strict=True) if arrival.source_node_id not in elsewhere
        ]
        if any(one and other and not one & other for index, one in enumerate(fed) for other in fed[:index]):
            return decision
    return None


def _branches_of(subject: Subject, decision: str, join: str, arrival: Transition) -> frozenset[str]:
    """Return the ids of the decision's arrows by which a token can come to an arrival of the join."""
    return frozenset(
        branch.id
        for branch in subject.graph.outgoing(decision)
        if branch is arrival
        or arrival.source_node_id in subject.graph.reachable(branch.target_node_id, without={decision, join})
    )


def check_loops(subject: Subject, findings: Findings) -> None:
    """Warn of a loop without a step that waits: nothing but a condition ends it."""
    stopping = [node.id for node in subject.definition.nodes if not _runs_through(subject, node)]
    order = {node.id: path for path, node in reversed(list(subject.each_node()))}
    for cycle in subject.graph.cycles(without=stopping):
        members = [node_id for node_id in subject.nodes if node_id in cycle]
        names = [subject.label(node_id) for node_id in members[:_MOST_NAMES]]
        findings.warning(order[members[0]], keys.LOOP, members[0], names=names)


def _runs_through(subject: Subject, node: Node) -> bool:
    """Tell whether a node certainly hands its token on in the same wave; an unknown activity may wait."""
    descriptor = subject.descriptor(node)
    return descriptor is not None and not descriptor.waits and descriptor.outgoing_mode is not OutgoingMode.NONE


def check_compensation(subject: Subject, findings: Findings) -> None:
    """Check the nodes that compensate others: they exist, can do it, and nothing leads to them (1.17)."""
    by_itself = subject.definition.compensate_on_cancel or subject.definition.compensate_on_fault
    for path, node in subject.each_node():
        if node.compensate_with is None:
            continue
        where = member_path(path, "compensateWith")
        target = subject.nodes.get(node.compensate_with)
        if target is None:
            findings.error(where, keys.COMPENSATION_MISSING, node.id, id=node.compensate_with)
            continue
        waits = target.activity_type == "SubWorkflow" and subject.property(target, "WaitForCompletion") is not False
        if target.activity_type not in COMPENSATING or waits:
            choices = list(COMPENSATING)
            findings.error(where, keys.COMPENSATION_TYPE, node.id, type=target.activity_type, choices=choices)
        if target.activity_type == "ExternalTask" and by_itself:
            # No worker gets a task of an instance that does not run: nothing would ever be undone.
            findings.error(where, keys.COMPENSATION_EXTERNAL, node.id, name=target.label)
        if subject.graph.incoming(target.id):
            findings.error(where, keys.COMPENSATION_REACHED, node.id, name=target.label)
        if subject.graph.outgoing(target.id) or target.compensate_with is not None:
            findings.error(where, keys.COMPENSATION_CHAIN, node.id, name=target.label)
        if target.retry_policy is not None or target.timeout_seconds is not None or target.continue_on_error:
            findings.warning(where, keys.COMPENSATION_SETTINGS, node.id, name=target.label)
