"""Lists of a full installation beside hand-written SQL for the same rows: ``make bench ARGS="--lists"``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.hand_lists import Hand
from tests.bench.machine import Noise
from tests.bench.plans import scanned
from tests.bench.targets import Target
from tests.bench.waypost import opened
from webapp.accounts.model import Actor
from webapp.accounts.permissions import PERMISSIONS
from webapp.cli.fill import samples
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.queries import InstanceQuery, Paging, Sort, TaskQuery
from webapp.services.filling import Amounts
from webapp.web.deps import Installation

PAGE = 50
KEYWORDS = (None, "invoice", "发票", "laptop", "叉车", "zeppelin", "琥珀")
"""Without one; common; common and of two Chinese characters; less common; rare of two; very rare, in both languages."""

SOME_USERS = 20
FEW_CALLS = 40
CASE_SECONDS = 60
"""A list that takes long is called less often: until so much time has gone, but each of its calls and a few times."""
"""Whose inboxes are looked at."""

BY_CREATION = Paging(limit=PAGE, sorts=(Sort("createdAt"),))
VERSIONS = (1, 100, 10_000)
_WARMING = 3

Ids = list[str]
Call = Callable[[], Ids]


@dataclass(frozen=True)
class Aim:
    """The most milliseconds at the 95th percentile, and the most times of the best hand-written SQL's median."""

    milliseconds: float | None = None
    times: float | None = None


@dataclass
class Case:
    """One kind of list: the calls to be made, each with the hand-written ways to the same rows."""

    name: str
    calls: Sequence[tuple[Call, Sequence[Call]]]
    aim: Aim = Aim()


@dataclass
class Figures:
    """What was measured of a case: milliseconds of every call; *hand* by the way it was written."""

    aim: Aim
    ours: list[float] = field(default_factory=list)
    hand: list[list[float]] = field(default_factory=list)
    scans: list[str] = field(default_factory=list)

    def at(self, percent: int) -> float:
        """Return a percentile of ours."""
        return percentile(self.ours, percent)

    def best(self, percent: int) -> float | None:
        """Return a percentile of the hand-written way with the least median, None when there is none."""
        ways = sorted((way for way in self.hand if way), key=statistics.median)
        return percentile(ways[0], percent) if ways else None

    def ratio(self) -> float | None:
        """Return how many times the best way's median ours is."""
        best = self.best(50)
        return None if best is None else self.at(50) / best


@dataclass
class ListResult:
    """All figures of a database, and how long filling it took."""

    figures: dict[str, Figures]
    rows: int
    seconds: float


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def measure_lists(target: Target, folder: Path, amounts: Amounts, calls: int, noise: Noise) -> ListResult:
    """Fill a database of the bench's own and measure each case, ours and the hand-written ways in turns."""
    here = opened(target, folder, {})
    here.migrations.upgrade(None)
    started = time.perf_counter()
    assert here.filling is not None
    report = here.filling.fill(None, amounts, samples(), told=lambda step, done, total: None)
    seconds = time.perf_counter() - started
    _add_versions(here)
    with Hand(target) as hand:
        figures = {case.name: _measured(case, hand, calls, noise) for case in _cases(here, hand, target, amounts.users)}
    here.close()
    return ListResult(figures, report.rows, seconds)


def _measured(case: Case, hand: Hand, calls: int, noise: Noise) -> Figures:
    found = Figures(case.aim, hand=[[] for _ in case.calls[0][1]])
    for ours, ways in case.calls:
        wanted = ours()
        for way in ways:
            assert way() == wanted, case.name
    found.scans = scanned(hand, [ours for ours, _ in case.calls])
    least, until = max(FEW_CALLS, len(case.calls)), time.monotonic() + CASE_SECONDS
    for number, (ours, ways) in enumerate(islice(cycle(case.calls), max(calls, len(case.calls)))):
        if number >= least and time.monotonic() > until:
            break
        if number % 20 == 0:
            noise.sample()
        found.ours.append(_milliseconds(ours))
        for way, times in zip(ways, found.hand, strict=True):
            times.append(_milliseconds(way))
    return found


