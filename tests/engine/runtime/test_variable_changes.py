"""Setting and removing variables from outside (spec 3.20)."""

from __future__ import annotations

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, flow, node, variable
from webapp.engine.errors import CONFLICT_INSTANCE, TOO_LARGE, Conflict, InputInvalid
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonDecimal

ASKED = flow(
    "asked",
    [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END],
    variables=[variable("sum", type="number", required=True), variable("note", type="string")],
)


def begin() -> Run:
    return World().start(ASKED, {"sum": 1, "note": "x", "extra": [1]})


def update(run: Run, values: dict[str, object], *removed: str) -> Run:
    return run.operate("update_variables", values=values, removed=list(removed), reason="Correction")


def test_what_is_set_and_removed() -> None:
    run = update(begin(), {"sum": JsonDecimal("2.50"), "new": {"a": 1}, "outcome": "x", "note": None}, "extra", "gone")
    assert run.instance.variables == {"sum": JsonDecimal("2.50"), "note": None, "new": {"a": 1}, "outcome": "x"}
    assert run.path == ["start", "ask"]
    assert run.topics[-1] == "instance.variables_updated"
    entry = run.audit[-1]
    assert (entry.reason, entry.after["set"], entry.after["removed"]) == (  # type: ignore[index]  # a change has one
        "Correction",
        ["new", "note", "outcome", "sum"],
        ["extra", "gone"],
    )


@pytest.mark.parametrize(
    ("values", "removed", "path"),
    [
        ({"sum": "much"}, (), "set.sum"),
        ({"sum": None}, (), "set.sum"),
        ({"note": 1}, (), "set.note"),
        ({"__state": 1}, (), "set.__state"),
        ({" ": 1}, (), "set. "),
        ({"x" * 201: 1}, (), "set." + "x" * 201),
        ({}, ("sum",), "remove[0]"),
        ({"extra": 1}, ("note", "extra"), "remove[1]"),
        ({"extra": "a\x00b"}, (), "set.extra"),
    ],
)
def test_what_may_not_be(values: dict[str, object], removed: tuple[str, ...], path: str) -> None:
    run = begin()
    with pytest.raises(InputInvalid) as refused:
        update(run, values, *removed)
    assert [problem.path for problem in refused.value.problems] == [path]
    assert run.instance.variables == {"sum": 1, "note": "x", "extra": [1]}


def test_all_together_have_their_limit() -> None:
    with pytest.raises(InputInvalid) as refused:
        update(begin(), {"extra": "x" * (1024 * 1024)})
    assert refused.value.code == TOO_LARGE


def test_an_ended_instance_keeps_its_variables() -> None:
    run = begin().approve("u1")
    assert run.instance.status is InstanceStatus.COMPLETED
    with pytest.raises(Conflict) as refused:
        update(run, {"sum": 2})
    assert refused.value.code == CONFLICT_INSTANCE
