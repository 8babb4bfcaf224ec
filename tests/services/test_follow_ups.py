"""Follow-ups: run by the thread that caused them, in a loop, within bounds (spec 3.22)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.stores import WriteSet
from webapp.engine.runtime.commands import Wave
from webapp.services import ServiceSettings

WAITING = flow("waiting", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])


def _owe(house: Installation, *ids: str, action: str = "count") -> list[FollowUp]:
    now = house.store_set.clock.now()
    return [FollowUp(id=one, action=action, created_at=now, due_at=now) for one in ids]


def _wave(house: Installation, owed: list[FollowUp], *, done: str | None = None) -> Wave:
    """Store follow-ups as the wave of a command would, and return it."""
    write_set = WriteSet(partition=None, new_follow_ups=owed, deleted_follow_up_ids=[done] if done else [])
    with house.store_set.stores.writing(None) as work:
        work.apply(write_set)
    return Wave(write_set=write_set, instance=house.start("waiting"), events=[], log_lines=[])


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores, settings=ServiceSettings(follow_ups_per_call=5))
    made.publish(WAITING)
    return made


def _left(house: Installation) -> list[str]:
    now = house.store_set.clock.now()
    with house.store_set.stores.writing(None) as work:
        return [one.id for one in work.follow_ups.claim_due(now, 100, "token", now + timedelta(seconds=1))]


def test_what_a_follow_up_owes_in_turn_runs_in_the_same_loop(house: Installation) -> None:
    ran: list[str] = []

    def handle(owed: FollowUp) -> Wave:
        ran.append(owed.id)
        return _wave(house, _owe(house, owed.id + "x") if len(owed.id) < 3 else [], done=owed.id)

    house.services.follow_ups.register("count", handle)
    assert house.services.follow_ups.run_own(_wave(house, _owe(house, "a", "b"))) == 5
    assert ran == ["a", "b", "ax", "bx", "axx"]
    # The sixth is over the bound: it is the poller's.
    assert house.services.housekeeping.poll_once().follow_ups == 1
    assert ran[-1] == "bxx"
    assert _left(house) == []


def test_no_more_are_begun_when_the_time_is_over(house: Installation) -> None:
    ran: list[str] = []

    def handle(owed: FollowUp) -> None:
        ran.append(owed.id)
        house.store_set.clock.advance(4)

    house.services.follow_ups.register("count", handle)
    assert house.services.follow_ups.run_own(_wave(house, _owe(house, "a", "b", "c"))) == 2
    assert ran == ["a", "b"]
    assert _left(house) == ["c"]


def test_what_a_poller_has_claimed_is_left_to_it(house: Installation) -> None:
    ran: list[str] = []
    house.services.follow_ups.register("count", lambda owed: ran.append(owed.id))
    wave = _wave(house, _owe(house, "a"))
    assert _left(house) == ["a"]
    assert house.services.follow_ups.run_own(wave) == 0
    assert ran == []


def test_what_is_due_later_is_left_to_the_poller(house: Installation) -> None:
    ran: list[str] = []
    house.services.follow_ups.register("count", lambda owed: ran.append(owed.id))
    now_due, later = _owe(house, "now", "later")
    later.due_at += timedelta(seconds=10)
    assert house.services.follow_ups.run_own(_wave(house, [later, now_due])) == 1
    assert ran == ["now"]
    house.elapse(9)
    assert ran == ["now"]
    house.elapse(1)
    assert ran == ["now", "later"]


def test_one_that_fails_does_not_stop_the_next(house: Installation) -> None:
    ran: list[str] = []

    def handle(owed: FollowUp) -> None:
        ran.append(owed.id)
        if owed.id == "a":
            raise RuntimeError("not yet")

    house.services.follow_ups.register("count", handle)
    house.services.follow_ups.run_own(_wave(house, _owe(house, "a", "b")))
    assert ran == ["a", "b"]
    house.store_set.clock.advance(1)
    assert _left(house) == ["a"]


def test_an_action_has_one_handler(house: Installation) -> None:
    house.services.follow_ups.register("count", lambda owed: None)
    with pytest.raises(ValueError, match="count"):
        house.services.follow_ups.register("count", lambda owed: None)


def test_a_command_settles_what_its_wave_owes_and_a_failure_there_does_not_undo_it(
    house: Installation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No activity of this release owes anything, so the engine is made to."""
    ran: list[str] = []
    house.services.follow_ups.register("count", lambda owed: ran.append(owed.id))
    start = house.engine.start

    def owing(*arguments: object) -> Wave:
        wave = start(*arguments)  # type: ignore[arg-type]  # passed through
        wave.write_set.new_follow_ups = _owe(house, f"owed-{len(ran)}")
        return wave

    monkeypatch.setattr(house.engine, "start", owing)
    house.start("waiting")
    assert ran == ["owed-0"]
    assert _left(house) == []

    def fail() -> str:
        raise RuntimeError("no tokens")

    monkeypatch.setattr(house.store_set.leases, "token", fail)
    instance = house.start("waiting")
    assert house.services.instances.get(ADMIN, instance.id).id == instance.id
    assert "follow-ups are left to the poller" in caplog.text
    assert _left(house) == ["owed-1"]
