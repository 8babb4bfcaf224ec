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
from webapp.engine.instances.principals import is_group
from webapp.engine.numbers import JsonValue

Present = Callable[[Collection[str]], Collection[str]]
"""Returns those of the names that count as absent: disabled accounts (spec 6.7)."""

Members = Callable[[str], Collection[str]]
"""Returns the accounts of a group, ``role:NAME`` or ``department:NAME``."""


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """The people found, ``claimable`` those that are groups; or the label the node completes with as nobody was."""

    ids: tuple[str, ...] = ()
    claimable: frozenset[str] = frozenset()
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
    members: Members,
) -> Resolved:
    """Return who may decide: the rules' results in order, without blanks, duplicates and absent people.

    A group stands for its members, by name; under a claimable rule it stays, to be claimed by one of them (spec 6.7).

    :raises AssigneeError: a rule cannot be resolved, or nobody is left and the strategy says Fault.
    """
    names, groups = _names(rules, providers, resolution, members)
    ids = _present(names, absent)
    if ids:
        return Resolved(ids=ids, claimable=groups)
    match strategy:
        case EmptyAssigneeStrategy.SKIP:
            return Resolved(label=APPROVED)
        case EmptyAssigneeStrategy.REJECT:
            return Resolved(label=REJECTED)
        case EmptyAssigneeStrategy.STARTER:
            starter = resolution(AssigneeRule(type="")).starter_id
            ids = _present([] if starter is None else [starter], absent)
        case EmptyAssigneeStrategy.ASSIGN_TO:
            ids = _present(_people(fallback, members), absent)
        case _:
            ids = ()
    if not ids:
        raise AssigneeError("workflow.task.no_assignee")
    return Resolved(ids=ids)


def _names(
    rules: Sequence[AssigneeRule],
    providers: Mapping[str, AssigneeProvider],
    resolution: Callable[[AssigneeRule], AssigneeResolution],
    members: Members,
) -> tuple[list[str], frozenset[str]]:
    names: list[str] = []
    groups: set[str] = set()
    for rule in rules:
        provider = providers.get(rule.type)
        if provider is None:
            raise unknown_type(rule.type)
        found = provider.resolve(resolution(rule))
        if rule.claimable:
            names += found
            groups.update(name for name in (one.strip() for one in found) if is_group(name))
        else:
            names += _people(found, members)
    return names, frozenset(groups)


def _people(names: Iterable[str], members: Members) -> Iterator[str]:
    for name in (one.strip() for one in names):
        if is_group(name):
            yield from sorted(members(name))
        else:
            yield name


def _present(names: Iterable[str], absent: Present) -> tuple[str, ...]:
    found = dict.fromkeys(name.strip() for name in names if name.strip())
    for name in found:
        if len(name) > MAX_ACCOUNT:
            raise AssigneeError("workflow.assignee.too_long", args={"max": MAX_ACCOUNT})
    if len(found) > MAX_SIGNERS:
        raise AssigneeError("workflow.assignee.too_many", args={"max": MAX_SIGNERS})
    gone = absent(tuple(found))
    return tuple(name for name in found if name not in gone)
