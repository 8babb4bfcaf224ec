"""A sender that dies in any of its writes, two that share the work, a tenant's database that is away (spec 10)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.services.crashing import CrashingStores, Killed, Moment
from tests.services.outgoing import APPROVAL, Post, post
from tests.support.channels import FakeChannel
from tests.support.engine import ADMIN, actor, install
from tests.support.stores import APART, StoreSet
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.errors import Unavailable
from webapp.engine.notifications.model import Endpoint, delivery_id
from webapp.engine.ports.channels import OutgoingMessage
from webapp.engine.ports.stores import StoreFailure
from webapp.poller import Threads
from webapp.stores.memory import MemoryStores

CLAIM_SECONDS = 151.0
"""Longer than a claim: 30 s for the attempt and two minutes to wait for it."""

TOPICS = ("workflow.instance.started", "workflow.task.created", "workflow.instance.canceled")
INSTANCES = 3


class Half:
    """A house whose events wait to be handed on, and a second process of it whose stores can be struck."""

    def __init__(self, stores: StoreSet) -> None:
        self.house = post(stores)
        self.crashing = CrashingStores(stores.stores)
        self.dying = Post(
            install(replace(stores, stores=self.crashing), channels=[self.house.channel]),  # type: ignore[arg-type]
            self.house.channel,
        )
        self.hooks = [self.house.endpoint(name, topics=TOPICS) for name in ("first", "second")]
        self.house.house.publish(APPROVAL)
        self.expected: dict[str, str] = {}
        self.tell()

    def tell(self) -> None:
        """Have new events wait, and note what must come of them."""
        for _ in range(INSTANCES):
            started = self.house.house.start("approval")
            self.house.house.services.instances.cancel(ADMIN, started.id, "enough")
        new = expected(self.house, self.hooks)
        assert len(new) == INSTANCES * len(TOPICS) * len(self.hooks)
        self.expected |= new

    def strike(self, moment: Moment, number: int) -> bool:
        """Send in the second process, struck in its *number*-th write; False: there are not so many."""
        self.crashing.plan(moment, number)
        try:
            self.dying.send()
        except (Killed, Unavailable):
            return True
        return self.crashing.writes >= number


def expected(house: Post, hooks: Sequence[Endpoint]) -> dict[str, str]:
    """Return which deliveries must come of what waits in the outbox, by id, and the line of each."""
    with house.house.store_set.stores.reading(None) as work:
        entries = work.outbox.waiting(1_000)
    return {delivery_id(one.id, hook.id): f"{hook.id}//{one.instance_id}" for one in entries for hook in hooks}


def assert_all_told(half: Half) -> None:
    """Look at what came of it all: every delivery once and sent, received in order, nothing left."""
    house = half.house
    assert house.states() == dict.fromkeys(half.expected, "sent")
    assert house.outbox() == []
    received = list(dict.fromkeys(house.taken()))
    assert set(received) == set(half.expected)
    order = {name: house.find(name).sequence for name in received}
    for line in set(half.expected.values()):
        own = [order[name] for name in received if half.expected[name] == line]
        assert own == sorted(own), line


@pytest.mark.parametrize("moment", Moment)
def test_who_dies_in_any_write_of_a_pass_leaves_the_rest_to_others(stores: StoreSet, moment: Moment) -> None:
    """The first write hands on, the second claims, the others settle and claim; each is struck in a pass of its own."""
    half = Half(stores)
    house, struck = half.house, 0
    while half.strike(moment, struck + 1):
        struck += 1
        # What dies is the process; the next one has the same stores.
        half.crashing.dead = False
        with house.house.store_set.stores.reading(None) as work:
            waiting = work.outbox.waiting(1_000)
        assert len(waiting) in (0, INSTANCES * len(TOPICS)), "events are handed on all together or not at all"
        house.pass_time(CLAIM_SECONDS)
        house.send()
        assert_all_told(half)
        half.tell()
    assert struck > 2 + len(TOPICS)


def test_events_that_two_hand_on_at_once_become_deliveries_once(stores: StoreSet) -> None:
    """The second reads what the first is about to hand on, and does it again after the first has committed."""
    half = Half(stores)
    fan_out = half.dying.house.services.sending.fan_out
    read = fan_out._waiting

    def late(entry: Any, without: Any) -> Any:
        found = read(entry, without)
        if found and not half.house.states():
            half.house.send()
        return found

    fan_out._waiting = late  # type: ignore[method-assign]
    half.dying.send()
    assert_all_told(half)
    assert Counter(half.house.taken()) == dict.fromkeys(half.expected, 1)


def test_who_sends_meanwhile_takes_what_nobody_has(stores: StoreSet) -> None:
    """In the middle of the first one's first message, another sender makes a whole pass."""
    others: list[Post] = []

    def answer(message: OutgoingMessage) -> str | None:
        if others:
            others.pop().send()
        return None

    house = post(stores, FakeChannel(answer=answer))
    hook = house.endpoint()
    for line in range(30):
        house.line(hook, *(f"{line}-{place}" for place in range(2)), instance_id=f"i{line}")
    second = Post(install(stores, channels=[FakeChannel()]), house.channel)
    others.append(second)
    house.send()
    (channel,) = [second.house.services.sending.attempts._channels[hook.kind]]
    assert isinstance(channel, FakeChannel)
    by_second = [one.delivery_id for one in channel.taken]
    assert Counter(by_second + house.taken()) == {f"{line}-{place}": 1 for line in range(30) for place in range(2)}
    # Twenty were the first one's: it goes on with them, and the second has done all it could.
    assert len(by_second) == 20
    firsts = sorted(f"{line}-0" for line in range(30))
    assert not {f"{one[:-1]}0" for one in by_second} & set(firsts[:20])


