"""Shared tasks through the services, on each set of stores: who sees them, who wins, what it costs (spec 6.4, 6.7)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.services.test_statements import watched
from tests.support.engine import Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet, on_databases
from webapp.accounts.model import Actor
from webapp.accounts.permissions import OPERATOR
from webapp.engine.errors import Conflict, Denied, WorkflowError
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus
from webapp.services.views import TaskRights

HR = "role:hr"
SHARED = flow(
    "shared",
    [START, node("ask", "UserTask", {"AssigneeRules": [{"type": "User", "values": [HR], "claimable": True}]}), END],
)
ANY = flow("any", [START, node("ask", "UserTask", {"Assignees": ["ann", "bob", "cid"]}), END])


def member(name: str) -> Actor:
    return actor(name, "user", "hr")


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    made.publish(SHARED)
    made.publish(ANY)
    return made


def ids(house: Installation, who: Actor, scope: str) -> list[str]:
    return [task.assignee_id for task in house.services.inbox.query(who, scope=scope).items]


def test_a_group_task_is_claimable_until_somebody_has_it(house: Installation) -> None:
    house.start("shared")
    inbox, task = house.services.inbox, house.task(HR)
    assert ids(house, member("ann"), "claimable") == [HR]
    assert ids(house, actor("eve"), "claimable") == []
    assert inbox.counts(member("ann")) == {"mine": 0, "claimable": 1}
    done = inbox.claim(member("ann"), task.id)
    assert (done.task.assignee_id, done.task.claimed_by) == ("ann", "ann")
    assert ids(house, member("ann"), "mine") == ["ann"]
    assert ids(house, member("bob"), "claimable") == []
    inbox.release(member("ann"), task.id)
    assert ids(house, member("ann"), "mine") == []
    assert ids(house, member("bob"), "claimable") == [HR]


def test_what_another_has_claimed_is_hidden_but_kept_for_all(house: Installation) -> None:
    house.start("any")
    inbox = house.services.inbox
    assert ids(house, actor("bob"), "claimable") == ["bob"]
    assert inbox.counts(actor("bob")) == {"mine": 1, "claimable": 1}
    inbox.claim(actor("ann"), house.task("ann").id)
    assert inbox.counts(actor("bob")) == {"mine": 0, "claimable": 0}
    assert inbox.counts(actor("ann")) == {"mine": 1, "claimable": 0}
    assert ids(house, actor("op", OPERATOR), "all") == ["ann", "bob", "cid"]
    inbox.release(actor("op", OPERATOR), house.task("bob").id)
    assert inbox.counts(actor("bob")) == {"mine": 1, "claimable": 1}


def test_rights_are_what_works(house: Installation) -> None:
    house.start("shared")
    inbox, task = house.services.inbox, house.task(HR)
    assert inbox.get(member("ann"), task.id).rights == TaskRights(claim=True)
    assert inbox.get(member("ann"), task.id).candidates == [HR]
    inbox.claim(member("ann"), task.id)
    mine = TaskRights(complete=True, release=True, transfer=True, delegate=True, add=True, urge=True)
    assert inbox.get(member("ann"), task.id).rights == mine
    inbox.add(member("ann"), task.id, ["zoe"])
    assert inbox.get(member("ann"), task.id).rights.remove
    assert not inbox.get(actor("zoe"), house.task("zoe").id).rights.remove
    assert inbox.get(member("bob"), task.id).rights == TaskRights()
    inbox.delegate(member("ann"), task.id, "dan")
    lent = inbox.get(actor("dan"), task.id)
    assert (lent.delegated_by, lent.rights.delegate, lent.rights.release) == ("ann", False, True)
    assert inbox.get(member("ann"), task.id).rights == TaskRights(release=True, remove=True, urge=True)


def test_a_delegates_advice_and_reminders_show(house: Installation) -> None:
    house.start("any", by=actor("sue"))
    inbox, task = house.services.inbox, house.task("ann")
    inbox.delegate(actor("ann"), task.id, "dan", "look")
    back = inbox.complete(actor("dan"), task.id, "rejected", "no money")
    assert (back.instance_status, back.task.status, back.task.assignee_id) == (InstanceStatus.RUNNING, "open", "ann")
    urged = inbox.urge(actor("sue"), task.id, "please")
    assert (urged.task.urge_count, urged.task.last_urged_at) == (1, house.store_set.clock.now())
    with pytest.raises(Denied):
        inbox.urge(actor("stranger"), task.id)
    told = [entry.action for entry in inbox.get(actor("ann"), task.id).trail if entry.kind == "command"]
    assert told == ["urge", "complete", "delegate", "start"]


def race(*acts: Callable[[], object]) -> list[object]:
    """Run all at once and return what each came to."""
    results: list[object] = [None] * len(acts)
    gate = threading.Barrier(len(acts))

    def run(index: int) -> None:
        gate.wait()
        try:
            results[index] = acts[index]()
        except WorkflowError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("people", [2, 20])
def test_of_many_who_claim_at_once_one_gets_the_task(house: Installation, people: int) -> None:
    house.start("shared")
    task = house.task(HR)
    names = [f"p{number}" for number in range(people)]
    results = race(*[lambda name=name: house.services.inbox.claim(member(name), task.id) for name in names])
    lost = [result for result in results if isinstance(result, WorkflowError)]
    (winner,) = [name for name, result in zip(names, results, strict=True) if result not in lost]
    assert [(error.code, error.details) for error in lost] == [
        ("WORKFLOW_CONFLICT_004", {"claimedBy": winner})
    ] * (people - 1)  # fmt: skip
    assert house.task(winner).id == task.id


def test_of_many_who_decide_and_claim_at_once_the_losers_learn_why(house: Installation) -> None:
    instance = house.start("any")
    inbox, tasks = house.services.inbox, {name: house.task(name) for name in ("ann", "bob", "cid")}
    results = race(
        *[lambda name=name: inbox.complete(actor(name), tasks[name].id, "approved") for name in tasks],
        *[lambda name=name: inbox.claim(actor(name), tasks[name].id) for name in tasks],
    )
    lost = [result for result in results if isinstance(result, WorkflowError)]
    assert all(isinstance(error, Conflict) and error.details for error in lost), lost
    assert {error.code for error in lost} <= {"WORKFLOW_CONFLICT_003", "WORKFLOW_CONFLICT_004"}
    ended = [result for result in results if getattr(result, "instance_status", None) is InstanceStatus.COMPLETED]
    assert len(ended) == 1
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED


def test_a_task_that_goes_from_hand_to_hand_under_way_is_somebodys_once(house: Installation) -> None:
    house.start("any")
    inbox, task = house.services.inbox, house.task("ann")
    results = race(
        *[lambda to=to: inbox.transfer(actor("ann"), task.id, f"t{to}") for to in range(8)],
        *[lambda to=to: inbox.delegate(actor("ann"), task.id, f"d{to}") for to in range(8)],
    )
    lost = [result for result in results if isinstance(result, WorkflowError)]
    assert len(lost) == 15
    # Who looks the task up after it was handed over is told that it is somebody else's (spec 6.4).
    assert {error.code for error in lost} <= {"WORKFLOW_CONFLICT_003", "WORKFLOW_DENIED_001"}
    (holder,) = [one.assignee_id for one in inbox.query(actor("op", OPERATOR), scope="all").items if one.id == task.id]
    assert holder[0] in "td"


@on_databases
@pytest.mark.parametrize("action", ["claim", "release"])
def test_claim_and_release_cost_two_reads_and_seven_writes_at_most(stores: StoreSet, action: str) -> None:
    house = install(stores)
    house.publish(SHARED)
    house.start("shared")
    inbox, task = house.services.inbox, house.task(HR)
    if action == "release":
        inbox.claim(member("ann"), task.id)
    with watched(stores) as seen:
        getattr(inbox, action)(member("ann"), task.id)
    assert len(seen.reads) == 2, seen.reads
    # The instance, the node, the task, the round that ends, the one that begins, the trail.
    assert len(seen.writes) == 6, seen.writes
    assert seen.commits == 1


@on_databases
def test_a_claim_under_any_costs_no_more_for_twenty_candidates(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(flow("many", [START, node("ask", "UserTask", {"Assignees": [f"u{n}" for n in range(20)]}), END]))
    house.start("many")
    task = house.task("u7")
    with watched(stores) as seen:
        house.services.inbox.claim(actor("u7"), task.id)
    assert (len(seen.reads), len(seen.writes)) == (2, 6), seen.texts
    with stores.stores.reading(None) as work:
        last = work.task_records.latest(None, task.id)
        rounds = work.task_records.by_instance(None, task.instance_id)
    assert last is not None
    assert (last.round, last.end_reason) == (2, None)
    assert [one.end_reason for one in rounds if one.end_reason is not None] == [EndReason.CLAIMED]
