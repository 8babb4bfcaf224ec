"""Random flows and random commands: the engine does what a second interpreter says (spec 3.3 ff.)."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from tests.simulation.graphs import NO, YES, structured, unstructured
from tests.simulation.pair import MANY, SHORT, Pair, earlier_steps
from tests.simulation.simulator import FAULTED, RUNNING
from webapp.engine.instances.model import InstanceStatus


def play(pair: Pair, data: st.DataObject, commands: int) -> None:
    """Give random commands while anything waits."""
    for _ in range(commands):
        if pair.model.status != RUNNING:
            break
        execution = data.draw(st.sampled_from(pair.model.waiting()))
        pair.finish(execution, data.draw(st.sampled_from([YES, NO])))
    event(f"ends {pair.model.status}")


@MANY
@given(structured(), st.data())
def test_blocks_run_as_the_specification_says(graph, data):
    pair = Pair(graph)
    play(pair, data, 12)
    assert pair.model.status != FAULTED, "structured flows have no dead branch"


@MANY
@given(unstructured(), st.data())
def test_any_graph_runs_as_the_specification_says(graph, data):
    play(Pair(graph, limit=SHORT), data, 8)


@MANY
@given(unstructured(), st.data())
def test_a_cancel_leaves_nothing_behind(graph, data):
    pair = Pair(graph, limit=SHORT)
    play(pair, data, data.draw(st.integers(0, 4)))
    pair.cancel()
    assert not pair.real.bookmarks
    assert pair.real.instance.status.ended


@MANY
@given(st.one_of(structured(), unstructured()), st.data())
def test_a_return_undoes_all_that_came_of_the_step_and_nothing_else(graph, data):
    pair = Pair(graph, limit=SHORT)
    for _ in range(8):
        if pair.model.status != RUNNING:
            break
        execution = data.draw(st.sampled_from(pair.model.waiting()))
        steps = earlier_steps(pair.model, execution) if pair.model.types[execution.node] == "UserTask" else []
        if steps and data.draw(st.booleans()):
            pair.give_back(execution, data.draw(st.sampled_from(steps)), direct=data.draw(st.booleans()))
            event("returned")
        else:
            pair.finish(execution, data.draw(st.sampled_from([YES, NO])))


@MANY
@given(structured(), st.data())
def test_after_a_return_deciding_everything_ends_a_flow_of_blocks_exactly_once(graph, data):
    pair = Pair(graph)
    returns = 3
    for _ in range(200):
        if pair.model.status != RUNNING:
            break
        execution = data.draw(st.sampled_from(pair.model.waiting()))
        steps = earlier_steps(pair.model, execution) if pair.model.types[execution.node] == "UserTask" else []
        if returns and steps and data.draw(st.booleans()):
            returns -= 1
            pair.give_back(execution, data.draw(st.sampled_from(steps)), direct=data.draw(st.booleans()))
        else:
            pair.finish(execution, YES)
    event(f"returns {3 - returns}")
    assert pair.real.instance.status is InstanceStatus.COMPLETED


@MANY
@given(structured(), st.data())
def test_deciding_everything_ends_a_flow_of_blocks_exactly_once(graph, data):
    pair = Pair(graph)
    for _ in range(200):
        if pair.model.status != RUNNING:
            break
        # Loops are left by the answer yes.
        pair.finish(pair.model.waiting()[0], YES)
    assert pair.real.instance.status is InstanceStatus.COMPLETED
    ended = [one.topic for one in pair.real.events if one.topic.startswith("workflow.instance.")]
    assert ended == ["workflow.instance.started", "workflow.instance.completed"]
