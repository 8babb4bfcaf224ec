"""Random flows: what holds of every wave, whatever the graph and whatever people do (spec 3, 1.17, 3.22)."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.harness import CountingIds, Run, World
from tests.support.examples import examples
from tests.support.flows import START, edge, flow, node
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject, encode
from webapp.engine.runtime.engine import EngineOptions, Wave

KINDS: dict[str, JsonObject] = {
    "Log": {},
    "Parallel": {},
    "Decision": {},
    "Join": {},
    "JoinAny": {"Mode": "WaitAny"},
    "UserTask": {"Assignees": ["u1", "u2"], "CompletionPolicy": "All"},
    "Delay": {"DurationSeconds": 5},
    "SetVariable": {"Values": {"seen": True}},
    "Flaky": {},
    "End": {"Outcome": "done"},
}


class Flaky:
    """Fails in its first attempt when told to."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails
        self.descriptor = ActivityDescriptor(type="Flaky", category=Category.CUSTOM, icon="zap", custom=True)

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Fail or complete."""
        if self._fails and context.try_count == 1:
            raise RuntimeError("first attempt")
        return Complete()


@st.composite
def documents(draw: st.DrawFn, *, loops: bool) -> JsonObject:
    """A flow of up to eight nodes; every node can be reached, loops only when asked for."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=8))
    nodes = [START]
    names = ["start"]
    edges = []
    for number, kind in enumerate(kinds):
        name = f"n{number}"
        settings = {"retry_policy": {"maxAttempts": 2, "firstDelaySeconds": 1}} if draw(st.booleans()) else {}
        nodes.append(node(name, kind.removesuffix("Any"), KINDS[kind], **settings))
        for source in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)):
            edges.append(edge(source, name, draw(st.sampled_from([None, "true", "false"])), id=f"e{len(edges)}"))
        names.append(name)
    if loops:
        for _ in range(draw(st.integers(0, 2))):
            source, target = draw(st.sampled_from(names)), draw(st.sampled_from(names[1:]))
            edges.append(edge(source, target, id=f"e{len(edges)}"))
    # A way out for every node whose conditions all fail.
    for name in {one["sourceNodeId"] for one in edges}:
        target = next(one["targetNodeId"] for one in edges if one["sourceNodeId"] == name)
        edges.append(edge(name, target, id=f"e{len(edges)}", is_default=True))
    return flow("random", nodes, edges)


def act(run: Run, choice: int) -> bool:
    """Do one of the things that can be done now; False when there is nothing."""
    if run.instance.status is InstanceStatus.FAULTED and run.instance.fault_node_instance_id:
        run.retry()
        return True
    if run.instance.status is not InstanceStatus.RUNNING or not run.bookmarks:
        return False
    waiting = sorted(run.bookmarks.values(), key=lambda mark: mark.sequence)
    chosen = waiting[choice % len(waiting)]
    if chosen.kind is BookmarkKind.USER_TASK:
        run.decide(chosen, chosen.key or "")
    else:
        run.world.clock.advance(10)
        run.due()
    return True


def drive(run: Run, choices: list[int]) -> Run:
    for number in range(200):
        if not act(run, choices[number % len(choices)] if choices else 0):
            break
    return run


def check_lineage(run: Run) -> None:
    transitions = {one.id: one for one in run.compiled.definition.transitions}
    for one in run.nodes.values():
        causes = [run.nodes[cause] for cause in one.caused_by]
        arrows = [transitions[via] for via in one.via_transition_ids]
        if one.node_id == "start" and not causes:
            continue
        assert {arrow.target_node_id for arrow in arrows} == {one.node_id}
        assert {arrow.source_node_id for arrow in arrows} == {cause.node_id for cause in causes}
        assert all(cause.sequence < one.sequence for cause in causes)
        if one.activity_type != "Join":
            assert len(causes) == len(arrows) == 1


