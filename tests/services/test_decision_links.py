"""Links to a decision: for one person, once, for seven days, and nothing that was changed (spec 10, 13)."""

from __future__ import annotations

from typing import Any

import pytest
from itsdangerous import URLSafeTimedSerializer
from msgspec import structs

from tests.services.outgoing import APPROVAL
from tests.support.engine import Installation, actor, install
from tests.support.stores import StoreSet, also_apart
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.errors import Conflict, Denied, NotFound
from webapp.engine.notifications.model import ChannelKind, Delivery, DeliveryContent, Notice
from webapp.engine.ports.notices import NoticeQuery
from webapp.engine.ports.stores import Partition
from webapp.services import ServiceSettings
from webapp.services.decision_links import DecisionLinks

HOST = "https://flow.example.test"
DAY = 86_400
KEY = "a key for tests only"


class Desk:
    """A house in which ``u1`` of a partition has been told of a task."""

    def __init__(self, stores: StoreSet, partition: Partition = None, base_url: str | None = f"{HOST}/") -> None:
        self.stores, self.partition = stores, partition
        self.house: Installation = install(stores, settings=ServiceSettings(base_url=base_url))
        self.boss = actor("boss", ADMINISTRATOR, partition=partition)
        self.reader = self.house.account("u1", partition=partition)
        self.house.publish(APPROVAL, self.boss)
        self.instance = self.house.start("approval", by=self.boss)

    @property
    def links(self) -> DecisionLinks:
        return self.house.services.decision_links

    @property
    def notice(self) -> Notice:
        with self.stores.stores.reading(self.partition) as work:
            (found,) = work.notices.list(self.partition, "u1", NoticeQuery()).items
            return found

    def token(self) -> str:
        url = self.links.url(self.notice)
        assert url is not None
        host, path, token = url.rpartition("/d/")
        assert (host, path) == (HOST, "/d/")
        return token

    def untouched(self) -> bool:
        """Whether the notice is unread and its link still good."""
        notice = self.notice
        return notice.read_at is None and notice.link_used_at is None


def refused(desk: Desk, token: str, by: Actor | None = None) -> Conflict:
    with pytest.raises(Conflict) as found:
        desk.links.open(by or desk.reader, token)
    assert found.value.details["taskId"] == desk.notice.task_id
    return found.value


@also_apart
@pytest.mark.parametrize("partition", [None, "t1"])
def test_a_link_opens_once_and_its_notice_is_read_then(stores: StoreSet, partition: Partition) -> None:
    desk = Desk(stores, partition)
    token = desk.token()
    stores.clock.advance(7 * DAY - 1)
    assert desk.links.open(desk.reader, token) == desk.notice.task_id
    assert desk.notice.read_at == desk.notice.link_used_at == stores.clock.now()
    assert "used" in str(refused(desk, token))
    # One that was made again is the same link: what counts is the notice.
    assert "used" in str(refused(desk, desk.token()))


def test_a_link_is_over_after_seven_days(stores: StoreSet) -> None:
    desk = Desk(stores)
    token = desk.token()
    stores.clock.advance(7 * DAY + 1)
    assert "expired" in str(refused(desk, token))
    assert desk.untouched()


def test_two_who_use_a_link_at_once_are_not_both_let_in(stores: StoreSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one process has read the link when the other opens it: it comes too late all the same."""
    desk = Desk(stores)
    token = desk.token()
    slower = install(stores, settings=ServiceSettings(base_url=HOST)).services.decision_links
    read = slower._read

    def meanwhile(text: str) -> Any:
        found = read(text)
        desk.links.open(desk.reader, token)
        return found

    monkeypatch.setattr(slower, "_read", meanwhile)
    with pytest.raises(Conflict, match="used"):
        slower.open(desk.reader, token)


@also_apart
def test_somebody_elses_link_opens_nothing_and_stays_good(stores: StoreSet) -> None:
    """Not for a colleague, not for an administrator, not for one of the same name in another partition."""
    desk = Desk(stores, "t1")
    token = desk.token()
    others = [
        desk.house.account("u2", partition="t1"),
        desk.boss,
        structs.replace(desk.reader, partition=None),
        structs.replace(desk.reader, partition="t2"),
    ]
    for other in others:
        with pytest.raises(Denied) as found:
            desk.links.open(other, token)
        assert desk.notice.task_id not in str(found.value.details)
    assert desk.untouched()
    assert desk.links.open(desk.reader, token) == desk.notice.task_id


def test_what_was_changed_is_no_link(stores: StoreSet) -> None:
    """Every single character counts, and so does the key."""
    desk = Desk(stores)
    token = desk.token()
    changed = [
        token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :] for place in range(len(token))
    ]
    last = len(token) - 1
    foreign = URLSafeTimedSerializer("another key", salt="waypost.decision-link")
    own = URLSafeTimedSerializer(KEY, salt="another use of the key")
    subject = [None, desk.notice.id, desk.notice.task_id, "u1"]
    forged = [foreign.dumps(subject), own.dumps(subject), "", ".", "a.b.c", token + "x", "é", token * 50]
    for place, text in enumerate([*changed[:last], *forged]):
        with pytest.raises(NotFound) as found:
            desk.links.open(desk.reader, text)
        assert "invalid" in found.value.key, (place, text)
    assert desk.untouched()


@pytest.mark.parametrize(
    "subject", [[], ["x"], [None, 1, 2, 3], {"a": 1}, "text", None, [None, "n", "t", "u1", "more"]]
)
def test_what_is_signed_and_says_nothing_of_ours_is_no_link(stores: StoreSet, subject: object) -> None:
    desk = Desk(stores)
    token = desk.links._serializer.dumps(subject)
    with pytest.raises(NotFound):
        desk.links.open(desk.reader, str(token))


def test_the_link_of_a_decided_task_says_so_and_reads_its_notice(stores: StoreSet) -> None:
    desk = Desk(stores)
    token = desk.token()
    desk.house.services.inbox.complete(desk.reader, desk.notice.task_id or "", "approved")
    assert "over" in str(refused(desk, token))
    assert desk.notice.read_at is not None and desk.notice.link_used_at is None


def test_the_link_of_a_notice_that_is_gone_leads_nowhere(stores: StoreSet) -> None:
    desk = Desk(stores)
    token = desk.token()
    with stores.stores.writing(None) as work:
        assert work.notices.purge(None, stores.clock.now().replace(year=9000), 10) == 1
    with pytest.raises(NotFound, match="gone"):
        desk.links.open(desk.reader, token)


def test_what_goes_out_of_a_notice_carries_its_link_and_nothing_else_carries_one(stores: StoreSet) -> None:
    desk = Desk(stores)
    notice = desk.notice
    message = Delivery(
        id="d", line="l", kind=ChannelKind.EMAIL, endpoint_id="email", notice_id=notice.id, recipient_id="u1",
        next_attempt_at=notice.created_at, created_at=notice.created_at,
        content=DeliveryContent(task_id=notice.task_id),
    )  # fmt: skip
    assert desk.links.url(message) == desk.links.url(notice) is not None
    without = [
        structs.replace(notice, task_id=None),
        structs.replace(message, content=DeliveryContent()),
        structs.replace(message, notice_id=None),
        structs.replace(message, recipient_id=None),
    ]
    assert [desk.links.url(one) for one in without] == [None] * 4
    nowhere = install(stores).services.decision_links
    assert nowhere.url(notice) is None
