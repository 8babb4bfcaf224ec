"""Reminders, due dates and escalations are told in the transaction that marks them (spec 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.services.crashing import CrashingStores, Killed, Moment
from tests.services.notified import Refusing, begin, deliveries, emma, notices, staffed, told
from tests.support.channels import FakeChannel
from tests.support.engine import install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.errors import Unavailable
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.notifications.model import ChannelKind, EventType
from webapp.engine.ports.stores import StoreFailure, Stores, UnitOfWork

REMINDING = flow(
    "approval",
    [
        START,
        node(
            "ask",
            "UserTask",
            {"Assignees": ["u1"], "RemindEverySeconds": 60, "DueInSeconds": 90},
            timeout_seconds=150,
            timeout_action="Escalate",
            timeout_target=["u2"],
        ),
        END,
    ],
)

ONCE = flow(
    "approval",
    [
        START,
        node(
            "ask",
            "UserTask",
            {"Assignees": ["u1"], "RemindAfterSeconds": 60},
            timeout_seconds=60,
            timeout_action="Escalate",
            timeout_target=["u2"],
        ),
        END,
    ],
)
"""Reminds and escalates at the same moment, and no more."""


def test_reminders_due_dates_and_escalations_are_told_by_the_job(stores: StoreSet) -> None:
    house = staffed(stores)
    begin(house, REMINDING)
    seen: Sequence[str] = []
    for seconds in (60, 30, 30, 30):
        stores.clock.advance(seconds)
        house.services.housekeeping.run_timers()
        house.services.housekeeping.run_timers()
        seen = told(house, "u1")
    assert seen == ["TaskCreated", "TaskReminder", "TaskOverdue", "TaskReminder", "TaskEscalated"]
    assert told(house, "u2") == ["TaskEscalated"]
    assert [one.occurrence for one in notices(house, "u1") if one.event_type is EventType.TASK_REMINDER] == [1, 2]


class Torn:
    """Stores that lose the connection after a notice was written, before its command is committed."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self.torn = False

    def reading(self, partition: str | None) -> Any:
        return self._stores.reading(partition)

    @contextmanager
    def writing(self, partition: str | None) -> Iterator[UnitOfWork]:
        with self._stores.writing(partition) as work:
            yield work
            if self.torn and self._wrote(work):
                raise StoreFailure("the connection is lost")

    def _wrote(self, work: UnitOfWork) -> bool:
        return work.notices.unread(None, "u1") > 1


def test_a_reminder_and_its_mark_are_one_transaction(stores: StoreSet) -> None:
    torn = Torn(stores.stores)
    house = staffed(replace(stores, stores=torn))
    instance = begin(house, REMINDING)
    stores.clock.advance(60)

    def armed() -> list[int]:
        found = house.bookmarks(instance.id, BookmarkKind.REMINDER)
        return [one.payload["count"] for one in found if "count" in one.payload]

    torn.torn = True
    house.services.housekeeping.run_timers()
    assert (told(house, "u1"), armed()) == (["TaskCreated"], [0])
    torn.torn = False
    stores.clock.advance(3_600)
    house.services.housekeeping.run_timers()
    assert told(house, "u1").count("TaskReminder") == 1
    assert armed() == [1]


@pytest.mark.parametrize("moment", Moment)
def test_a_job_that_dies_in_any_write_reminds_and_escalates_once(stores: StoreSet, moment: Moment) -> None:
    """Each write of the job is struck in turn, the claim's included; another process does what is left."""
    crashing = CrashingStores(stores.stores)
    mail = [FakeChannel(kind=ChannelKind.EMAIL)]
    house = install(stores, channels=mail)
    dying = install(replace(stores, stores=crashing), channels=mail)  # type: ignore[arg-type]
    for name in ("u1", "u2"):
        house.account(name, email=f"{name}@example.org")
    house.publish(ONCE)
    struck, going = 0, True
    while going:
        house.start("approval")
        stores.clock.advance(60)
        crashing.plan(moment, struck + 1)
        with suppress(Killed, Unavailable):
            dying.services.housekeeping.run_timers()
        going, crashing.dead = crashing.writes > struck, False
        struck += going
        stores.clock.advance(3_600)
        house.services.housekeeping.run_timers()
        rounds = struck + (not going)
        for event, who in ((EventType.TASK_REMINDER, "u1"), (EventType.TASK_ESCALATED, "u2")):
            assert told(house, who).count(event) == rounds, (event, struck)
            mails = [one for one in deliveries(house) if one.recipient_id == who and one.notice_id]
            subjects = [one.content.title for one in mails]
            assert len(mails) == len(told(house, who)) == len({one.notice_id for one in mails}), subjects
    assert struck >= 2


def test_what_is_due_together_is_told_for_each_instance(stores: StoreSet) -> None:
    house = staffed(stores)
    house.publish(REMINDING)
    for _ in range(3):
        house.start("approval", by=emma())
    stores.clock.advance(60)
    house.services.housekeeping.run_timers()
    found = [one for one in notices(house, "u1") if one.event_type is EventType.TASK_REMINDER]
    assert len({one.instance_id for one in found}) == len(found) == 3


def test_in_a_batch_only_the_command_whose_notice_fails_is_not_done(stores: StoreSet) -> None:
    channel = Refusing()
    house = staffed(stores, "u1", "u2", "u3", notice_channel=channel)
    who = {"AssigneesExpression": "who", "RemindAfterSeconds": 60}
    house.publish(flow("approval", [START, node("ask", "UserTask", who), END]))
    for name in ("u1", "u2", "u3"):
        house.start("approval", {"who": name}, by=emma())
    channel.names.add("u2")
    house.publisher.events.clear()
    stores.clock.advance(60)
    house.services.housekeeping.run_timers()
    assert sorted(one["assigneeId"] for one in house.publisher.of("workflow.task.reminded")) == ["u1", "u3"]
    channel.names.clear()
    stores.clock.advance(3_600)
    house.services.housekeeping.run_timers()
    assert [one["assigneeId"] for one in house.publisher.of("workflow.task.reminded")][2:] == ["u2"]
