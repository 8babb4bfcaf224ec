"""Every text that is evaluated: what is wrong with it, and whether its variables can exist (spec 2.4: 11, 20)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import msgspec

from webapp.engine.activities.compiled import START
from webapp.engine.definitions.model import Node
from webapp.engine.errors import Problem
from webapp.engine.expressions import ExpressionError, TextKind
from webapp.engine.expressions.diagnostics import NOT_A_CONDITION
from webapp.engine.json_input import item_path
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.subject import Site, Subject

_OUTCOME = "outcome"  # null when nothing has set it (25, expressions), so it can always be read
_LAST_ERROR = "lastError"
_OUTPUTS: Mapping[str, tuple[str, ...]] = {"Http": ("httpStatusCode",)}
_OWN_RESULT_ONLY = frozenset(("Delay", "SubWorkflow", "ForEach"))
"""Activities that wait and write nothing but their ResultVariable."""

_MOST_WRITERS = 3


class _Read(NamedTuple):
    """A root variable that a text reads."""

    name: str
    site: Site


def check_expressions(subject: Subject, findings: Findings) -> None:
    """Check the syntax, the calls and the limits of every expression, condition and template."""
    for site in subject.sites():
        if site.checked_by_provider:
            continue
        for diagnostic in subject.evaluator.check(site.text, site.kind):
            problem = diagnostic.problem(site.path)
            if diagnostic.key == NOT_A_CONDITION:
                # It fails only when it is reached, which an earlier arrow may prevent.
                problem = msgspec.structs.replace(problem, severity="warning")
            findings.take(problem, site.node_id, site.transition_id)


def check_variable_flow(subject: Subject, findings: Findings) -> None:
    """Warn of variables that are read where nothing can have written them.

    Never an error: a start may bring undeclared variables. Nothing is said behind a step that may write any name.
    """
    reads = list(_reads(subject))
    writers = _writers(subject)
    declared = {variable.name for variable in subject.definition.variables}
    open_writers = [node.id for node in subject.definition.nodes if _writes_anything(subject, node)]
    covered = _behind(subject, open_writers)
    behind: dict[str, frozenset[str]] = {}
    unset: set[str] = set()
    compensating = {node.compensate_with for node in subject.definition.nodes}
    for name, site in reads:
        if site.node_id in compensating:
            # It runs when the flow is undone, and sees the outputs of what it undoes as well.
            continue
        if name == _OUTCOME or _at(site, covered, open_writers):
            continue
        sources = writers.get(name, [])
        if name not in behind:
            behind[name] = _behind(subject, sources)
        if _at(site, behind[name], sources):
            continue
        if name in declared:
            unset.add(name)
        else:
            findings.take(_warning(subject, name, site, sources), site.node_id, site.transition_id)
    for index, variable in enumerate(subject.definition.variables):
        if variable.name in unset and not variable.required and variable.default_value is None:
            findings.warning(item_path("variables", index), keys.VARIABLE_UNSET, name=variable.name)


def _reads(subject: Subject) -> Iterable[_Read]:
    for site in subject.sites():
        try:
            if site.kind is TextKind.TEMPLATE:
                names = subject.evaluator.compile_template(site.text).names
            else:
                names = subject.evaluator.compile(site.text).names
        except ExpressionError:
            continue
        yield from (_Read(name, site) for name in sorted(names - site.own_names))


def _writers(subject: Subject) -> dict[str, list[str]]:
    """Return the nodes that write each variable, as far as the definition says."""
    writers: dict[str, list[str]] = {}
    for node in subject.definition.nodes:
        for name in _written(subject, node):
            writers.setdefault(name, []).append(node.id)
    return writers


def _written(subject: Subject, node: Node) -> set[str]:
    names = set(_OUTPUTS.get(node.activity_type, ()))
    if node.continue_on_error:
        names.add(_LAST_ERROR)
    result = subject.property(node, "ResultVariable")
    if isinstance(result, str):
        names.add(result)
    if node.activity_type == "SetVariable":
        for name in ("Values", "Expressions"):
            members = subject.property(node, name)
            names |= members.keys() if isinstance(members, dict) else set()
    writable = subject.property(node, "WritableVariables")
    names |= {name for name in writable if isinstance(name, str)} if isinstance(writable, list) else set()
    return names


def _writes_anything(subject: Subject, node: Node) -> bool:
    """Tell whether a node may write names that the definition does not tell: people, signals, custom activities."""
    descriptor = subject.descriptor(node)
    if descriptor is None or descriptor.custom:
        return True
    if isinstance(subject.property(node, "WritableVariables"), list):
        return False
    if node.activity_type == START:
        return subject.property(node, "SignalName") not in (None, "")
    return descriptor.waits and node.activity_type not in _OWN_RESULT_ONLY


def _behind(subject: Subject, node_ids: Iterable[str]) -> frozenset[str]:
    """Return the nodes that can run after one of these nodes has run."""
    targets = [edge.target_node_id for node_id in node_ids for edge in subject.graph.outgoing(node_id)]
    return subject.graph.reachable(*targets)


def _at(site: Site, behind: frozenset[str], writers: Iterable[str]) -> bool:
    """Tell whether a text is evaluated after a writer; a condition is so after its own node, too."""
    afterwards = site.afterwards or site.transition_id is not None
    return site.node_id in behind or (afterwards and site.node_id in writers)


def _warning(subject: Subject, name: str, site: Site, writers: list[str]) -> Problem:
    (place, *_) = subject.evaluator.check(site.text, site.kind, _AllBut(name))
    problem = place.problem(site.path)
    if writers:
        labels = [subject.label(node_id) for node_id in writers[:_MOST_WRITERS]]
        problem = msgspec.structs.replace(problem, key=keys.VARIABLE_EARLY, params={"name": name, "writers": labels})
    return msgspec.structs.replace(problem, severity="warning")


class _AllBut(Container[str]):
    """Holds every name but one, so that a check finds the places of that one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __contains__(self, name: object) -> bool:
        return name != self._name
