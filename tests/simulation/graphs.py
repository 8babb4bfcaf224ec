"""Random flows: structured blocks, and graphs that nobody would draw but the engine must survive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

YES, NO, LATE = "yes", "no", "late"
KINDS = ("step", "task", "delay", "decision", "parallel", "all", "any", "end")
_TYPES = {
    "start": "Start", "step": "SetVariable", "task": "UserTask", "delay": "Delay", "decision": "Decision",
    "parallel": "Parallel", "all": "Join", "any": "Join", "end": "End", "terminate": "Terminate",
    "event": "EventGateway", "child": "SubWorkflow", "flaky": "TestFlaky",
}  # fmt: skip
_PROPERTIES: dict[str, Document] = {
    "task": {"Assignees": ["ana"], "AllowedOutcomes": [YES, NO]},
    "delay": {"DurationSeconds": 60},
    "all": {"Mode": "WaitAll"},
    "any": {"Mode": "WaitAny"},
    "event": {
        "Events": [
            *({"signalName": name, "acceptAnyCorrelation": True} for name in (YES, NO)),
            {"timerSeconds": 60, "outcome": LATE},
        ]
    },
    "child": {"DefinitionName": "child", "FailOnChildFault": False},
    "flaky": {"SucceedOnAttempt": 2},
}


class Graph:
    """A flow while it is put together; nodes are named by their kind and number: ``task3``.

    *more*: blocks that it may have beside the usual ones. *without*: usual ones that it has not.
    """

    def __init__(self, more: Sequence[str] = (), without: Sequence[str] = ()) -> None:
        self.more = list(more)
        self.without = list(without)
        self.in_loop = 0
        self.nodes: list[str] = ["start0"]
        self.edges: list[Document] = []

    def add(self, kind: str) -> str:
        """Add a node."""
        self.nodes.append(f"{kind}{len(self.nodes)}")
        return self.nodes[-1]

    def connect(self, source: str, target: str, *, condition: str | None = None, default: bool = False) -> None:
        """Add a transition; of one source they are taken in the order they were added."""
        self.edges.append(
            {
                "id": f"t{len(self.edges)}",
                "sourceNodeId": source,
                "targetNodeId": target,
                "priority": len(self.edges),
                **({"condition": condition} if condition else {}),
                **({"isDefault": True} if default else {}),
            }
        )

    def __repr__(self) -> str:
        lines = (
            f"{edge['id']}: {edge['sourceNodeId']} -> {edge['targetNodeId']} {edge.get('condition', '')}"
            f"{' default' if edge.get('isDefault') else ''}"
            for edge in self.edges
        )
        return f"<{', '.join(self.nodes)}; {'; '.join(lines)}>"

    def document(self, prefix: str = "") -> Document:
        """Return the flow as a definition document, its nodes' names with a prefix."""
        return {
            "name": "random",
            "nodes": [
                {
                    "id": prefix + node,
                    "activityType": _TYPES[kind_of(node)],
                    "properties": _PROPERTIES.get(kind_of(node), {}),
                }
                for node in self.nodes
            ],
            "transitions": [
                {**edge, **{end: prefix + edge[end] for end in ("sourceNodeId", "targetNodeId")}} for edge in self.edges
            ],
        }


def kind_of(node: str) -> str:
    """Return the kind in a node's name."""
    return node.rstrip("0123456789")


@st.composite
def structured(draw: st.DrawFn, more: Sequence[str] = (), without: Sequence[str] = ()) -> Graph:
    """A flow of nested blocks: each has one way in and one way out, splits and joins belong together.

    There is no fork in a race in a loop: who has lost in one round meets there who runs in the next, and since a
    transition counts once in a wave (3.9), one of them may be left alone.
    """
    graph = Graph(more, without)
    last = _sequence(draw, graph, "start0", depth=0)
    graph.connect(last, graph.add("end"))
    return graph


