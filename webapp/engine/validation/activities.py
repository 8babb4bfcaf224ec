"""What only one activity knows about its properties together (spec 2.4: 16, 21, 23; 2.5: 28)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec

from webapp.engine.activities.compiled import START
from webapp.engine.activities.signals import GATEWAY
from webapp.engine.assignees import EmptyAssigneeStrategy, check_rules
from webapp.engine.definitions.model import Node
from webapp.engine.descriptors import Editor
from webapp.engine.expressions import Diagnostic, TextKind
from webapp.engine.instances.limits import MAX_KEY
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonValue
from webapp.engine.tasks.forms import check_form
from webapp.engine.tasks.policies import Policy, is_threshold
from webapp.engine.tasks.properties import COMPLETION_POLICY, COMPLETION_THRESHOLD, FORM
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.gateways import check_gateway
from webapp.engine.validation.subject import Subject

_SPANS = ("DurationSeconds", "Until", "Cron")
_START_DELAYS = ("DelaySeconds", "StartAt")


def check_activities(subject: Subject, findings: Findings) -> None:
    """Check every node whose activity is known against the rules of its type."""
    for path, node in subject.each_node():
        if subject.descriptor(node) is None:
            continue
        _check_assignee_rules(subject, node, path, findings)
        rule = _RULES.get(node.activity_type)
        if rule is not None:
            rule(subject, node, path, findings)


def _check_assignee_rules(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    """Let the provider of each assignee rule judge it."""

    def check(text: str) -> Sequence[Diagnostic]:
        return subject.evaluator.check(text, TextKind.EXPRESSION)

    for described, value, where in subject.properties(node, path):
        if described.editor is Editor.ASSIGNEE_RULES:
            for problem in check_rules(value, subject.providers, check):
                findings.take(msgspec.structs.replace(problem, path=where + problem.path), node.id)


def _check_start(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    triggers = {"Cron": subject.property(node, "Cron"), "SignalName": subject.property(node, "SignalName")}
    if all(_filled(value) for value in triggers.values()):
        findings.error(member_path(path, "properties"), keys.START_TRIGGERS, node.id)
    _check_start_time(subject, node, path, findings)
    report = findings.error if _filled(triggers["Cron"]) else findings.warning
    trigger = next((name for name, value in triggers.items() if _filled(value)), None)
    if trigger is None:
        return
    for index, variable in enumerate(subject.definition.variables):
        if variable.required and variable.default_value is None:
            where = item_path("variables", index)
            report(where, keys.START_REQUIRED_VARIABLE, node.id, name=variable.name, trigger=trigger)


def _check_start_time(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    where = member_path(path, "properties")
    delays = [name for name in _START_DELAYS if _filled(subject.property(node, name))]
    if len(delays) > 1:
        findings.error(where, keys.START_DELAY, node.id, choices=delays)
    signal = subject.property(node, "SignalName")
    if isinstance(signal, str) and len(signal) > MAX_KEY:
        findings.error(member_path(where, "SignalName"), keys.START_SIGNAL_LONG, node.id, max=MAX_KEY)
    if isinstance(signal, str) and "{{" in signal:
        # Nothing has been started yet that a template could be rendered against.
        findings.error(member_path(where, "SignalName"), keys.START_SIGNAL_TEMPLATE, node.id)
    if _filled(subject.property(node, "CatchUp")) and not _filled(subject.property(node, "Cron")):
        findings.warning(member_path(where, "CatchUp"), keys.START_CATCH_UP, node.id)


def _check_delay(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    given = [name for name in _SPANS if _filled(subject.property(node, name))]
    if len(given) != 1:
        findings.error(member_path(path, "properties"), keys.DELAY_SPAN, node.id, choices=list(_SPANS))
    if _filled(subject.property(node, "WorkCalendar")) and given and "DurationSeconds" not in given:
        where = member_path(member_path(path, "properties"), "WorkCalendar")
        findings.warning(where, keys.DELAY_CALENDAR, node.id)


def _check_user_task(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    where = member_path(path, "properties")
    assignees = subject.property(node, "Assignees")
    others = _filled(subject.property(node, "AssigneesExpression")) or _filled(subject.property(node, "AssigneeRules"))
    strategy = EmptyAssigneeStrategy.read(subject.property(node, "EmptyAssigneeStrategy"))
    if strategy is EmptyAssigneeStrategy.ASSIGN_TO:
        if not _filled(subject.property(node, "FallbackAssignees")):
            findings.error(member_path(where, "FallbackAssignees"), keys.NO_FALLBACK, node.id)
    elif assignees is None and not others:
        findings.error(where, keys.NO_ASSIGNEE, node.id, name=node.label)
    elif assignees == [] and not others and strategy is EmptyAssigneeStrategy.FAULT:
        findings.warning(member_path(where, "Assignees"), keys.EMPTY_ASSIGNEES, node.id, name=node.label)
    form = subject.property(node, FORM)
    if isinstance(form, dict):
        for problem in check_form(form):
            findings.take(msgspec.structs.replace(problem, path=f"{member_path(where, FORM)}{problem.path}"), node.id)
    threshold = subject.property(node, COMPLETION_THRESHOLD)
    by_share = Policy.read(subject.property(node, COMPLETION_POLICY)) is Policy.RATIO
    if (isinstance(threshold, int | Decimal) and not is_threshold(threshold)) or (by_share and not _filled(threshold)):
        findings.error(member_path(where, "CompletionThreshold"), keys.THRESHOLD, node.id)


def _check_compensate(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    value = subject.property(node, "NodeIds")
    where = member_path(member_path(path, "properties"), "NodeIds")
    for index, node_id in enumerate(value if isinstance(value, list) else []):
        if not isinstance(node_id, str):
            continue
        other = subject.nodes.get(node_id)
        if other is None:
            findings.error(item_path(where, index), keys.COMPENSATION_MISSING, node.id, id=node_id)
        elif other.compensate_with is None and (found := subject.descriptor(other)) is not None and not found.custom:
            findings.warning(item_path(where, index), keys.COMPENSATION_NOTHING, node.id, name=other.label)


def _filled(value: JsonValue) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})


_RULES: dict[str, Callable[[Subject, Node, str, Findings], None]] = {
    START: _check_start,
    "Compensate": _check_compensate,
    "Delay": _check_delay,
    "UserTask": _check_user_task,
    GATEWAY: check_gateway,
}
