"""``make bench``: Waypost beside bare rows and a peer on each database, with the machine's noise."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.bench.breakdown import break_down
from tests.bench.core_rows import CoreRows, Recording, Tables
from tests.bench.machine import Noise
from tests.bench.measure import Contender, Rates, measure
from tests.bench.spiff import Spiff
from tests.bench.table import lines
from tests.bench.targets import Target, postgresql_target, sqlite_target
from tests.bench.waypost import PREFIX, Waypost


def main() -> None:
    """Measure every database in turn and print the tables."""
    options = _options()
    results: dict[str, Rates] = {}
    places: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        noise = Noise(folder)
        for opening in _targets(folder, options.postgresql):
            with opening as target, _contenders(target, folder / "data") as (waypost, contenders):
                print(f"measuring on {target.name} …", flush=True)
                results[target.name] = measure(contenders, options.rounds, options.seconds, noise)
                places[target.name] = _where_time_goes(waypost)
        print("\n".join([*lines(results), "", "Where Waypost's time goes (how many a command)"]))
        for name, found in places.items():
            print("\n".join(f"  {name:<14} {line}" for line in found))
        print("\n".join(["", *noise.report()]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each contender")
    parser.add_argument("--seconds", type=float, default=0.7, help="length of a turn for each workload")
    parser.add_argument("--folder", help="where the SQLite files lie (default: the temporary folder)")
    parser.add_argument("--no-postgresql", dest="postgresql", action="store_false", help="SQLite only")
    return parser.parse_args()


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
    """Return the bare rows of what Waypost stores for either workload."""
    engine = target.engine()
    tables = Tables(engine, PREFIX)
    straight = tables.rows_of(engine, waypost.straight_instance())
    waiting = waypost.start_waiting()
    started = tables.rows_of(engine, waiting)
    waypost.complete_first()
    ended = tables.rows_of(engine, waiting)
    engine.dispose()
    return CoreRows(target, tables, Recording(straight, straight), Recording(started, ended))


def _where_time_goes(waypost: Waypost) -> list[str]:
    return [f"W1 {break_down(waypost.straight, 200)}", f"W2 {break_down(waypost.cycle, 200)}"]


if __name__ == "__main__":
    main()
