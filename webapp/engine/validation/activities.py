"""What only one activity knows about its properties together (spec 2.4: 16, 21, 23; 2.5: 28)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec

from webapp.engine.activities.compiled import START
from webapp.engine.assignees import EmptyAssigneeStrategy, check_rules
from webapp.engine.definitions.model import Node
from webapp.engine.descriptors import Editor
from webapp.engine.expressions import Diagnostic, TextKind
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonValue
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.subject import Subject

_SPANS = ("DurationSeconds", "Until", "Cron")


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
    report = findings.error if _filled(triggers["Cron"]) else findings.warning
    trigger = next((name for name, value in triggers.items() if _filled(value)), None)
    if trigger is None:
        return
    for index, variable in enumerate(subject.definition.variables):
        if variable.required and variable.default_value is None:
            where = item_path("variables", index)
            report(where, keys.START_REQUIRED_VARIABLE, node.id, name=variable.name, trigger=trigger)


def _check_delay(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    descriptor = subject.descriptor(node)
    known = [name for name in _SPANS if descriptor is not None and descriptor.property(name) is not None]
    given = [name for name in known if _filled(subject.property(node, name))]
    # With one span to choose from, "required" says it all.
    if len(known) > 1 and len(given) != 1:
        findings.error(member_path(path, "properties"), keys.DELAY_SPAN, node.id, choices=known)


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
    threshold = subject.property(node, "CompletionThreshold")
    if isinstance(threshold, int | Decimal) and not 0 < threshold <= 1:
        findings.error(member_path(where, "CompletionThreshold"), keys.THRESHOLD, node.id)


def _filled(value: JsonValue) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})


_RULES: dict[str, Callable[[Subject, Node, str, Findings], None]] = {
    START: _check_start,
    "Delay": _check_delay,
    "UserTask": _check_user_task,
}
