"""Paging and sorting out of range are refused with the field that is wrong (spec 8.2, 8.3)."""

from __future__ import annotations

import pytest

from webapp.engine.errors import InputInvalid
from webapp.engine.ports.queries import DEFINITION_SORTS, INSTANCE_SORTS, Paging, Sort, check_page


@pytest.mark.parametrize("limit", [1, 100, 1000])
def test_limits_in_range_pass(limit: int) -> None:
    check_page("instances", Paging(limit=limit), INSTANCE_SORTS)


@pytest.mark.parametrize(
    ("paging", "path", "key"),
    [
        (Paging(limit=0), "limit", "workflow.query.limit"),
        (Paging(limit=1001), "limit", "workflow.query.limit"),
        (Paging(offset=-1), "offset", "workflow.query.offset"),
        (Paging(sorts=(Sort("variables"),)), "sort", "workflow.query.sort_field"),
        (Paging(sorts=(Sort("title"),) * 6), "sort", "workflow.query.sort_count"),
    ],
)
def test_each_value_out_of_range_is_named(paging: Paging, path: str, key: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        check_page("instances", paging, INSTANCE_SORTS)
    assert [(problem.path, problem.key) for problem in caught.value.problems] == [(path, key)]


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InputInvalid) as caught:
        check_page("instances", Paging(limit=0, offset=-3, sorts=(Sort("x"),)), INSTANCE_SORTS)
    assert [problem.path for problem in caught.value.problems] == ["limit", "offset", "sort"]


def test_definitions_take_six_sort_fields() -> None:
    check_page("definitions", Paging(sorts=tuple(Sort(field) for field in DEFINITION_SORTS)), DEFINITION_SORTS)
