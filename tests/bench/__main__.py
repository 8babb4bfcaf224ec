"""``make bench``: Waypost beside bare rows and a peer on each database, with the machine's noise."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import timers
from tests.bench.breakdown import break_down
from tests.bench.conditions import compare_conditions, condition_table
from tests.bench.core_rows import CoreRows, Recording, Tables
from tests.bench.growth import Growth, grow, growth_table
from tests.bench.list_table import list_lines, list_markdown
from tests.bench.lists import ListResult, measure_lists
from tests.bench.machine import Noise
from tests.bench.measure import Contender, Rates, measure
from tests.bench.notices import compare_notices, notice_table
from tests.bench.purge import PurgeBench, purge_lines
from tests.bench.spiff import Spiff
from tests.bench.table import Table, timer_table, workload_tables
from tests.bench.targets import Target, postgresql_target, sqlite_target
from tests.bench.waypost import PREFIX, Waypost
from tests.bench.workers import Shared, share
from webapp.services.filling import Amounts


def main() -> None:
    """Measure every database in turn and print the tables."""
    options = _options()
    if options.purge:
        measure_purge(options)
    elif options.lists:
        measure_filled(options)
    else:
        measure_workloads(options)


def measure_workloads(options: argparse.Namespace) -> None:
    """Measure what commands and timers cost, beside bare rows and peers."""
    found = _Found()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        noise = Noise(folder)
        for opening in _targets(folder, options.postgresql):
            with opening as target, _contenders(target, folder / "data") as (waypost, contenders):
                print(f"measuring on {target.name} …", file=sys.stderr, flush=True)
                found.results[target.name] = measure(contenders, options.rounds, options.seconds, noise)
                found.timers[target.name] = _timers(target, waypost, options.rounds, noise)
                if target.synchronous is None:
                    found.shared = share(target, waypost, max(3, options.rounds // 2))
                found.growths[target.name] = grow(waypost)
                found.places[target.name] = _where_time_goes(waypost)
        told = notice_table(compare_notices(folder, options.rounds))
        conditions = condition_table(compare_conditions(options.rounds))
    for table in (*found.tables(), told, conditions):
        print("\n".join(table.markdown() if options.markdown else table.text()))
    print("\nWhere Waypost's time goes (how many a command)\n")
    for name, lines in found.places.items():
        print("\n".join(f"- {name:<14} {line}" for line in lines))
    print("\n".join(["", *(f"- {line}" for line in noise.report())]))


@dataclass
class _Found:
    """What was measured, by database."""

    results: dict[str, Rates] = field(default_factory=dict)
    timers: dict[str, Rates] = field(default_factory=dict)
    growths: dict[str, Growth] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    shared: Shared | None = None

    def tables(self) -> list[Table]:
        shared = [] if self.shared is None else [self.shared.table()]
        return [*workload_tables(self.results), timer_table(self.timers), *shared, growth_table(self.growths)]


def _timers(target: Target, waypost: Waypost, rounds: int, noise: Noise) -> Rates:
    contenders = timers.contenders(target, waypost)
    try:
        return timers.measure_timers(contenders, rounds, noise)
    finally:
        for contender in contenders:
            contender.close()


def measure_filled(options: argparse.Namespace) -> None:
    """Measure lists on filled databases: minutes for a million rows, so only when asked for."""
    instances = options.instances or 1_000_000
    amounts = Amounts(tasks=options.tasks, instances=instances, users=options.users, groups=options.groups)
    results: dict[str, ListResult] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        noise = Noise(folder)
        for opening in _filled_targets(folder, options):
            with opening as target:
                print(f"filling and measuring {target.name} …", file=sys.stderr, flush=True)
                place = folder / "lists" / target.name.replace(" ", "-")
                results[target.name] = measure_lists(target, place, amounts, options.calls, noise)
        print("\n".join(list_markdown(results) if options.markdown else list_lines(results)))
        print("\n".join(["", *(f"- {line}" for line in noise.report())]))


def _filled_targets(folder: Path, options: argparse.Namespace) -> Iterator[AbstractContextManager[Target]]:
    if options.postgresql:
        yield postgresql_target()
    if options.sqlite:
        yield sqlite_target(folder, "FULL")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each contender")
    parser.add_argument("--seconds", type=float, default=0.7, help="length of a turn for each workload")
    parser.add_argument("--folder", help="where the SQLite files lie (default: the temporary folder)")
    parser.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.add_argument("--no-postgresql", dest="postgresql", action="store_false", help="SQLite only")
    parser.add_argument("--purge", action="store_true", help="approvals while 100,000 ended instances are purged")
    parser.add_argument("--instances", type=int, help="of --purge: how many have ended; of --lists: how many in all")
    parser.add_argument("--nodes", type=int, default=100_000, help="of --purge: node rows of the largest of them")
    parser.add_argument("--rate", type=float, default=50, help="of --purge: approvals a second")
    parser.add_argument("--lists", action="store_true", help="lists of a filled installation, beside SQL by hand")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="of --lists: open tasks")
    parser.add_argument("--users", type=int, default=200, help="of --lists: accounts")
    parser.add_argument("--groups", type=int, default=1_000, help="of --lists: groups")
    parser.add_argument(
        "--calls", type=int, default=300, help="of --lists: calls of each kind, or as many as a minute allows"
    )
    parser.add_argument(
        "--no-sqlite", dest="sqlite", action="store_false", help="of --lists and --purge: PostgreSQL only"
    )
    return parser.parse_args()


def measure_purge(options: argparse.Namespace) -> None:
    """Purge on one database after the other while somebody works, and print how long his approvals take."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        noise = Noise(folder)
        noise.sample()
        for opening in _filled_targets(folder, options):
            with opening as target:
                home = folder / "data" / target.name.replace(" ", "-")
                bench = PurgeBench(
                    target, home, instances=options.instances or 100_000, nodes=options.nodes, rate=options.rate
                )
                print("\n".join(purge_lines(target.name, bench)), flush=True)
                noise.sample()
                bench.close()
        print("\n".join(noise.report()))


def _targets(folder: Path, postgresql: bool) -> Iterator[AbstractContextManager[Target]]:
    yield sqlite_target(folder, "FULL")
    yield sqlite_target(folder, "NORMAL")
    if postgresql:
        yield postgresql_target()


@contextmanager
def _contenders(target: Target, folder: Path) -> Iterator[tuple[Waypost, list[Contender]]]:
    waypost = Waypost(target, folder / target.name.replace(" ", "-"))
    contenders: list[Contender] = [waypost]
    try:
        contenders.insert(0, _core_rows(target, waypost))
        contenders.append(Spiff(target))
        yield waypost, contenders
    finally:
        for contender in contenders:
            contender.close()


def _core_rows(target: Target, waypost: Waypost) -> CoreRows:
    """Return the bare rows of what Waypost stores for each workload."""
    engine = target.engine()
    tables = Tables(engine, PREFIX)
    straight = tables.rows_of(engine, waypost.run_row(10))
    fork = tables.rows_of(engine, waypost.run_fan(10))
    waiting = waypost.start_waiting()
    started = tables.rows_of(engine, waiting)
    waypost.complete_first()
    ended = tables.rows_of(engine, waiting)
    engine.dispose()
    return CoreRows(target, tables, Recording(straight, straight), Recording(started, ended), Recording(fork, fork))


def _where_time_goes(waypost: Waypost) -> list[str]:
    works = {"W1": waypost.straight, "W2": waypost.cycle, "W3": waypost.fork}
    return [f"{name} {break_down(work, 200)}" for name, work in works.items()]


if __name__ == "__main__":
    main()
