"""Purging beside work: approvals at a steady rate while housekeeping deletes 100,000 ended instances and a huge one.

Approvals come at fixed moments, whether or not earlier ones are done, and each is timed from its moment on: so a stall
counts for all that it kept waiting. Spells with and without the purge take turns until there is nothing left to purge.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

import sqlalchemy as sa

from tests.bench.quartiles import percentile
from tests.bench.targets import Target
from tests.bench.waypost import Waypost
from webapp.services import Services
from webapp.stores.sql.tables import PLATFORM_SET

RETENTION_DAYS = 30
SPELL_SECONDS = 6.0
SETTLE_SECONDS = 0.5
THREADS = 8


@dataclass
class Spells:
    """The times of approvals in milliseconds, and how many failed, in spells of one kind."""

    times: list[float] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0

    def line(self, name: str) -> str:
        """Return what is printed of them."""
        p50, p95, p99 = (percentile(self.times, share) for share in (0.5, 0.95, 0.99))
        return (
            f"  {name:<18} p50 {p50:7.1f} ms  p95 {p95:7.1f} ms  p99 {p99:7.1f} ms  most {max(self.times):7.1f} ms"
            f"  ({len(self.times)} approvals, {self.failed} failed)"
        )


class PurgeBench:
    """One database with much to purge and somebody at work."""

    def __init__(self, target: Target, folder: Path, *, instances: int, nodes: int, rate: float) -> None:
        self._waypost = Waypost(target, folder, WAYPOST_RETENTION_DAYS=str(RETENTION_DAYS))
        self._services: Services = self._waypost.services
        self._rate = rate
        self._tasks: Queue[str] = Queue()
        self._going = threading.Event()
        self.instances, self.nodes = instances, nodes
        template, engine = self._template(), target.engine()
        with engine.begin() as connection:
            _fill(connection, template, instances, nodes)
        engine.dispose()

    def close(self) -> None:
        """Let the connections go."""
        self._waypost.close()

    def run(self) -> tuple[Spells, Spells, int, float]:
        """Return the spells without and with the purge, the instances purged and the seconds that the purge ran."""
        without, during = Spells(), Spells()
        purged: list[int] = [0]
        self._spell(Spells())
        with ThreadPoolExecutor(1) as pool:
            while self._services.purges.state(None).trees or self._services.purges.state(None).marked:
                self._spell(without)
                self._going.set()
                began = time.perf_counter()
                housekeeping = pool.submit(self._services.purges.run, [None], lambda: not self._going.is_set())
                self._spell(during, until=housekeeping.done)
                self._going.clear()
                purged[0] += housekeeping.result()
                during.seconds += time.perf_counter() - began
                time.sleep(SETTLE_SECONDS)
        return without, during, purged[0], during.seconds

    def _template(self) -> str:
        """Return the id of an ended instance as the engine leaves one."""
        instance = self._waypost.start_waiting()
        self._waypost.complete_first()
        return instance

    def _spell(self, spells: Spells, until: object = None) -> None:
        """Approve at a steady rate for some seconds, or until the purge is done."""
        wanted = int(SPELL_SECONDS * self._rate)
        for _ in range(wanted):
            self._waypost.start_waiting()
        tasks = self._waypost.open_tasks(wanted)
        with ThreadPoolExecutor(THREADS) as pool:
            began = time.perf_counter() + 0.05
            futures = []
            for number, task in enumerate(tasks):
                moment = began + number / self._rate
                time.sleep(max(0.0, moment - time.perf_counter()))
                if callable(until) and until():
                    break
                futures.append(pool.submit(self._approve, task, moment))
            for future in futures:
                took = future.result()
                if took is None:
                    spells.failed += 1
                else:
                    spells.times.append(took)

    def _approve(self, task: str, moment: float) -> float | None:
        try:
            self._waypost.approve(task)
        except Exception:
            logging.getLogger(__name__).exception("an approval failed")
            return None
        return (time.perf_counter() - moment) * 1000


def _fill(connection: sa.Connection, template: str, instances: int, nodes: int) -> None:
    """Copy an ended instance so many times, and its first node instance into one of the copies."""
    for table in (PLATFORM_SET.instances, PLATFORM_SET.node_instances, PLATFORM_SET.task_records):
        for start in range(1, instances + 1, 10_000):
            _copy(connection, table, template, start, min(instances, start + 9_999))
    one = PLATFORM_SET.node_instances
    for start in range(1, nodes + 1, 10_000):
        _copy(connection, one, template, start, min(nodes, start + 9_999), into=f"{template}-1000")


def _copy(
    connection: sa.Connection, table: sa.Table, template: str, first: int, last: int, into: str | None = None
) -> None:
    columns = [column for column in table.columns if column.computed is None]
    number = "CAST(n.i AS TEXT)"
    made = {
        "id": f"x.id || '-' || {number}" if into is None else f"x.id || '-huge-' || {number}",
        "task_id": f"x.task_id || '-' || {number}",
        "instance_id": f"x.instance_id || '-' || {number}" if into is None else f"'{into}'",
        "root_instance_id": f"x.root_instance_id || '-' || {number}",
        "sequence": "x.sequence + n.i",
    }
    if connection.dialect.name == "sqlite":
        made["ended_at"] = f"strftime('%Y-%m-%dT%H:%M:%S', x.ended_at, '-400 days', '+' || {number} || ' seconds')"
        made["ended_at"] += " || '.000000+00:00'"
    else:
        made["ended_at"] = "x.ended_at - interval '400 days' + n.i * interval '1 second'"
    key = "id" if table.name.endswith("_instances") and "instance_id" not in table.c else "instance_id"
    names = ", ".join(column.name for column in columns)
    values = ", ".join(made.get(column.name, f"x.{column.name}") for column in columns)
    one = " LIMIT 1" if into is not None else ""
    connection.exec_driver_sql(
        f"WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}), "
        f"x AS (SELECT * FROM {table.name} WHERE {key} = '{template}'{one}) "
        f"INSERT INTO {table.name} ({names}) SELECT {values} FROM x CROSS JOIN n"
    )


def purge_lines(name: str, bench: PurgeBench) -> Iterator[str]:
    """Measure, and yield what is printed."""
    without, during, purged, seconds = bench.run()
    yield f"{name}: {purged} instances purged in {seconds:.0f} s of purging, one of them with {bench.nodes} node rows"
    yield without.line("without purging")
    yield during.line("while purging")
    ratio = percentile(during.times, 0.95) / percentile(without.times, 0.95)
    yield f"  p95 while purging is {ratio:.2f} times p95 without"
