"""How the cost of an instance grows with its nodes and its branches: linear growth costs the same a node."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from tests.bench.table import Table
from tests.bench.waypost import FANS, ROWS, Waypost

Growth = Mapping[str, tuple[float, float]]
"""Shape of the flow → CPU milliseconds of an instance, and of one of its nodes."""

_AROUND_BRANCHES = 4
"""Start, fork, join and end."""


def grow(waypost: Waypost) -> Growth:
    """Run each shape several times and return its cheapest run, of which others took the least away."""
    shapes: dict[str, tuple[int, Callable[[], object]]] = {
        f"{nodes} nodes in a row": (nodes, partial(waypost.run_row, nodes)) for nodes in ROWS
    }
    for branches in FANS:
        shapes[f"{branches} branches"] = (branches + _AROUND_BRANCHES, partial(waypost.run_fan, branches))
    return {shape: _cost(nodes, work) for shape, (nodes, work) in shapes.items()}


def _cost(nodes: int, work: Callable[[], object]) -> tuple[float, float]:
    times = max(1, 300 // nodes)
    work()
    cheapest = min(_busy(work, times) for _ in range(7)) / times * 1000
    return cheapest, cheapest / nodes


def _busy(work: Callable[[], object], times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        work()
    return time.process_time() - started


def growth_table(growths: Mapping[str, Growth]) -> Table:
    """Return the table: milliseconds of this process's CPU, an instance and a node of it."""
    rows = [
        (shape, [f"{whole:.2f} ({each:.4f})" for whole, each in (growth[shape] for growth in growths.values())])
        for shape in next(iter(growths.values()), {})
    ]
    for first, last in ((f"{ROWS[0]} nodes in a row", f"{ROWS[-1]} nodes in a row"), ("10 branches", "100 branches")):
        cells = [f"{growth[last][1] / growth[first][1]:.2f}" for growth in growths.values()]
        rows.append((f"a node, {last} : {first}", cells))
    return Table("Growth: CPU time of an instance (of each of its nodes), in ms", list(growths), rows)
