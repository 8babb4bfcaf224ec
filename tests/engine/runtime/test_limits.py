"""What a wave refuses to do without end: steps, sizes, depth (spec 3.2, 3.3, 13)."""

from __future__ import annotations

import pytest

from tests.engine.harness import Run, Scripted, World
from tests.support.flows import END, START, edge, flow, node, variable
from webapp.engine.activities.api import Complete
from webapp.engine.errors import TOO_LARGE, Conflict, InputInvalid
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.runtime import variables as module
from webapp.engine.runtime.engine import EngineOptions

MIB = 1024 * 1024


def chain(length: int, limit: int) -> Run:
    """Start and *length* − 1 nodes behind it."""
    nodes = [START, *(node(f"n{number}", "Log") for number in range(1, length))]
    return World(options=EngineOptions(max_node_executions_per_burst=limit)).start(flow("chain", nodes))


def test_exactly_the_maximum_number_of_steps_is_allowed() -> None:
    assert chain(20, 20).instance.status is InstanceStatus.COMPLETED


def test_one_step_more_faults_the_instance_without_a_node() -> None:
    run = chain(21, 20)
    instance = run.instance
    assert len(run.nodes) == 20
    assert instance.fault is not None
    assert (instance.fault.key, instance.fault.args) == ("workflow.burst.exceeded", {"max": 20})
    assert (instance.fault_node_id, instance.fault_node_instance_id) == (None, None)
    assert [token.node_id for token in instance.pending_tokens] == ["n20"]
    with pytest.raises(Conflict):
        run.retry()


def test_a_runaway_loop_is_stopped() -> None:
    nodes = [START, node("a", "Log"), node("b", "Log")]
    edges = [edge("start", "a"), edge("a", "b"), edge("b", "a")]
    run = World(options=EngineOptions(max_node_executions_per_burst=20)).start(flow("loop", nodes, edges))
    assert run.instance.status is InstanceStatus.FAULTED
    assert len(run.nodes) == 20


def test_the_count_begins_anew_with_every_wave() -> None:
    nodes = [START, node("wait", "Delay", {"DurationSeconds": 1})]
    edges = [edge("start", "wait"), edge("wait", "wait")]
    run = World(options=EngineOptions(max_node_executions_per_burst=2)).start(flow("slow-loop", nodes, edges))
    for _ in range(5):
        run.world.clock.advance(1)
        run.due()
    assert run.path.count("wait") == 6
    assert run.instance.status is InstanceStatus.RUNNING


def test_sixteen_nested_levels_are_legal_and_the_seventeenth_is_not() -> None:
    document = flow("deep", [START, END])
    assert World().start(document, depth=16).instance.depth == 16
    with pytest.raises(InputInvalid) as refusal:
        World().start(document, depth=17)
    assert (refusal.value.key, refusal.value.params) == ("workflow.depth.exceeded", {"depth": 17, "max": 16})


# --- the size of variables ------------------------------------------------------------------------


def grow(*sizes: int, variables: dict[str, object] | None = None, key: str = "x") -> Run:
    """One node for each size, writing a text of that many bytes, all to different variables."""
    script = [Complete(outputs={f"{key}{number}": "t" * size}) for number, size in enumerate(sizes)]
    work = Scripted(*script, type_name="Work")
    nodes = [START, *(node(f"n{number}", "Work") for number in range(len(sizes))), END]
    return World(activities=[work]).start(flow("grow", nodes), variables)


def test_variables_may_fill_a_mebibyte_exactly() -> None:
    # {"x0":"…"} has nine bytes beside the text
    run = grow(MIB - 9)
    assert run.instance.status is InstanceStatus.COMPLETED


def test_one_byte_more_is_a_fault_of_the_node_and_nothing_is_merged() -> None:
    run = grow(MIB - 8)
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.variables.too_large", {"max": MIB})
    assert run.instance.fault_node_id == "n0"
    assert run.instance.variables == {}


def test_the_size_adds_up_over_nodes() -> None:
    third = MIB // 3
    assert grow(third, third).instance.status is InstanceStatus.COMPLETED
    assert grow(third, third, third).instance.fault_node_id == "n2"


def test_variables_from_the_start_count() -> None:
    assert grow(MIB // 2, variables={"given": "g" * (MIB // 2)}).instance.fault_node_id == "n0"


def test_a_value_that_is_replaced_does_not_count_twice() -> None:
    script = [Complete(outputs={"x": "t" * (MIB // 2 + 1)}) for _ in range(4)]
    nodes = [START, *(node(f"n{number}", "Work") for number in range(4)), END]
    run = World(activities=[Scripted(*script, type_name="Work")]).start(flow("replace", nodes))
    assert run.instance.status is InstanceStatus.COMPLETED


def test_labels_count_too() -> None:
    work = Scripted(Complete(outputs={"x": "t" * (MIB - 30)}), Complete(label="o" * 60), type_name="Work")
    more = Scripted(Complete(outputs={"y": 1}), type_name="More")
    nodes = [START, node("a", "Work"), node("b", "Work"), node("c", "More")]
    run = World(activities=[work, more]).start(flow("labels", nodes))
    assert run.instance.fault_node_id == "c"


def test_small_outputs_do_not_encode_all_variables_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    encode = module.encode

    def counting(value: object) -> bytes:
        data = encode(value)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(module, "encode", counting)
    grow(*[10] * 20, variables={"given": "g" * 100_000})
    assert sum(size > 100_000 for size in sizes) == 1


def test_a_start_with_too_much_is_refused_as_too_large() -> None:
    with pytest.raises(InputInvalid) as refusal:
        World().start(flow("large", [START, END]), {"x": "t" * MIB})
    assert (refusal.value.code, refusal.value.key) == (TOO_LARGE, "workflow.variables.too_large")
    assert refusal.value.problems[0].path == "variables"


def test_a_refused_start_lists_all_that_is_wrong() -> None:
    document = flow("input", [START, END], variables=[variable("a", required=True), variable("b", type="number")])
    with pytest.raises(InputInvalid) as refusal:
        World().start(document, {"b": "no"}, title="t" * 501, correlation_id="c" * 201, starter_id="s" * 129)
    assert [problem.path for problem in refusal.value.problems] == [
        "title",
        "correlationId",
        "starterId",
        "variables.a",
        "variables.b",
    ]


def test_the_nodes_of_one_wave_put_out_sixteen_times_the_limit_at_most() -> None:
    nodes = [START, node("copy", "SetVariable", {"Expressions": {"x": "x"}})]
    document = flow("loop", nodes, [edge("start", "copy"), edge("copy", "copy")])
    # {"x":"…"} is half a mebibyte.
    run = World().start(document, {"x": "y" * (MIB // 2 - 8)})
    assert run.path.count("copy") == 33
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == (
        "workflow.variables.wave_too_large", {"max": 16 * MIB},
    )  # fmt: skip
    assert run.instance.fault_node_id == "copy"
    # The next wave may put out as much again.
    run.retry()
    assert run.path.count("copy") == 33 + 32