def _sequence(draw: st.DrawFn, graph: Graph, entry: str, depth: int) -> str:
    blocks = ["step", "task", "delay", *graph.more] + (["choice", "fork", "race", "loop"] if depth < 3 else [])
    blocks = [block for block in blocks if block not in graph.without]
    for block in draw(st.lists(st.sampled_from(blocks), min_size=0 if depth else 1, max_size=3)):
        entry = _BLOCKS[block](draw, graph, entry, depth) if block in _BLOCKS else _single(graph, entry, block)
    return entry


def _single(graph: Graph, entry: str, kind: str) -> str:
    node = graph.add(kind)
    graph.connect(entry, node)
    return node


def _choice(draw: st.DrawFn, graph: Graph, entry: str, depth: int) -> str:
    asked = _single(graph, entry, "task")
    decision = _single(graph, asked, "decision")
    merged = graph.add("step")
    for answer in (YES, NO):
        head = graph.add("step")
        graph.connect(decision, head, condition=f"outcome == '{YES}'" if answer == YES else None, default=answer == NO)
        graph.connect(_sequence(draw, graph, head, depth + 1), merged)
    return merged


def _branches(draw: st.DrawFn, graph: Graph, entry: str, depth: int, join: str) -> str:
    fork = _single(graph, entry, "parallel")
    gathered = graph.add(join)
    for _ in range(draw(st.integers(2, 3))):
        head = graph.add("step")
        graph.connect(fork, head)
        graph.connect(_sequence(draw, graph, head, depth + 1), gathered)
    return gathered


def _fork(draw: st.DrawFn, graph: Graph, entry: str, depth: int) -> str:
    return _branches(draw, graph, entry, depth, "all")


def _race(draw: st.DrawFn, graph: Graph, entry: str, depth: int) -> str:
    before = graph.without
    graph.without = [*before, "fork"] if graph.in_loop else before
    gathered = _branches(draw, graph, entry, depth, "any")
    graph.without = before
    return gathered


def _loop(draw: st.DrawFn, graph: Graph, entry: str, depth: int) -> str:
    head = _single(graph, entry, "step")
    graph.in_loop += 1
    asked = _single(graph, _sequence(draw, graph, head, depth + 1), "task")
    graph.in_loop -= 1
    after = graph.add("step")
    graph.connect(asked, head, condition=f"outcome == '{NO}'")
    graph.connect(asked, after, default=True)
    return after


def _events(draw: st.DrawFn, graph: Graph, entry: str, depth: int) -> str:
    gateway = _single(graph, entry, "event")
    merged = graph.add("step")
    for answer in (YES, NO, LATE):
        head = graph.add("step")
        graph.connect(
            gateway, head, condition=f"outcome == '{answer}'" if answer != LATE else None, default=answer == LATE
        )
        graph.connect(_sequence(draw, graph, head, depth + 2), merged)
    return merged


_BLOCKS = {"events": _events, "choice": _choice, "fork": _fork, "race": _race, "loop": _loop}


@st.composite
def unstructured(draw: st.DrawFn) -> Graph:
    """A graph of anything connected with anything: loops through Joins, splits without one, dead ends."""
    graph = Graph()
    for kind in draw(st.lists(st.sampled_from([*KINDS, "task", "task"]), min_size=2, max_size=9)):
        graph.add(kind)
    targets = st.sampled_from(graph.nodes[1:])
    for node in graph.nodes:
        if kind_of(node) in ("end", "terminate"):
            continue
        found = draw(st.lists(targets, min_size=1 if kind_of(node) in ("start", "decision") else 0, max_size=3))
        conditional = kind_of(node) in ("task", "decision") and len(found) > 1 and draw(st.booleans())
        for number, target in enumerate(found):
            last = number == len(found) - 1
            condition = f"outcome == '{YES}'" if conditional and not last else None
            graph.connect(node, target, condition=condition, default=conditional and last)
    return graph
