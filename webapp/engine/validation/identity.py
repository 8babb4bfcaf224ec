"""Names, ids, variables, limits of time: what can be judged member by member (spec 2.4: 1 to 7, 18, 22, 24, 26)."""

from __future__ import annotations

import re
from collections import Counter

from webapp.engine.definitions.model import (
    IDENTIFIER_PATTERN,
    NAME_PATTERN,
    Node,
    RetryPolicy,
    VariableDefinition,
)
from webapp.engine.instances.bookmarks import Priority
from webapp.engine.instances.requests import VARIABLE_TYPES, is_of_type
from webapp.engine.json_input import item_path, member_path
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.listeners import check_listeners
from webapp.engine.validation.subject import Subject
from webapp.engine.validation.timeouts import check_timeout_action

WRITTEN_BY_ENGINE = frozenset(("outcome", "lastError"))
"""Variables that the engine writes (spec 1.13)."""

_NAME = re.compile(NAME_PATTERN)
_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)
_READABLE = re.compile(r"[^\W\d]\w*")


def check_names(subject: Subject, findings: Findings) -> None:
    """Check the definition's own name and title (1, 2)."""
    if not _NAME.fullmatch(subject.definition.name):
        findings.error("name", keys.NAME)
    if not subject.definition.display_name.strip():
        findings.error("displayName", keys.DISPLAY_NAME)


def check_settings(subject: Subject, findings: Findings) -> None:
    """Check what the definition sets for all its instances (22, 24)."""
    definition = subject.definition
    if definition.timeout is not None and definition.timeout <= 0:
        findings.error("timeout", keys.TIMEOUT)
    priorities = [priority.value for priority in Priority]
    if definition.priority is not None and definition.priority not in priorities:
        findings.error("priority", keys.PRIORITY, value=definition.priority, choices=priorities)


def check_nodes(subject: Subject, findings: Findings) -> None:
    """Check ids, activity types, retry and time limits of every node (4 to 7, 18, 22, 24)."""
    _check_ids(subject, findings)
    for path, node in subject.each_node():
        if not node.activity_type.strip():
            findings.error(member_path(path, "activityType"), keys.ACTIVITY_BLANK, node.id)
        elif subject.descriptor(node) is None:
            where = member_path(path, "activityType")
            findings.error(where, keys.ACTIVITY_UNKNOWN, node.id, type=node.activity_type)
        if node.retry_policy is not None:
            _check_retry(node.retry_policy, member_path(path, "retryPolicy"), node.id, findings)
        _check_timeout(node, path, findings)
        check_listeners(node, path, findings)


def _check_ids(subject: Subject, findings: Findings) -> None:
    counts = Counter(node.id for node in subject.definition.nodes)
    seen: Counter[str] = Counter()
    for path, node in subject.each_node():
        where = member_path(path, "id")
        seen[node.id] += 1
        if not node.id.strip():
            findings.error(where, keys.NODE_BLANK, node.id)
        elif seen[node.id] == 2:
            findings.error(where, keys.NODE_DUPLICATE, node.id, id=node.id, count=counts[node.id])
        elif seen[node.id] == 1 and not _IDENTIFIER.fullmatch(node.id):
            findings.error(where, keys.NODE_ID, node.id)


def _check_retry(policy: RetryPolicy, path: str, node_id: str, findings: Findings) -> None:
    if policy.max_attempts < 1:
        findings.error(member_path(path, "maxAttempts"), keys.RETRY_ATTEMPTS, node_id)
    if policy.first_delay_seconds < 0:
        findings.error(member_path(path, "firstDelaySeconds"), keys.RETRY_DELAY, node_id)
    if policy.backoff_factor < 1:
        findings.error(member_path(path, "backoffFactor"), keys.RETRY_FACTOR, node_id)


def _check_timeout(node: Node, path: str, findings: Findings) -> None:
    if node.timeout_seconds is not None and node.timeout_seconds <= 0:
        findings.error(member_path(path, "timeoutSeconds"), keys.TIMEOUT, node.id)
    check_timeout_action(node, path, findings)


def check_variables(subject: Subject, findings: Findings) -> None:
    """Check the declared variables: names, types, defaults (26, 1.16)."""
    variables = subject.definition.variables
    counts = Counter(variable.name for variable in variables)
    seen: Counter[str] = Counter()
    for index, variable in enumerate(variables):
        path = item_path("variables", index)
        seen[variable.name] += 1
        if seen[variable.name] == 2 and variable.name.strip():
            where = member_path(path, "name")
            findings.error(where, keys.VARIABLE_DUPLICATE, name=variable.name, count=counts[variable.name])
        _check_variable_name(variable.name, member_path(path, "name"), findings)
        _check_variable_type(variable, path, findings)


def _check_variable_name(name: str, path: str, findings: Findings) -> None:
    if not name.strip():
        findings.error(path, keys.VARIABLE_BLANK)
    elif name in WRITTEN_BY_ENGINE or name.startswith("__"):
        findings.warning(path, keys.VARIABLE_RESERVED, name=name)
    elif not _READABLE.fullmatch(name):
        findings.warning(path, keys.VARIABLE_UNREADABLE, name=name)


def _check_variable_type(variable: VariableDefinition, path: str, findings: Findings) -> None:
    if variable.type is None:
        return
    if variable.type not in VARIABLE_TYPES:
        choices = list(VARIABLE_TYPES)
        findings.error(member_path(path, "type"), keys.VARIABLE_TYPE, type=variable.type, choices=choices)
    elif variable.default_value is not None and not is_of_type(variable.default_value, variable.type):
        where = member_path(path, "defaultValue")
        findings.error(where, keys.VARIABLE_DEFAULT, name=variable.name, type=variable.type)
