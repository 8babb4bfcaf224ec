"""The figures of lists as lines for a terminal and as a Markdown table for BENCHMARKS.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.bench.lists import Figures, ListResult

FILL_AIM = 10_000
"""Rows a second."""


def list_lines(results: Mapping[str, ListResult]) -> list[str]:
    """Return the table of each database."""
    made: list[str] = []
    for database, result in results.items():
        made += ["", f"Lists on {database}: milliseconds of a call (p50, p95), beside the best hand-written SQL"]
        made.append(f"  filling: {result.rows:,} rows in {result.seconds:.0f} s, {_fill(result)}")
        made.append(f"  {'':<50}{'Waypost':>16}{'by hand':>16}{'ratio':>8}  aims")
        made += [f"  {name:<50}{_cells(figures)}" for name, figures in result.figures.items()]
        found = {name: figures.scans for name, figures in result.figures.items() if figures.scans}
        if database == "PostgreSQL":
            made.append(f"  scans of a whole table: {found or 'none'}")
        made += _growth(result)
    return made


def list_markdown(results: Mapping[str, ListResult]) -> list[str]:
    """Return one table over all databases."""
    made = ["| figure | target | " + " | ".join(results) + " |", "|---|---|" + "---|" * len(results)]
    cells = [f"{_rate(result):,.0f} rows/s" for result in results.values()]
    made.append(_row("`demo fill`", f"≥ {FILL_AIM:,} rows/s", cells))
    for name in next(iter(results.values())).figures:
        figures = [result.figures[name] for result in results.values()]
        targets = list(dict.fromkeys(_aim(one) for one in figures))
        made.append(_row(name, " / ".join(targets), [_said(one) for one in figures]))
    scans = [
        ", ".join(sorted({table for one in result.figures.values() for table in one.scans})) or "none"
        for result in results.values()
    ]
    shown = [scan if name == "PostgreSQL" else "–" for name, scan in zip(results, scans, strict=True)]
    made.append(_row("tables scanned from end to end", "none on PostgreSQL", shown))
    return made


def _row(name: str, target: str, cells: Sequence[str]) -> str:
    return f"| {name} | {target} | {' | '.join(cells)} |"


def _said(figures: Figures) -> str:
    ratio = figures.ratio()
    beside = "" if ratio is None else f", {ratio:.1f} × by hand"
    return f"p50 {figures.at(50):.2f} ms, p95 {figures.at(95):.2f} ms{beside}"


def _aim(figures: Figures) -> str:
    aim = figures.aim
    parts = [f"p95 < {aim.milliseconds:g} ms"] if aim.milliseconds is not None else []
    parts += [f"≤ {aim.times:g} ×"] if aim.times is not None else []
    return ", ".join(parts) or "–"


def _cells(figures: Figures) -> str:
    ours = f"{figures.at(50):.2f}, {figures.at(95):.2f}"
    best, late, ratio = figures.best(50), figures.best(95), figures.ratio()
    hand = "" if best is None or late is None else f"{best:.2f}, {late:.2f}"
    times = "" if ratio is None else f"{ratio:.2f}"
    return f"{ours:>16}{hand:>16}{times:>8}  {', '.join(_verdicts(figures))}"


def _verdicts(figures: Figures) -> Iterator[str]:
    aim, ratio = figures.aim, figures.ratio()
    if aim.milliseconds is not None:
        reached = figures.at(95) < aim.milliseconds
        yield f"{'reaches' if reached else 'misses'} p95 < {aim.milliseconds:g} ms"
    if aim.times is not None and ratio is not None:
        yield f"{'reaches' if ratio <= aim.times else 'misses'} {aim.times:g} ×"


def _rate(result: ListResult) -> float:
    return result.rows / result.seconds


def _fill(result: ListResult) -> str:
    rate = _rate(result)
    return f"{rate:,.0f} a second ({'reaches' if rate >= FILL_AIM else 'misses'} {FILL_AIM:,})"


def _growth(result: ListResult) -> list[str]:
    found = [figures.at(50) for name, figures in result.figures.items() if name.startswith("definition look-up")]
    return [f"  the most versions cost {found[-1] / found[0]:.2f} times one version (aim: no more)"]
