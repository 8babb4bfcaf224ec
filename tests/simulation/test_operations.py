"""Random flows with all that waits and fails, and what operators do in between (spec 3.13, 3.20, 3.22)."""

from __future__ import annotations

from collections import Counter

from hypothesis import event, given
from hypothesis import strategies as st

from tests.engine.harness import Run
from tests.simulation.graphs import kind_of, structured, unstructured
from tests.simulation.pair import MANY, SHORT, Pair, earlier_steps
from tests.simulation.simulator import FAULTED, RUNNING
from webapp.engine.instances.model import InstanceStatus

MORE = ("events", "child", "flaky")
ENDED = ("workflow.instance.completed", "workflow.instance.canceled", "workflow.instance.faulted")


def step(pair: Pair, data: st.DataObject) -> str:
    """Do one of the things that can be done now; return which."""
    model = pair.model
    if model.status == FAULTED:
        pair.retry()
        return "retried"
    execution = data.draw(st.sampled_from(model.waiting()))
    choices = ["finished", "finished", "finished", "suspended"]
    steps = [] if pair.migrated or model.types[execution.node] != "UserTask" else earlier_steps(model, execution)
    choices += ["returned"] * bool(steps) + ["migrated", "jumped"] * (not pair.migrated)
    chosen = data.draw(st.sampled_from(choices))
    if chosen == "finished":
        pair.finish(execution, data.draw(st.sampled_from(pair.answers(execution))))
    elif chosen == "suspended":
        pair.suspend_and_resume()
    elif chosen == "migrated":
        pair.migrate()
    elif chosen == "jumped":
        return jump(pair, data)
    else:
        pair.give_back(execution, data.draw(st.sampled_from(steps)), direct=data.draw(st.booleans()))
    return chosen


def end(pair: Pair) -> None:
    """Complete everything, loops by the answer that leaves them."""
    for _ in range(200):
        if pair.model.status == FAULTED:
            pair.retry()
        elif pair.model.status == RUNNING:
            execution = pair.model.waiting()[0]
            pair.finish(execution, pair.answers(execution)[0])
        else:
            break
    check_ended_once(pair.real)


def check_ended_once(run: Run) -> None:
    """The instance has completed, once, and nothing of it is left anywhere."""
    assert run.instance.status is InstanceStatus.COMPLETED
    assert [one.topic for one in run.events if one.topic in ENDED and not one.topic.endswith("faulted")] == [
        "workflow.instance.completed"
    ]
    assert not run.bookmarks
    assert not run.instance.join_states
    assert not run.instance.pending_tokens
    assert not [node for node in run.nodes.values() if node.status.active]


@MANY
@given(structured(MORE), st.data())
def test_whatever_is_done_to_it_a_flow_of_blocks_goes_on_as_the_specification_says(graph, data):
    pair = Pair(graph)
    for _ in range(8):
        if pair.model.status not in (RUNNING, FAULTED):
            break
        event(step(pair, data))
    if pair.late_children():
        event("a child ended late")
    if pair.model.status in (RUNNING, FAULTED):
        end(pair)


@MANY
@given(structured(MORE), st.data())
def test_a_migration_at_any_moment_changes_nothing_but_names(graph, data):
    pair = Pair(graph)
    for _ in range(data.draw(st.integers(0, 5))):
        if pair.model.status == RUNNING:
            execution = data.draw(st.sampled_from(pair.model.waiting()))
            pair.finish(execution, data.draw(st.sampled_from(pair.answers(execution))))
    if pair.model.status in (RUNNING, FAULTED):
        pair.migrate()
        end(pair)
        starts = [node for node in pair.real.path if node.endswith("start0")]
        assert len(starts) == 1, "it does not start over"


@MANY
@given(structured(MORE), st.data())
def test_after_any_jump_completing_everything_ends_a_flow_of_blocks_exactly_once(graph, data):
    pair = Pair(graph)
    for _ in range(data.draw(st.integers(1, 3))):
        finish_some(pair, data, data.draw(st.integers(0, 4)))
        if pair.model.status not in (RUNNING, FAULTED):
            break
        event(jump(pair, data))
    if pair.late_children():
        event("a child ended late")
    if pair.model.status in (RUNNING, FAULTED):
        end(pair)


@MANY
@given(structured(without=["loop"]), st.data())
def test_after_one_jump_no_join_of_a_flow_without_loops_fires_twice(graph, data):
    pair = Pair(graph)
    finish_some(pair, data, data.draw(st.integers(0, 6)))
    if pair.model.status != RUNNING:
        return
    jump(pair, data)
    before = len(pair.real.path)
    if pair.model.status == RUNNING:
        end(pair)
    after = Counter(node for node in pair.real.path[before:] if kind_of(node) in ("all", "any"))
    assert all(count == 1 for count in after.values()), after


@MANY
@given(unstructured(), st.data())
def test_a_jump_in_any_graph_moves_tokens_as_the_specification_says(graph, data):
    pair = Pair(graph, limit=SHORT)
    for _ in range(6):
        if pair.model.status == RUNNING and data.draw(st.booleans()):
            finish_some(pair, data, 1)
        elif pair.model.status in (RUNNING, FAULTED):
            jump(pair, data)
    event(f"ends {pair.model.status}")


def finish_some(pair: Pair, data: st.DataObject, count: int) -> None:
    """Complete some of what waits."""
    for _ in range(count):
        if pair.model.status == RUNNING:
            execution = data.draw(st.sampled_from(pair.model.waiting()))
            pair.finish(execution, data.draw(st.sampled_from(pair.answers(execution))))


def jump(pair: Pair, data: st.DataObject) -> str:
    """Move everything, or what stands at one node, anywhere; return what was done."""
    source = data.draw(st.sampled_from([None, *pair.places()]))
    pair.jump(data.draw(st.sampled_from(pair.graph.nodes[1:])), source)
    return "jumped" if source is None else "jumped in part"
