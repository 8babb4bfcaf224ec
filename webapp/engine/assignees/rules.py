"""Assignee rules as a definition writes them: ``{type, values, claimable?}`` (spec 4.9, 25)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from webapp.engine.errors import NOTFOUND_TYPE, UNEXPECTED
from webapp.engine.numbers import JsonValue

MAX_ACCOUNT = 128
"""The length of an account's name (spec 1.17)."""


class RuleType(StrEnum):
    """The built-in rule types."""

    USER = "User"
    STARTER = "Starter"
    EXPRESSION = "Expression"
    COMPLETED_BY = "CompletedBy"


class AssigneeError(Exception):
    """A rule that cannot be read or resolved: a fault of the node, never "nobody" (spec 6.6)."""

    def __init__(self, key: str, *, code: str = UNEXPECTED, args: Mapping[str, Any] | None = None) -> None:
        self.key = key
        self.code = code
        self.arguments = dict(args or {})
        super().__init__(key)


class AssigneeRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: the provider of ``type`` makes account names of ``values``."""

    type: str
    values: tuple[JsonValue, ...] = ()
    claimable: bool = False


class AssigneeResolution(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider gets: the rule, who started the instance, a way to evaluate an expression.

    ``transaction``: the connection that a provider reads or writes an application's own tables with, as
    ``context.transaction()`` of an activity. ``completed_by`` returns who completed a node last in this instance, or
    None; it knows the whole instance only for rules of the type CompletedBy.
    """

    rule: AssigneeRule
    starter_id: str | None
    evaluate: Callable[[str], JsonValue]
    completed_by: Callable[[str], str | None] = lambda node_id: None
    partition: str | None = None
    instance_id: str = ""
    node_id: str = ""
    transaction: Callable[[], Any] | None = None


def read_rules(value: JsonValue) -> list[AssigneeRule]:
    """Return the rules a property holds; None holds none. :raises AssigneeError: it is no list of rules."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise AssigneeError("workflow.assignee.rules_shape")
    return [read_rule(item, index) for index, item in enumerate(value)]


def read_rule(item: JsonValue, index: int) -> AssigneeRule:
    """Return one rule of a list. :raises AssigneeError: it is none."""
    if not isinstance(item, dict) or not isinstance(item.get("type"), str) or not item["type"].strip():
        raise AssigneeError("workflow.assignee.rule_shape", args={"number": index + 1})
    values = item.get("values")
    if values is not None and not isinstance(values, list):
        raise AssigneeError("workflow.assignee.rule_shape", args={"number": index + 1})
    claimable = item.get("claimable", False)
    if not isinstance(claimable, bool):
        raise AssigneeError("workflow.assignee.rule_shape", args={"number": index + 1})
    return AssigneeRule(type=item["type"], values=tuple(values or ()), claimable=claimable)


def unknown_type(name: str) -> AssigneeError:
    """Return the error for a rule type that no provider has (spec 6.6)."""
    return AssigneeError("workflow.assignee.unknown_type", code=NOTFOUND_TYPE, args={"type": name})


def names_of(value: JsonValue) -> list[str]:
    """Return the names in a result: a list, or a text with commas; null is nobody (spec 4.9).

    :raises AssigneeError: a value of another kind.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return value.split(",")
    if not isinstance(value, list):
        raise AssigneeError("workflow.assignee.not_names")
    return [_name(member) for member in value if member is not None]


def _name(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    # Account names made of digits come out of forms and expressions as whole numbers.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise AssigneeError("workflow.assignee.not_names")
