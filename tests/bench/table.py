"""The tables that the benchmark prints, with the aim of each ratio: as text, or in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.bench.measure import WORKLOADS, Rates
from tests.bench.timers import AIM_OF_ABSURD, AIM_OF_SPIFF, TIMERS, WORKLOAD

CORE, WAYPOST, SPIFF, ABSURD = "SQLAlchemy Core", "Waypost", "SpiffWorkflow", "absurd"
POSTGRESQL = "PostgreSQL"

AIM_OF_CORE = 0.5
AIMS_BESIDE_SPIFF = {
    ("W1", False): 3.5,
    ("W1", True): 1.5,
    ("W2", False): 1.3,
    ("W2", True): 1.0,
    ("W3", False): 6,
    ("W3", True): 3,
}
"""By workload and whether the database is PostgreSQL."""


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns but the first, and rows: what each is about, and its cells."""

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]

    def text(self) -> list[str]:
        """Return it in columns of one width, an empty line before it."""
        width = max(18, *(len(name) + 2 for name, _ in self.rows))
        cell = max(
            10, *(len(text) + 2 for text in (*self.columns, *(each for _, cells in self.rows for each in cells)))
        )

        def line(name: str, cells: Sequence[str]) -> str:
            return f"  {name:<{width}}" + "".join(f"{text:>{cell}}" for text in cells)

        return ["", self.title, line("", self.columns), *(line(name, cells) for name, cells in self.rows)]

    def markdown(self) -> list[str]:
        """Return it as a table of Markdown under its title in bold."""
        head = ["", *self.columns]
        rows = [[name, *cells] for name, cells in self.rows]
        lines = [head, ["---", *("---:" for _ in self.columns)], *rows]
        found = (" | ".join(text.replace("|", "\\|") for text in cells) for cells in lines)
        return ["", f"**{self.title}**", "", *(f"| {cells} |" for cells in found)]


def workload_tables(results: Mapping[str, Rates]) -> list[Table]:
    """Return the table of each of W1 to W3 over all databases."""
    made = []
    for workload, title in WORKLOADS.items():
        rows = [(who, [_cell(rates, workload, who) for rates in results.values()]) for who in (CORE, WAYPOST, SPIFF)]
        rows.append(("Waypost : Core", [_ratio(rates, workload, CORE, AIM_OF_CORE) for rates in results.values()]))
        beside = [
            _ratio(rates, workload, SPIFF, AIMS_BESIDE_SPIFF[workload, name == POSTGRESQL])
            for name, rates in results.items()
        ]
        rows.append(("Waypost : Spiff", beside))
        made.append(Table(_title(f"{workload}: {title}"), list(results), rows))
    return made


def timer_table(results: Mapping[str, Rates]) -> Table:
    """Return the table of W4 over all databases."""
    rows = [(who, [_cell(rates, WORKLOAD, who) for rates in results.values()]) for who in (WAYPOST, SPIFF, ABSURD)]
    for who, aim in ((SPIFF, AIM_OF_SPIFF), (ABSURD, AIM_OF_ABSURD)):
        rows.append((f"Waypost : {who}", [_ratio(rates, WORKLOAD, who, aim) for rates in results.values()]))
    return Table(_title(f"{WORKLOAD}: {TIMERS} timers that come due together"), list(results), rows)


def _title(workload: str) -> str:
    return f"{workload}, per second: median round (middle half of the rounds)"


def _cell(rates: Rates, workload: str, contender: str) -> str:
    if not rates.knows(workload, contender):
        return "–"
    lower, upper = rates.half(workload, contender)
    return f"{rates.middle(workload, contender):,.0f} ({lower:,.0f} to {upper:,.0f})"


def _ratio(rates: Rates, workload: str, other: str, aim: float) -> str:
    if not rates.knows(workload, other):
        return "–"
    return judged(rates.ratio(workload, WAYPOST, other), aim)


def judged(ratio: float, aim: float) -> str:
    """Return a ratio and whether it reaches its aim."""
    return f"{ratio:.2f} ({'reaches' if ratio >= aim else 'misses'} {aim:g})"
