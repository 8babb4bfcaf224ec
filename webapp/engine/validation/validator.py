"""Runs every check over a definition (spec 2.3): at publish, at start, and for the designer's list of problems."""

from __future__ import annotations

from collections.abc import Mapping

from webapp.engine.assignees import AssigneeProvider
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Problem
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.validation import activities, expressions, findings, identity, properties, structure
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
) -> list[Problem]:
    """Return every error and warning of a definition; an empty list means it may be published.

    Paths stand in the definition's JSON (``nodes[3].properties.Expressions.total``). Only a definition without nodes
    stops the checks early (spec 2.4, 3). *providers* are the assignee rules' by type.
    """
    subject = Subject(definition, registry, evaluator, providers)
    found = Findings()
    identity.check_names(subject, found)
    if not definition.nodes:
        found.error("nodes", findings.NO_NODES)
        return found.problems
    for check in _CHECKS:
        check(subject, found)
    return found.problems
