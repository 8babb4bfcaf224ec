"""Rates of contenders that take turns, so that a slow minute of the machine hits them all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tests.bench.machine import Noise
from tests.bench.quartiles import quartiles

WORKLOADS = {
    "W1": "ten nodes straight through",
    "W2": "start, list, complete",
    "W3": "fork into ten branches and join",
}


class Contender(Protocol):
    """Somebody who can do the workloads on one database."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    def straight(self) -> None:
        """W1: start an instance of ten nodes that runs to its end."""

    def cycle(self) -> None:
        """W2: start an instance that waits for a person, list that person's tasks, complete the task."""

    def fork(self) -> None:
        """W3: start an instance that forks into ten branches of one node each, joins them and ends."""

    def close(self) -> None:
        """Let everything go."""


@dataclass
class Rates:
    """Operations a second of every round, by workload and contender."""

    rounds: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, workload: str, contender: str, rate: float) -> None:
        """Note a round."""
        self.rounds.setdefault((workload, contender), []).append(rate)

    def knows(self, workload: str, contender: str) -> bool:
        """Whether that contender did that workload."""
        return (workload, contender) in self.rounds

    def middle(self, workload: str, contender: str) -> float:
        """Return the median round."""
        return statistics.median(self.rounds[workload, contender])

    def half(self, workload: str, contender: str) -> tuple[float, float]:
        """Return between which rates the middle half of the rounds lies."""
        lower, _, upper = quartiles(self.rounds[workload, contender])
        return lower, upper

    def ratio(self, workload: str, contender: str, other: str) -> float:
        """Return the median of the rounds' ratios: both were measured at nearly the same moment."""
        pairs = zip(self.rounds[workload, contender], self.rounds[workload, other], strict=True)
        return statistics.median(first / second for first, second in pairs)


def measure(contenders: Sequence[Contender], rounds: int, seconds: float, noise: Noise) -> Rates:
    """Let each contender do each workload for *seconds*, *rounds* times in turn."""
    rates = Rates()
    for contender in contenders:
        for work in _workloads(contender).values():
            for _ in range(10):  # fills caches and pools
                work()
    for _ in range(rounds):
        for contender in contenders:
            noise.sample()
            for workload, work in _workloads(contender).items():
                rates.add(workload, contender.name, rate(work, seconds))
    return rates


def rate(work: Callable[[], None], seconds: float) -> float:
    """Return how often a second *work* can be done, one after the other."""
    started = time.perf_counter()
    done = 0
    while (elapsed := time.perf_counter() - started) < seconds:
        work()
        done += 1
    return done / elapsed


def _workloads(contender: Contender) -> dict[str, Callable[[], None]]:
    return {"W1": contender.straight, "W2": contender.cycle, "W3": contender.fork}
