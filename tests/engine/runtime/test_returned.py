"""What an activity of the application leaves behind must be JSON: else its node fails, not the write (spec 3.4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.builtin.single import fault_of
from tests.engine.harness import Resuming, Scripted, World
from tests.support.flows import END, START, flow, node
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, BookmarkRequest, Complete, Suspend
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus

Act = Callable[[ActivityContext], ActivityOutcome]


def keeps(value: object) -> Act:
    def act(context: ActivityContext) -> ActivityOutcome:
        context.state["kept"] = value
        return Complete()

    return act


def waits(value: object) -> Act:
    request = BookmarkRequest(kind=BookmarkKind.SIGNAL, key="go", payload={"value": value})
    return lambda context: Suspend(bookmarks=(request,))


def puts_out(value: object) -> Act:
    return lambda context: Complete(outputs={"value": value})


VALUES = [float("nan"), float("inf"), 1.5, object(), {1, 2}, b"bytes", {"deep": [object()]}, "a\x00b", "\ud800"]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("act", [keeps, waits, puts_out])
def test_what_is_no_json_fails_the_node(act: Callable[[object], Act], value: object) -> None:
    run = World(activities=[Scripted(act(value))]).start(flow("odd", [START, node("own", "Scripted"), END]))
    assert fault_of(run).key in ("workflow.activity.not_json", "workflow.variables.nul")
    assert (run.instance.fault_node_id, run.node("own").state, run.bookmarks) == ("own", {}, {})
    assert run.retry().instance.status is InstanceStatus.COMPLETED


def test_a_label_must_be_a_text() -> None:
    run = World(activities=[Scripted(Complete(label=5))]).start(flow("odd", [START, node("own", "Scripted"), END]))  # type: ignore[arg-type]  # what an activity must not do
    assert fault_of(run).key == "workflow.activity.not_json"


def test_a_state_from_before_is_kept() -> None:
    def first(context: ActivityContext) -> ActivityOutcome:
        context.state["kept"] = 1
        return waits(1)(context)

    world = World(activities=[Resuming(first, keeps(object()))])
    run = world.start(flow("odd", [START, node("own", "Scripted"), END]))
    run.resume(run.only(BookmarkKind.SIGNAL))
    assert fault_of(run).key == "workflow.activity.not_json"
    assert run.node("own").state["kept"] == 1
