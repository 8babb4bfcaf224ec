"""The provider of a rule type, and the built-in ones: User, Starter, Expression, CompletedBy (spec 4.9, 4.20, 14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from webapp.engine.assignees.rules import AssigneeError, AssigneeResolution, AssigneeRule, RuleType, names_of
from webapp.engine.errors import Problem
from webapp.engine.expressions import Diagnostic

Check = Callable[[str], Sequence[Diagnostic]]
"""Returns what is wrong with an expression's text."""


class AssigneeProvider(Protocol):
    """Makes account names of the rules of one type; one object serves all instances and threads."""

    @property
    def rule_type(self) -> str:
        """The ``type`` of the rules it resolves."""

    def validate(self, rule: AssigneeRule, check: Check) -> Sequence[Problem]:
        """Return what is wrong with a rule at publish; paths are relative to the rule (``values[0]``)."""

    def resolve(self, resolution: AssigneeResolution) -> Sequence[str]:
        """Return account names in order; none is legal. :raises AssigneeError: the rule cannot be resolved."""


def _not_texts(rule: AssigneeRule) -> list[Problem]:
    if not rule.values:
        return [Problem(path="values", key="workflow.assignee.no_values", params={"type": rule.type})]
    return [
        Problem(path=f"values[{index}]", key="workflow.assignee.not_names")
        for index, value in enumerate(rule.values)
        if not isinstance(value, str) or not value.strip()
    ]


class UserProvider:
    """User: the values are account names; blank ones are dropped (spec 4.9)."""

    rule_type: str = RuleType.USER

    def validate(self, rule: AssigneeRule, check: Check) -> Sequence[Problem]:
        """Return a problem for each value that is no name, or for naming nobody."""
        problems = [
            Problem(path=f"values[{index}]", key="workflow.assignee.not_names")
            for index, value in enumerate(rule.values)
            if not isinstance(value, str)
        ]
        if not problems and not any(str(value).strip() for value in rule.values):
            return [Problem(path="values", key="workflow.assignee.no_values", params={"type": rule.type})]
        return problems

    def resolve(self, resolution: AssigneeResolution) -> Sequence[str]:
        """Return the values."""
        return names_of(list(resolution.rule.values))


class StarterProvider:
    """Starter: who started the instance; values mean nothing."""

    rule_type: str = RuleType.STARTER

    def validate(self, rule: AssigneeRule, check: Check) -> Sequence[Problem]:
        """Return nothing: there is nothing to get wrong."""
        return []

    def resolve(self, resolution: AssigneeResolution) -> Sequence[str]:
        """Return the starter; an instance without one has nobody."""
        return [] if resolution.starter_id is None else [resolution.starter_id]


class ExpressionProvider:
    """Expression: each value is an expression that gives a list, or a text with commas."""

    rule_type: str = RuleType.EXPRESSION

    def validate(self, rule: AssigneeRule, check: Check) -> Sequence[Problem]:
        """Return a problem for each value that is no expression, or for having none."""
        problems = _not_texts(rule)
        for index, value in enumerate(rule.values):
            if isinstance(value, str) and value.strip():
                problems += [diagnostic.problem(f"values[{index}]") for diagnostic in check(value)]
        return problems

    def resolve(self, resolution: AssigneeResolution) -> Sequence[str]:
        """Return the names of all results in order; errors of the expressions pass through."""
        names: list[str] = []
        for text in resolution.rule.values:
            if not isinstance(text, str):
                raise AssigneeError("workflow.assignee.not_names")
            names += names_of(resolution.evaluate(text))
        return names


class CompletedByProvider:
    """CompletedBy: the values are ids of nodes; who completed each of them last in this instance (spec 4.20)."""

    rule_type: str = RuleType.COMPLETED_BY

    def validate(self, rule: AssigneeRule, check: Check) -> Sequence[Problem]:
        """Return a problem for each value that is no text, or for having none."""
        return _not_texts(rule)

    def resolve(self, resolution: AssigneeResolution) -> Sequence[str]:
        """Return those people in order; a node that nobody has completed yet gives nobody."""
        found = []
        for node_id in resolution.rule.values:
            if not isinstance(node_id, str):
                raise AssigneeError("workflow.assignee.not_names")
            found.append(resolution.completed_by(node_id))
        return [name for name in found if name is not None]


BUILTIN_PROVIDERS: tuple[AssigneeProvider, ...] = (
    UserProvider(),
    StarterProvider(),
    ExpressionProvider(),
    CompletedByProvider(),
)
"""The rule types that every installation has."""
