"""Who may decide: assignee rules, the providers that resolve them, and what an empty result means (spec 4.9, 6.6)."""

from webapp.engine.assignees.providers import BUILTIN_PROVIDERS, AssigneeProvider
from webapp.engine.assignees.resolver import Resolved, check_rules, resolve
from webapp.engine.assignees.rules import AssigneeError, AssigneeResolution, AssigneeRule, RuleType, read_rules
from webapp.engine.assignees.strategies import EmptyAssigneeStrategy

__all__ = [
    "BUILTIN_PROVIDERS",
    "AssigneeError",
    "AssigneeProvider",
    "AssigneeResolution",
    "AssigneeRule",
    "EmptyAssigneeStrategy",
    "Resolved",
    "RuleType",
    "check_rules",
    "read_rules",
    "resolve",
]
