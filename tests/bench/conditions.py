"""W6: the conditions that flows are made of, beside simpleeval; both parse each text once and run it many times.

Each side gets the same values: decimals are exact on both. simpleeval runs as its own manual says: ``parse`` once,
then ``eval`` with ``previously_parsed``.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from simpleeval import SimpleEval

from tests.bench.table import Table, judged
from webapp.engine.clock import SystemClock
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.numbers import JsonDecimal

AIM = 8.0

PAIRS = (
    ("outcome == 'approved'", "outcome == 'approved'"),
    ("amount > 10000", "amount > 10000"),
    ("best > 150000", "best > 150000"),
    ("small && !international", "small and not international"),
    ("severity <= 2", "severity <= 2"),
    ("outcome == 'approved' && remainingDays >= days", "outcome == 'approved' and remainingDays >= days"),
    ("len(quotes) < 3", "len(quotes) < 3"),
    ("order.total >= 25000", "order['total'] >= 25000"),
    ("price + freight == 168500.60", "price + freight == Decimal('168500.60')"),
    ("kind == 'sick' && days > 5 || order.total > 100000", "kind == 'sick' and days > 5 or order['total'] > 100000"),
)
"""Each condition as Waypost takes it and as simpleeval does: Python has ``and``, and needs ``Decimal`` to be exact."""

_TIMES = 2_000


@dataclass(frozen=True)
class Pace:
    """Nanoseconds of one run of a condition."""

    text: str
    waypost: float
    simpleeval: float

    @property
    def times(self) -> float:
        """How many times as fast Waypost is."""
        return self.simpleeval / self.waypost


def compare_conditions(rounds: int) -> list[Pace]:
    """Let both run every condition in turns, and return the cheapest round of each."""
    scope, names = _variables(JsonDecimal), _variables(Decimal)
    evaluator = ExpressionEvaluator(SystemClock())
    found = []
    for ours, theirs in PAIRS:
        mine, other = _waypost(evaluator, ours, scope), _simpleeval(theirs, names)
        assert [mine() for _ in range(50)][-1] is other(), ours
        times = [(_nanoseconds(mine), _nanoseconds(other)) for _ in range(max(3, rounds))]
        found.append(Pace(ours, min(one for one, _ in times), min(one for _, one in times)))
    return found


def condition_table(paces: list[Pace]) -> Table:
    """Return the table, with the geometric mean of the ratios."""
    rows = [(pace.text, [f"{pace.waypost:,.0f}", f"{pace.simpleeval:,.0f}", f"{pace.times:.1f}"]) for pace in paces]
    mean = statistics.geometric_mean(pace.times for pace in paces)
    whole = sum(pace.simpleeval for pace in paces) / sum(pace.waypost for pace in paces)
    rows.append(("geometric mean", ["", "", judged(mean, AIM)]))
    rows.append(("all of them one after the other", ["", "", f"{whole:.2f}"]))
    title = "W6: conditions parsed once, nanoseconds of a run"
    return Table(title, ["Waypost", "simpleeval", "how many times"], rows)


def _variables(decimal: Callable[[str], Decimal]) -> dict[str, Any]:
    return {
        "outcome": "approved",
        "amount": 12_000,
        "best": decimal("149999.99"),
        "small": True,
        "international": False,
        "severity": 2,
        "remainingDays": 12,
        "days": 8,
        "quotes": ["a", "b", "c"],
        "order": {"total": 99},
        "price": decimal("168500.50"),
        "freight": decimal("0.10"),
        "kind": "leave",
    }


def _waypost(evaluator: ExpressionEvaluator, text: str, scope: Mapping[str, Any]) -> Callable[[], bool]:
    compiled = evaluator.compile(text)
    return lambda: compiled.condition(scope)


def _simpleeval(text: str, names: dict[str, Any]) -> Callable[[], bool]:
    evaluator = SimpleEval(names=names, functions={"len": len, "Decimal": Decimal})
    parsed = evaluator.parse(text)
    return lambda: bool(evaluator.eval(text, previously_parsed=parsed))


def _nanoseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter_ns()
    for _ in range(_TIMES):
        work()
    return (time.perf_counter_ns() - started) / _TIMES