def test_two_senders_with_threads_send_nothing_twice_and_keep_every_order(stores: StoreSet) -> None:
    if isinstance(stores.stores, MemoryStores):
        pytest.skip("the stores in memory have one thread at a time")
    house = post(stores)
    hook = house.endpoint()
    for line in range(12):
        house.line(hook, *(f"{line}-{place}" for place in range(4)), instance_id=f"i{line}")
    pair = [house, Post(install(stores, channels=[house.channel]), house.channel)]
    together = threading.Barrier(2)

    def send(one: Post) -> None:
        crew = Threads(3)
        together.wait(10)
        try:
            one.send(crew)
        finally:
            crew.close()

    threads = [threading.Thread(target=send, args=(one,)) for one in pair]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
        assert not each.is_alive()
    house.send()
    assert Counter(house.taken()) == {f"{line}-{place}": 1 for line in range(12) for place in range(4)}
    for line in range(12):
        own = [one for one in house.taken() if one.startswith(f"{line}-")]
        assert own == [f"{line}-{place}" for place in range(4)]


# --- a tenant with a database of its own ----------------------------------------------------------

OWN, SHARED = "t1", "t2"
BOSSES = {name: actor("boss", ADMINISTRATOR, partition=name) for name in (None, SHARED, OWN)}


@pytest.mark.parametrize("stores", APART, indirect=True)
def test_a_tenants_database_that_is_away_stops_its_own_messages_only(
    stores: StoreSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = post(stores)
    for partition, boss in BOSSES.items():
        house.house.publish(APPROVAL, boss)
        house.endpoint(by=boss, topics=["workflow.task.created"])
        house.house.start("approval", by=boss)
        hook = house.house.services.endpoints.list(boss)[0]
        house.put(house.delivery(f"old of {partition}", hook, sequence=-1), partition=partition)
    place = stores.stores._place(OWN)  # type: ignore[attr-defined]  # routed stores

    def gone() -> str | None:
        raise StoreFailure("gone", transient=True)

    place._sound = False
    with monkeypatch.context() as broken:
        broken.setattr(type(place._database), "behind", lambda self: gone())
        report = house.send()
        assert (report.handed_on, report.sent) == (2, 4)
        assert {message.endpoint.tenant_id for message in house.channel.taken} == {None, SHARED}
        with pytest.raises(Unavailable):
            house.house.services.deliveries.counts(BOSSES[OWN])
    house.pass_time(15)
    assert (house.send().sent, len(house.channel.taken)) == (2, 6)
    assert house.taken()[-2] == f"old of {OWN}"
    assert set(house.states(OWN).values()) == {"sent"}
