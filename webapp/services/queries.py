"""Queries and summaries of the list methods: the engine's own, under a name that the web may import (rule R5)."""

from __future__ import annotations

from webapp.engine.ports.notices import DeliveryQuery, NoticeQuery
from webapp.engine.ports.queries import (
    DEFAULT_LIMIT,
    DEFINITION_SORTS,
    INSTANCE_SORTS,
    MAX_LIMIT,
    MAX_SORTS,
    TASK_SORTS,
    BookmarkSummary,
    DefinitionQuery,
    DefinitionSummary,
    DoneTaskSummary,
    InstanceQuery,
    InstanceSummary,
    Page,
    Paging,
    Sort,
    TaskQuery,
    TaskSummary,
    check_page,
)

__all__ = [
    "DEFAULT_LIMIT",
    "DEFINITION_SORTS",
    "INSTANCE_SORTS",
    "MAX_LIMIT",
    "MAX_SORTS",
    "TASK_SORTS",
    "BookmarkSummary",
    "DefinitionQuery",
    "DefinitionSummary",
    "DeliveryQuery",
    "DoneTaskSummary",
    "InstanceQuery",
    "InstanceSummary",
    "NoticeQuery",
    "Page",
    "Paging",
    "Sort",
    "TaskQuery",
    "TaskSummary",
    "check_page",
]
