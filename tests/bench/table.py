"""The table that the benchmark prints, with the aims of each ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.bench.measure import WORKLOADS, Rates

CORE, WAYPOST, SPIFF = "SQLAlchemy Core", "Waypost", "SpiffWorkflow"

AIM_OF_CORE = 0.5
AIM_OF_SPIFF = {("W1", False): 3.5, ("W1", True): 1.5, ("W2", False): 1.3, ("W2", True): 1.0}
"""By workload and whether the database is PostgreSQL."""


def lines(results: Mapping[str, Rates]) -> list[str]:
    """Return the table of each workload over all databases."""
    made: list[str] = []
    for workload, title in WORKLOADS.items():
        made += ["", f"{workload}: {title}, per second: median round (middle half of the rounds)"]
        made.append(_row("", list(results)))
        for contender in (CORE, WAYPOST, SPIFF):
            made.append(_row(contender, [_cell(rates, workload, contender) for rates in results.values()]))
        made.append(_row("Waypost : Core", [_ratio(r, workload, CORE, AIM_OF_CORE) for r in results.values()]))
        aims = [AIM_OF_SPIFF[workload, name == "PostgreSQL"] for name in results]
        ratios = [_ratio(r, workload, SPIFF, aim) for r, aim in zip(results.values(), aims, strict=True)]
        made.append(_row("Waypost : Spiff", ratios))
    return made


def _cell(rates: Rates, workload: str, contender: str) -> str:
    lower, upper = rates.half(workload, contender)
    return f"{rates.middle(workload, contender):,.0f} ({lower:,.0f} to {upper:,.0f})"


def _ratio(rates: Rates, workload: str, other: str, aim: float) -> str:
    ratio = rates.ratio(workload, WAYPOST, other)
    return f"{ratio:.2f} ({'reaches' if ratio >= aim else 'misses'} {aim:g})"


def _row(title: str, cells: Sequence[str]) -> str:
    return f"  {title:<18}" + "".join(f"{cell:>24}" for cell in cells)