def _milliseconds(call: Call) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def _cases(here: Installation, hand: Hand, target: Target, users: int) -> Iterator[Case]:
    page_aim = Aim(5.0 if target.synchronous is None else 50.0, 3.0)
    some = [_actor(here, f"u{number}") for number in range(1, min(users, SOME_USERS) + 1)]
    yield Case(
        "inbox page, mine and claimable, keyword, total",
        [_inbox(here, hand, user, keyword) for user, keyword in product(some, KEYWORDS)],
        page_aim,
    )
    yield Case("all tasks by keyword, total", [_all_tasks(here, hand, word) for word in KEYWORDS[1:]], page_aim)
    admin = _admin()
    for name, query in _instance_queries().items():
        yield Case(f"instances, {name}", [_instances(here, hand, admin, query)])
    yield Case("instances by status, counters", [_counts(here, hand, admin)])
    for versions in VERSIONS:
        yield Case(f"definition look-up, {versions:,} versions", [(_look_up(here, f"bench.{versions}"), ())])


def _instance_queries() -> Mapping[str, InstanceQuery]:
    first, far = Paging(limit=PAGE), Paging(limit=PAGE, offset=999 * PAGE)
    running = (InstanceStatus.RUNNING,)
    return {
        "page 1": InstanceQuery(paging=first),
        "page 1,000": InstanceQuery(paging=far),
        "page 1 of Running": InstanceQuery(statuses=running, paging=first),
        "page 1,000 of Running": InstanceQuery(statuses=running, paging=far),
        "page 1 of a definition, Completed": InstanceQuery(
            statuses=(InstanceStatus.COMPLETED,), definition_name="payment-approval", paging=first
        ),
        "page 1 of a starter": InstanceQuery(starter_id="u7", paging=first),
        "page 1 by common keyword": InstanceQuery(keyword="发票", paging=first),
        "page 1 by rare keyword": InstanceQuery(keyword="琥珀", paging=first),
    }


def _inbox(here: Installation, hand: Hand, user: Actor, keyword: str | None) -> tuple[Call, Sequence[Call]]:
    query = TaskQuery(keyword=keyword, paging=BY_CREATION)

    def ours() -> Ids:
        inbox = here.services.inbox
        pages = [inbox.query(user, query, scope=scope) for scope in ("mine", "claimable")]
        return [*(f"{page.total}" for page in pages), *(task.id for page in pages for task in page.items)]

    return ours, hand.inbox(user.principals, keyword, PAGE)


def _all_tasks(here: Installation, hand: Hand, keyword: str | None) -> tuple[Call, Sequence[Call]]:
    admin, query = _admin(), TaskQuery(keyword=keyword, paging=BY_CREATION)

    def ours() -> Ids:
        page = here.services.inbox.query(admin, query, scope="all")
        return [f"{page.total}", *(task.id for task in page.items)]

    return ours, hand.all_tasks(keyword or "", PAGE)


def _instances(here: Installation, hand: Hand, admin: Actor, query: InstanceQuery) -> tuple[Call, Sequence[Call]]:
    def ours() -> Ids:
        page = here.services.instances.query(admin, query)
        return [f"{page.total}", *(item.id for item in page.items)]

    return ours, hand.instances(query)


def _counts(here: Installation, hand: Hand, admin: Actor) -> tuple[Call, Sequence[Call]]:
    def ours() -> Ids:
        counts = here.services.instances.counts(admin)
        return [f"{status}={count}" for status, count in sorted(counts.items()) if count]

    return ours, hand.counts()


def _look_up(here: Installation, name: str) -> Call:
    stores: Any = here.stores

    def ours() -> Ids:
        with stores.reading(None) as work:
            found = work.definitions.latest_published(None, name)
        return [found.id]

    return ours


def _add_versions(here: Installation) -> None:
    """Put definitions with many published versions in."""
    stores: Any = here.stores
    with stores.reading(None) as work:
        header = work.definitions.latest_published(None, "quick-answer")
        like = work.definitions.find(None, header.id)
    assert like.status is DefinitionStatus.PUBLISHED
    with stores.writing(None) as work:
        for versions in VERSIONS:
            for version in range(1, versions + 1):
                one = msgspec.structs.replace(like, id=here.new_id(), name=f"bench.{versions}", version=version)
                work.definitions.insert(None, one)


def _actor(here: Installation, name: str) -> Actor:
    account = here.services.accounts.find_by_name(name)
    assert account is not None
    return here.services.accounts.actor(account)


def _admin() -> Actor:
    return Actor(account_id="admin", name="admin", display_name="admin", permissions=PERMISSIONS)
