"""Runs every check over a definition (spec 2.3): at publish, at start, and for the designer's list of problems."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from webapp.engine.assignees import AssigneeProvider
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Problem
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.validation import activities, expressions, findings, identity, properties, structure, times
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.subject import Descriptors, Subject

_CHECKS = (
    identity.check_settings,
    identity.check_nodes,
    identity.check_variables,
    structure.check_start,
    structure.check_transitions,
    properties.check_properties,
    activities.check_activities,
    times.check_times,
    expressions.check_expressions,
    structure.check_compensation,
    structure.check_joins,
    structure.check_decisions,
    structure.check_loops,
    expressions.check_variable_flow,
)


def validate_definition(
    definition: WorkflowDefinition,
    *,
    registry: Descriptors,
    evaluator: ExpressionEvaluator,
    providers: Mapping[str, AssigneeProvider],
    calendars: Collection[str] | None = None,
) -> list[Problem]:
    """Return every error and warning of a definition; an empty list means it may be published.

    Paths stand in the definition's JSON (``nodes[3].properties.Expressions.total``). Only a definition without nodes
    stops the checks early (spec 2.4, 3). *providers* are the assignee rules' by type. *calendars* are the
    names of the partition's work calendars; None when nothing is known of them.
    """
    subject = Subject(definition, registry, evaluator, providers, calendars)
    found = Findings()
    identity.check_names(subject, found)
    if not definition.nodes:
        found.error("nodes", findings.NO_NODES)
        return found.problems
    for check in _CHECKS:
        check(subject, found)
    return found.problems
