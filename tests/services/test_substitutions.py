"""Absences on each set of stores: what the substitute sees and does, and who may set them (decision D34)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from tests.services.test_statements import watched
from tests.support.engine import Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet, on_databases
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.errors import Denied, InputInvalid, NotFound

LEAVE = flow("leave", [START, node("ask", "UserTask", {"Assignees": ["ann"]}), END])
EXPENSE = flow("expense", [START, node("ask", "UserTask", {"Assignees": ["ann"]}), END])
ANY = flow("any", [START, node("ask", "UserTask", {"Assignees": ["ann", "cid"]}), END])


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    for name in ("ann", "bob", "cid"):
        made.account(name)
    for document in (LEAVE, EXPENSE, ANY):
        made.publish(document)
    return made


def now(house: Installation, hours: float = 0) -> datetime:
    return house.store_set.clock.now() + timedelta(hours=hours)


def who(house: Installation, name: str) -> Actor:
    """The account as it calls now."""
    account = house.services.accounts.find_by_name(name)
    assert account is not None
    return house.services.accounts.actor(account, request_id="r")


def away(
    house: Installation, absent: str, substitute: str, start: float = 0, end: float = 8, definitions: Sequence[str] = ()
) -> str:
    made = house.services.substitutions.create(
        who(house, absent),
        substitute=substitute,
        starts_at=now(house, start),
        ends_at=now(house, end),
        definitions=definitions,
    )
    return made.id


def mine(house: Installation, name: str) -> list[tuple[str, str]]:
    actor = who(house, name)
    found = house.services.inbox.query(actor).items
    assert house.services.inbox.counts(actor)["mine"] == len(found)
    return [(task.definition_name, task.assignee_id) for task in found]


def told(house: Installation, name: str) -> list[tuple[str, str]]:
    """What somebody was told, the oldest first: the event, and the line that says for whom."""
    found = house.services.notices.list(who(house, name)).items[::-1]
    lines = [[line for line in one.body.splitlines() if line.startswith("Standing in")] for one in found]
    return [(one.event_type.value, "".join(said)) for one, said in zip(found, lines, strict=True)]


def test_the_substitute_is_told_what_the_absent_are_asked(house: Installation) -> None:
    house.start("leave")
    away(house, "ann", "bob", definitions=["leave", "any"])
    house.start("leave")
    house.start("expense")
    house.start("any")
    assert told(house, "bob") == [("TaskCreated", "Standing in for: ann")] * 2
    assert told(house, "ann") == [("TaskCreated", "")] * 4
    assert [one[0] for one in told(house, "cid")] == ["TaskCreated"]
    (first, *_) = house.services.inbox.query(who(house, "bob")).items
    house.store_set.clock.advance(60)
    house.services.inbox.urge(who(house, "ann"), first.id)
    assert told(house, "bob")[-1] == ("TaskUrged", "Standing in for: ann")


def test_who_is_asked_anyway_is_told_once_and_nobody_outside_the_time(house: Installation) -> None:
    away(house, "ann", "cid")
    away(house, "cid", "bob", start=4)
    house.start("any")
    assert told(house, "cid") == [("TaskCreated", "Standing in for: ann"), ("TaskCreated", "")]
    assert told(house, "bob") == []
    house.store_set.clock.advance(9 * 3600)
    house.start("any")
    assert len(told(house, "cid")) == 3
    assert told(house, "bob") == []


def test_the_substitute_sees_and_decides_and_both_are_recorded(house: Installation) -> None:
    instance = house.start("leave")
    away(house, "ann", "bob")
    assert mine(house, "bob") == [("leave", "ann")]
    assert mine(house, "ann") == [("leave", "ann")]
    inbox, task = house.services.inbox, house.task("ann")
    assert inbox.get(who(house, "bob"), task.id).rights.complete
    done = inbox.complete(who(house, "bob"), task.id, "approved")
    assert (done.task.completed_by, done.task.on_behalf_of) == ("bob", "ann")
    with house.store_set.stores.reading(None) as work:
        record = work.task_records.latest(None, task.id)
        entry = work.audit.by_instance(None, instance.id).items[-1]
    assert record is not None
    assert (record.assignee_id, record.actor_id, record.on_behalf_of) == ("ann", "bob", "ann")
    assert (entry.action, entry.actor_id, entry.on_behalf_of) == ("complete", "bob", "ann")
    assert house.services.instances.get(who(house, "bob"), instance.id).id == instance.id


def test_it_holds_from_its_start_to_before_its_end(house: Installation) -> None:
    house.start("leave")
    away(house, "ann", "bob", start=1, end=2)
    seen = []
    for _ in range(5):
        seen.append(len(mine(house, "bob")))
        house.store_set.clock.advance(1800)
    assert seen == [0, 0, 1, 1, 0]
    task = house.task("ann")
    with pytest.raises(Denied):
        house.services.inbox.complete(who(house, "bob"), task.id, "approved")


def test_it_may_be_limited_to_some_workflows(house: Installation) -> None:
    house.start("leave")
    house.start("expense")
    away(house, "ann", "bob", definitions=["expense", "gone"])
    away(house, "cid", "bob")
    house.start("any")
    assert mine(house, "bob") == [("expense", "ann"), ("any", "cid")]
    (leave,) = [task for task in house.tasks("ann") if task.definition_name == "leave"]
    with pytest.raises(Denied):
        house.services.inbox.complete(who(house, "bob"), leave.id, "approved")
    with pytest.raises(Denied):
        house.services.inbox.get(who(house, "bob"), leave.id)


def test_a_signer_without_an_account_is_kept_and_flagged(house: Installation) -> None:
    house.publish(flow("some", [START, node("ask", "UserTask", {"Assignees": ["ann", "ghost"]}), END]))
    house.start("some")
    detail = house.services.inbox.get(who(house, "ann"), house.task("ann").id)
    assert [(signer.id, signer.unknown) for signer in detail.signers] == [("ann", False), ("ghost", True)]


def test_there_are_no_chains(house: Installation) -> None:
    house.start("leave")
    away(house, "ann", "bob")
    away(house, "bob", "cid")
    assert mine(house, "cid") == []


def test_a_claim_for_the_absent_is_the_absents(house: Installation) -> None:
    house.start("any")
    away(house, "ann", "bob")
    house.services.inbox.claim(who(house, "bob"), house.task("ann").id)
    assert mine(house, "bob") == mine(house, "ann") == [("any", "ann")]
    assert mine(house, "cid") == []
    house.services.inbox.release(who(house, "bob"), house.task("ann").id)
    assert mine(house, "cid") == [("any", "cid")]


def test_an_absence_can_be_ended(house: Installation) -> None:
    house.start("leave")
    made = away(house, "ann", "bob")
    with pytest.raises(NotFound):
        house.services.substitutions.delete(who(house, "bob"), made)
    house.services.substitutions.delete(who(house, "ann"), made)
    assert mine(house, "bob") == []
    with pytest.raises(NotFound):
        house.services.substitutions.delete(who(house, "ann"), made)


def test_everybody_sees_their_own_and_administrators_all(house: Installation) -> None:
    away(house, "ann", "bob", start=2)
    away(house, "bob", "cid", start=1)
    boss = house.account("boss", ADMINISTRATOR)
    found = {
        name: [(one.absent_id, one.substitute_id) for one in house.services.substitutions.list(who(house, name))]
        for name in ("ann", "bob", "cid", "boss")
    }
    assert found == {
        "ann": [("ann", "bob")],
        "bob": [("bob", "cid"), ("ann", "bob")],
        "cid": [("bob", "cid")],
        "boss": [("bob", "cid"), ("ann", "bob")],
    }
    made = house.services.substitutions.create(
        boss, absent="cid", substitute="ann", starts_at=now(house), ends_at=now(house, 1)
    )
    assert (made.absent_id, made.created_by) == ("cid", "boss")
    with pytest.raises(Denied):
        house.services.substitutions.create(
            who(house, "ann"), absent="bob", substitute="ann", starts_at=now(house), ends_at=now(house, 1)
        )


def test_another_partition_knows_nothing_of_it(house: Installation) -> None:
    made = away(house, "ann", "bob")
    other = house.account("far", ADMINISTRATOR, partition="acme")
    assert list(house.services.substitutions.list(other)) == []
    with pytest.raises(NotFound):
        house.services.substitutions.delete(other, made)
    with pytest.raises(InputInvalid):
        house.services.substitutions.create(other, substitute="bob", starts_at=now(house), ends_at=now(house, 1))


@pytest.mark.parametrize(
    ("substitute", "end", "path"),
    [("nobody", 1, "substituteId"), ("ann", 1, "substituteId"), ("bob", 0, "to"), ("bob", -1, "to"), (" ", 1, None)],
)
def test_what_is_refused(house: Installation, substitute: str, end: float, path: str | None) -> None:
    with pytest.raises(InputInvalid) as raised:
        away(house, "ann", substitute, end=end)
    assert raised.value.problems[0].path == (path or "substituteId")


def test_a_disabled_account_stands_in_for_nobody(house: Installation) -> None:
    account = house.services.accounts.find_by_name("bob")
    assert account is not None
    house.services.accounts.set_disabled(account, True)
    with pytest.raises(InputInvalid):
        away(house, "ann", "bob")


@on_databases
def test_it_costs_the_substitutes_inbox_no_statement(stores: StoreSet) -> None:
    house = install(stores)
    for name in ("ann", "bob"):
        house.account(name)
    house.publish(LEAVE)
    house.start("leave")
    away(house, "ann", "bob", definitions=["leave"])
    bob = who(house, "bob")
    with watched(stores) as seen:
        assert house.services.inbox.query(bob).total == 1
    assert len(seen.texts) <= 2, seen.texts
    task = house.task("ann")
    with watched(stores) as seen:
        house.services.inbox.complete(bob, task.id, "approved")
    assert (len(seen.reads), len(seen.writes)) == (2, 5), seen.texts