def check_state(run: Run) -> None:
    status = run.instance.status
    open_nodes = [one for one in run.nodes.values() if one.status.active]
    held = {mark.node_instance_id for mark in run.bookmarks.values()}
    assert all(one.status is NodeStatus.SUSPENDED and one.id in held for one in open_nodes)
    assert run.instance.ended_at is None if status is InstanceStatus.RUNNING else run.instance.ended_at is not None
    if status is not InstanceStatus.CANCELED:
        # A Faulted instance that was closed keeps the reason.
        assert (run.instance.fault is not None) is (status is InstanceStatus.FAULTED)
    if status is InstanceStatus.RUNNING:
        assert run.bookmarks
    if status is InstanceStatus.COMPLETED:
        assert not run.bookmarks
        assert not open_nodes
    if status is not InstanceStatus.FAULTED:
        assert run.instance.pending_tokens == []
    open_rounds = {record.task_id for record in run.records.values() if record.ended_at is None}
    assert open_rounds == {mark.id for mark in run.tasks()}


def check_order(run: Run) -> None:
    numbers = [
        *(one.sequence for one in run.nodes.values()),
        *(record.sequence for record in run.records.values()),
        *(mark.sequence for mark in run.bookmarks.values()),
        *(line.sequence for line in run.audit),
    ]
    assert len(numbers) == len(set(numbers))
    assert max(numbers) == run.instance.last_sequence
    begun = Counter(topic.partition("(")[2] for topic in run.topics if topic.startswith("node.executing"))
    ended = Counter(topic.partition("(")[2] for topic in run.topics if topic.startswith(("node.executed", "node.fau")))
    assert begun == ended


@settings(max_examples=examples(30))
@given(documents(loops=True), st.lists(st.integers(0, 9), max_size=12), st.booleans())
def test_every_state_that_a_flow_reaches_is_whole(document: JsonObject, choices: list[int], fails: bool) -> None:
    options = EngineOptions(max_node_executions_per_burst=60)
    run = World(activities=[Flaky(fails)], options=options).start(document)
    for choice in [0, *choices]:
        check_lineage(run)
        check_state(run)
        check_order(run)
        if not act(run, choice):
            break
    run.cancel()
    check_state(run)


@settings(max_examples=examples(30))
@given(documents(loops=False), st.lists(st.integers(0, 9), max_size=9))
def test_a_flow_that_fails_and_is_retried_runs_the_same_nodes(document: JsonObject, choices: list[int]) -> None:
    smooth = drive(World(activities=[Flaky(False)]).start(document), choices)
    rough = drive(World(activities=[Flaky(True)]).start(document), choices)
    assert Counter(rough.path) == Counter(smooth.path)
    assert rough.instance.status is smooth.instance.status
    assert rough.instance.join_states.keys() == smooth.instance.join_states.keys()
    assert rough.instance.outcome == smooth.instance.outcome


@settings(max_examples=examples(30))
@given(documents(loops=False), st.lists(st.integers(0, 9), max_size=9))
def test_a_wave_run_again_from_a_fresh_read_does_the_same(document: JsonObject, choices: list[int]) -> None:
    world = World(activities=[Flaky(True)])
    run = world.start(document)
    ids = world.engine._kit.ids
    assert isinstance(ids, CountingIds)
    for choice in choices:
        if run.instance.status is not InstanceStatus.RUNNING or not run.tasks():
            break
        task = run.tasks()[choice % len(run.tasks())]

        def decide(task_id: str = task.id, holder: str | None = task.key) -> Wave:
            command = run.command("complete", holder)
            return world.engine.complete_task(
                run.snapshot(), run.compiled, task_id, outcome="approved", comment=None, variables={}, command=command
            )

        count, commands = ids.count, run._commands
        lost = decide()
        ids.count, run._commands = count, commands
        assert encode(decide().write_set) == encode(lost.write_set)
        run.apply(lost)
