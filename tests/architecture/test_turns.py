"""Tests that share a server go to one worker."""

from __future__ import annotations

import pytest

from tests.support.server import ROOT
from tests.support.turns import DRAWING, group_of


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/browser/test_designer.py::test_undo[x]", "browser, drawing"),
        ("tests/browser/test_pages.py::test_pages_fit_a_phone[zh-True]", "browser"),
        ("tests/faults/test_kill.py::test_a_lease[sqlite]", "tests/faults/test_kill.py sqlite"),
        ("tests/faults/test_kill.py::test_a_lease[postgresql]", "tests/faults/test_kill.py postgresql"),
        ("tests/faults/test_workers.py::test_two_workers", "tests/faults/test_workers.py"),
        ("tests/stores/test_tasks.py::test_a[sqlite]", "tests/stores/test_tasks.py::test_a[sqlite]"),
    ],
)
def test_who_shares_a_server_is_one_group(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group


@pytest.mark.parametrize("module", DRAWING)
def test_the_modules_that_draw_are_there(module: str) -> None:
    assert (ROOT / "tests" / "browser" / f"{module}.py").is_file()
