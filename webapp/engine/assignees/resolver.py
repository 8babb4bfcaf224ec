"""Resolves the rules of a user task to account names, and checks them at publish (spec 4.9, 6.6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from webapp.engine.assignees.providers import AssigneeProvider, Check
from webapp.engine.assignees.rules import (
    MAX_ACCOUNT,
    AssigneeError,
    AssigneeResolution,
    AssigneeRule,
    read_rule,
    unknown_type,
)
from webapp.engine.assignees.strategies import EmptyAssigneeStrategy
from webapp.engine.errors import Problem
from webapp.engine.instances.limits import MAX_SIGNERS
from webapp.engine.instances.model import APPROVED, REJECTED
from webapp.engine.numbers import JsonValue

Present = Callable[[Collection[str]], Collection[str]]
"""Returns those of the names that count as absent: disabled accounts (spec 6.7)."""


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """The people found, or the label that the node completes with because nobody was."""

    ids: tuple[str, ...] = ()
    label: str | None = None


def check_rules(value: JsonValue, providers: Mapping[str, AssigneeProvider], check: Check) -> list[Problem]:
    """Return what is wrong with a property that holds rules; paths are relative to it (``[0].values[1]``)."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [Problem(path="", key="workflow.assignee.rules_shape")]
    return [problem for index in range(len(value)) for problem in _check_rule(value[index], index, providers, check)]


def _check_rule(
    item: JsonValue, index: int, providers: Mapping[str, AssigneeProvider], check: Check
) -> Iterator[Problem]:
    at = f"[{index}]"
    try:
        rule = read_rule(item, index)
    except AssigneeError as error:
        yield Problem(path=at, key=error.key, params=error.arguments)
        return
    provider = providers.get(rule.type)
    if provider is None:
        unknown = unknown_type(rule.type)
        yield Problem(path=f"{at}.type", key=unknown.key, params=unknown.arguments)
        return
    if rule.claimable:
        yield Problem(path=f"{at}.claimable", key="workflow.assignee.claimable")
    for problem in provider.validate(rule, check):
        yield msgspec.structs.replace(problem, path=f"{at}.{problem.path}")


def resolve(
    rules: Sequence[AssigneeRule],
    providers: Mapping[str, AssigneeProvider],
    resolution: Callable[[AssigneeRule], AssigneeResolution],
    *,
    strategy: EmptyAssigneeStrategy,
    fallback: Sequence[str],
    absent: Present,
) -> Resolved:
    """Return who may decide: the rules' results in order, without blanks, duplicates and absent people.

    :raises AssigneeError: a rule cannot be resolved, or nobody is left and the strategy says Fault.
    """
    names: list[str] = []
    for rule in rules:
        provider = providers.get(rule.type)
        if provider is None:
            raise unknown_type(rule.type)
        names += provider.resolve(resolution(rule))
    ids = _present(names, absent)
    if ids:
        return Resolved(ids=ids)
    match strategy:
        case EmptyAssigneeStrategy.SKIP:
            return Resolved(label=APPROVED)
        case EmptyAssigneeStrategy.REJECT:
            return Resolved(label=REJECTED)
        case EmptyAssigneeStrategy.STARTER:
            starter = resolution(AssigneeRule(type="")).starter_id
            ids = _present([] if starter is None else [starter], absent)
        case EmptyAssigneeStrategy.ASSIGN_TO:
            ids = _present(fallback, absent)
        case _:
            ids = ()
    if not ids:
        raise AssigneeError("workflow.task.no_assignee")
    return Resolved(ids=ids)


def _present(names: Iterable[str], absent: Present) -> tuple[str, ...]:
    found = dict.fromkeys(name.strip() for name in names if name.strip())
    for name in found:
        if len(name) > MAX_ACCOUNT:
            raise AssigneeError("workflow.assignee.too_long", args={"max": MAX_ACCOUNT})
    if len(found) > MAX_SIGNERS:
        raise AssigneeError("workflow.assignee.too_many", args={"max": MAX_SIGNERS})
    gone = absent(tuple(found))
    return tuple(name for name in found if name not in gone)
