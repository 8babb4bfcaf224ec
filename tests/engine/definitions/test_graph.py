"""The graph of a definition: order of edges, reachability, cycles."""

from __future__ import annotations

from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.graph import DefinitionGraph


def graph(*edges: str, nodes: str = "") -> DefinitionGraph:
    """Return the graph of edges written like ``ab``."""
    builder = DefinitionBuilder("g")
    for node in nodes or sorted(set("".join(edges))):
        builder.add_node(node, "Log")
    for edge in edges:
        builder.add_transition(edge[0], edge[1])
    return DefinitionGraph(builder.build())


def test_edges_leave_by_priority_and_then_in_the_order_of_the_definition() -> None:
    builder = DefinitionBuilder("g")
    for node in "abc":
        builder.add_node(node, "Log")
    for priority, id_ in ((5, "late"), (0, "first"), (-1, "before"), (0, "second")):
        builder.add_transition("a", "b", priority=priority, id=id_)
    found = DefinitionGraph(builder.build())
    assert [edge.id for edge in found.outgoing("a")] == ["before", "first", "second", "late"]
    assert [edge.id for edge in found.incoming("b")] == ["before", "first", "second", "late"]
    assert found.outgoing("c") == found.incoming("a") == found.outgoing("nowhere") == ()


def test_edges_without_both_ends_are_left_out() -> None:
    found = graph("ab", "ax", "xb", nodes="ab")
    assert [edge.target_node_id for edge in found.outgoing("a")] == ["b"]
    assert [edge.source_node_id for edge in found.incoming("b")] == ["a"]


def test_reachability_in_both_directions() -> None:
    found = graph("ab", "bc", "db", "ef")
    assert found.reachable("a") == {"a", "b", "c"}
    assert found.reachable("d", "e") == {"d", "b", "c", "e", "f"}
    assert found.leading_to("c") == {"a", "b", "c", "d"}


def test_cycles_are_found_with_all_their_nodes() -> None:
    found = graph("ab", "bc", "cb", "cd", "dd", "de", "ef", "fg", "ge")
    assert found.cycles() == [{"b", "c"}, {"d"}, {"e", "f", "g"}]
    assert graph("ab", "ac", "bd", "cd").cycles() == []


def test_cycles_through_nodes_left_out_do_not_count() -> None:
    found = graph("ab", "ba", "cd", "dc", "ac")
    assert found.cycles(without={"b"}) == [{"c", "d"}]
    assert found.reachable("a", without={"c"}) == {"a", "b"}


def test_figures_of_eight_are_one_cycle() -> None:
    assert graph("ab", "ba", "bc", "cb").cycles() == [{"a", "b", "c"}]


def test_a_chain_of_2000_nodes_needs_no_recursion() -> None:
    builder = DefinitionBuilder("g")
    for number in range(2000):
        builder.add_node(f"n{number}", "Log")
        builder.add_transition(f"n{number}", f"n{(number + 1) % 2000}")
    found = DefinitionGraph(builder.build())
    assert len(found.reachable("n0")) == 2000
    assert [len(cycle) for cycle in found.cycles()] == [2000]


def test_of_two_nodes_with_one_id_the_graph_has_one() -> None:
    assert graph("ab", nodes="aab").reachable("a") == {"a", "b"}
