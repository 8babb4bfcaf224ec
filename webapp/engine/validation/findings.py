"""The collector of problems, and every message key of validation (spec 2.4, 2.5; 25, catalog)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from webapp.engine.errors import Problem

NAME = "workflow.definition.name"
DISPLAY_NAME = "workflow.definition.display_name"
NO_NODES = "workflow.definition.no_nodes"
TIMEOUT = "workflow.definition.timeout"
TIMEOUT_ACTION = "workflow.definition.timeout_action"
TIMEOUT_ACTION_TYPE = "workflow.definition.timeout_action.type"
TIMEOUT_TARGET = "workflow.definition.timeout_target"
LISTENER_TYPE = "workflow.definition.listener.type"
LISTENER_OCCASION = "workflow.definition.listener.occasion"
LISTENER_TEXT = "workflow.definition.listener.text"
PRIORITY = "workflow.definition.priority"
NODE_DUPLICATE = "workflow.definition.node.duplicate"
NODE_BLANK = "workflow.definition.node.blank"
NODE_ID = "workflow.definition.node.id"
ACTIVITY_BLANK = "workflow.definition.activity.blank"
ACTIVITY_UNKNOWN = "workflow.definition.activity.unknown"
START_COUNT = "workflow.definition.start.count"
START_INCOMING = "workflow.definition.start.incoming"
START_TRIGGERS = "workflow.definition.start.triggers"
START_REQUIRED_VARIABLE = "workflow.definition.start.required_variable"
START_SIGNAL_TEMPLATE = "workflow.definition.start.signal_template"
GATEWAY_MANY = "workflow.definition.gateway.many"
GATEWAY_TWICE = "workflow.definition.gateway.twice"
GATEWAY_EVENT = "workflow.definition.gateway.event"
GATEWAY_MEMBER = "workflow.definition.gateway.member"
GATEWAY_LONG = "workflow.definition.gateway.long"
UNREACHABLE = "workflow.definition.unreachable"
TRANSITION_BLANK = "workflow.definition.transition.blank"
TRANSITION_ID = "workflow.definition.transition.id"
TRANSITION_DUPLICATE = "workflow.definition.transition.duplicate"
TRANSITION_SOURCE = "workflow.definition.transition.source"
TRANSITION_TARGET = "workflow.definition.transition.target"
TRANSITION_DEFAULT = "workflow.definition.transition.default"
DEFAULT_CONDITION = "workflow.definition.transition.default_condition"
NO_DEFAULT = "workflow.definition.decision.no_default"
JOIN_MODE = "workflow.definition.join.mode"
JOIN_CYCLE = "workflow.definition.join.cycle"
JOIN_EXCLUSIVE = "workflow.definition.join.exclusive"
LOOP = "workflow.definition.loop"
RETRY_ATTEMPTS = "workflow.definition.retry.attempts"
RETRY_DELAY = "workflow.definition.retry.delay"
RETRY_FACTOR = "workflow.definition.retry.factor"
COMPENSATION_CHAIN = "workflow.definition.compensation.chain"
COMPENSATION_EXTERNAL = "workflow.definition.compensation.external"
COMPENSATION_MISSING = "workflow.definition.compensation.missing"
COMPENSATION_SETTINGS = "workflow.definition.compensation.settings"
COMPENSATION_TYPE = "workflow.definition.compensation.type"
COMPENSATION_NOTHING = "workflow.definition.compensation.nothing"
COMPENSATION_REACHED = "workflow.definition.compensation.reached"
NO_ASSIGNEE = "workflow.definition.task.no_assignee"
EMPTY_ASSIGNEES = "workflow.definition.task.empty_assignees"
NO_FALLBACK = "workflow.definition.task.fallback"
THRESHOLD = "workflow.definition.task.threshold"
DELAY_SPAN = "workflow.definition.delay.span"
DELAY_CALENDAR = "workflow.definition.delay.calendar"
START_DELAY = "workflow.definition.start.delay"
START_CATCH_UP = "workflow.definition.start.catch_up"
START_SIGNAL_LONG = "workflow.definition.start.signal_long"
CALENDAR_UNKNOWN = "workflow.definition.calendar"
TIME_ZONE_UNKNOWN = "workflow.definition.time_zone"
VARIABLE_BLANK = "workflow.definition.variable.blank"
VARIABLE_DUPLICATE = "workflow.definition.variable.duplicate"
VARIABLE_TYPE = "workflow.definition.variable.type"
VARIABLE_DEFAULT = "workflow.definition.variable.default"
VARIABLE_RESERVED = "workflow.definition.variable.reserved"
VARIABLE_UNREADABLE = "workflow.definition.variable.unreadable"
VARIABLE_UNSET = "workflow.definition.variable.unset"
VARIABLE_EARLY = "workflow.definition.variable.early"
PROPERTY_UNKNOWN = "workflow.property.unknown"
PROPERTY_TWICE = "workflow.property.twice"
PROPERTY_REQUIRED = "workflow.property.required"
PROPERTY_EXPECTED = "workflow.property.expected"
PROPERTY_CHOICE = "workflow.property.choice"
PROPERTY_MINIMUM = "workflow.property.minimum"
PROPERTY_POSITIVE = "workflow.property.positive"

KEYS = tuple(value for name, value in sorted(globals().items()) if name.isupper() and isinstance(value, str))
"""Every key above; expressions and assignee rules add their own."""


class Findings:
    """Collects problems in the order they are found."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def error(self, path: str, key: str, node: str | None = None, transition: str | None = None, **params: Any) -> None:
        """Add what forbids publishing."""
        self._add("error", path, key, node, transition, params)

    def warning(
        self, path: str, key: str, node: str | None = None, transition: str | None = None, **params: Any
    ) -> None:
        """Add what a designer should look at."""
        self._add("warning", path, key, node, transition, params)

    def take(self, problem: Problem, node: str | None, transition: str | None = None) -> None:
        """Add a problem that another part found, for the node or transition it belongs to."""
        self.problems.append(msgspec.structs.replace(problem, node_id=node, transition_id=transition))

    def _add(
        self,
        severity: Literal["error", "warning"],
        path: str,
        key: str,
        node: str | None,
        transition: str | None,
        params: dict[str, Any],
    ) -> None:
        self.problems.append(
            Problem(path=path, key=key, params=params, severity=severity, node_id=node, transition_id=transition)
        )
