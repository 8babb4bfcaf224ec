"""W4: timers that come due together, fired a second, beside peers on the same database.

Each contender first arms so many instances (not measured): each waits for a timer and then ends. When all are due, the
time is taken in which the contender finds, resumes and stores them all, until nothing of them is left to do.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from absurd_sdk import Absurd
from absurdctl import BUNDLED_SCHEMA_SQL

from tests.bench.machine import Noise
from tests.bench.measure import Rates
from tests.bench.spiff import SpiffTimers
from tests.bench.targets import Target
from tests.bench.waypost import Waypost
from webapp.poller import Threads

WORKLOAD = "W4"
TIMERS = 400
"""How many come due together."""

AIM_OF_SPIFF = 2.0
AIM_OF_ABSURD = 1.2
_DELAY_SECONDS = 0.05
_PATIENCE_SECONDS = 20
_CREW = 4
_CLAIM = 100


class Timers(Protocol):
    """Somebody who has timers."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    def arm(self, number: int) -> None:
        """Start so many instances that wait and then end; return when all are due."""

    def fire(self) -> int:
        """Run all that is due to its end; return how many ended."""

    def close(self) -> None:
        """Let everything go."""


class WaypostTimers:
    """Waypost's poller, with the threads that it has by default."""

    name = "Waypost"

    def __init__(self, waypost: Waypost) -> None:
        self._waypost = waypost
        self._crew = Threads(_CREW)

    def arm(self, number: int) -> None:
        """Start instances with a Delay."""
        self._waypost.start_delayed(number, _DELAY_SECONDS)
        time.sleep(_DELAY_SECONDS)

    def fire(self) -> int:
        """Poll once: that goes on until nothing is due."""
        return self._waypost.poll(self._crew)

    def close(self) -> None:
        """End the threads."""
        self._crew.close()


class AbsurdTimers:
    """absurd: durable tasks in PostgreSQL's own functions; a task that has slept is claimed, resumed and completed."""

    name = "absurd"

    def __init__(self, target: Target) -> None:
        self._client = Absurd(target.url, queue_name="bench")
        self._client._conn.execute(BUNDLED_SCHEMA_SQL)
        self._client.create_queue()
        self._ended = 0
        self._patience = float(_PATIENCE_SECONDS)

        @self._client.register_task("nap")
        def nap(parameters: Any, context: Any) -> dict[str, int]:
            context.sleep_until("nap", parameters["wakes"])
            self._ended += 1
            return {"n": parameters["n"] + 1}

    def arm(self, number: int) -> None:
        """Spawn tasks and run them until they sleep; none may wake before all sleep, else that would run it."""
        started = time.perf_counter()
        wakes = time.time() + self._patience
        for _ in range(number):
            self._client.spawn("nap", {"n": 0, "wakes": wakes})
        for _ in range(0, number, _CLAIM):
            self._client.work_batch(batch_size=_CLAIM)
        assert self._ended == 0, "the machine is too slow for this bench"
        # The first time nobody knows how long it takes.
        self._patience = 1 + 3 * (time.perf_counter() - started)
        time.sleep(max(0, wakes - time.time()))

    def fire(self) -> int:
        """Claim a hundred at a time and work them, as its own worker does."""
        before = -1
        while self._ended > before:
            before = self._ended
            self._client.work_batch(batch_size=_CLAIM)
        ended, self._ended = self._ended, 0
        return ended

    def close(self) -> None:
        """Let the connection go."""
        self._client.close()


def contenders(target: Target, waypost: Waypost) -> list[Timers]:
    """Return those that fire timers on a database."""
    found: list[Timers] = [WaypostTimers(waypost), SpiffTimers(target, _DELAY_SECONDS)]
    if target.synchronous is None:
        found.append(AbsurdTimers(target))
    return found


def measure_timers(timers: Sequence[Timers], rounds: int, noise: Noise) -> Rates:
    """Let each contender fire a flock of timers, *rounds* times in turn."""
    rates = Rates()
    for contender in timers:
        _fired(contender)
    for _ in range(rounds):
        for contender in timers:
            noise.sample()
            rates.add(WORKLOAD, contender.name, _fired(contender))
    return rates


def _fired(contender: Timers) -> float:
    """Return how many timers a second were fired."""
    contender.arm(TIMERS)
    started = time.perf_counter()
    ended = contender.fire()
    elapsed = time.perf_counter() - started
    assert ended == TIMERS, f"{contender.name} fired {ended} of {TIMERS} timers"
    return ended / elapsed
