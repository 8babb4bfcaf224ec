"""Shapes that every section of the API shares: lists, problems, faults."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from webapp.engine.errors import Problem
from webapp.engine.instances.model import WorkflowFault
from webapp.messages.catalog import Catalog
from webapp.web.errors import problem_item
from webapp.web.i18n import Language

Item = TypeVar("Item")


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The parent of what the API answers with: camelCase names."""


class Body(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The parent of what the API takes: camelCase names, unknown members refused."""


class ListOf(Shape, Generic[Item], frozen=True, kw_only=True):
    """One page of a list, and how many there are in all."""

    items: list[Item]
    total: int


class ProblemItem(Shape, frozen=True, kw_only=True):
    """One thing that is wrong with the input."""

    path: str
    key: str
    params: dict[str, Any]
    message: str
    node_id: str | msgspec.UnsetType = msgspec.UNSET
    transition_id: str | msgspec.UnsetType = msgspec.UNSET
    line: int | msgspec.UnsetType = msgspec.UNSET
    column: int | msgspec.UnsetType = msgspec.UNSET


class ProblemDocument(Shape, frozen=True, kw_only=True):
    """A refusal: Problem Details (RFC 9457) with a stable code."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[ProblemItem] | msgspec.UnsetType = msgspec.UNSET
    details: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    request_id: str | msgspec.UnsetType = msgspec.UNSET


class Fault(Shape, frozen=True, kw_only=True):
    """Why something failed, with its causes; ``message`` is in the caller's language."""

    code: str
    key: str
    args: dict[str, Any]
    inner: Fault | None
    message: str


def problem_shape(problem: Problem, catalog: Catalog, lang: Language) -> ProblemItem:
    """Return a problem as the API writes it."""
    return msgspec.convert(problem_item(problem, catalog, lang), ProblemItem)


def fault_shape(fault: WorkflowFault | None, catalog: Catalog, lang: Language) -> Fault | None:
    """Return a fault as the API writes it, rendered for the reader (spec 1.10)."""
    if fault is None:
        return None
    return Fault(
        code=fault.code,
        key=fault.key,
        args=fault.args,
        inner=fault_shape(fault.inner, catalog, lang),
        message=catalog.text(fault.key, fault.args, lang),
    )
