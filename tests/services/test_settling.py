"""What a command owes runs when its leases are let go, and the answer tells what came of it (spec 3.22)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.services.subflows import child_of
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.runtime.jumping import Jump
from webapp.services.answers import Answer, KeyedRequest
from webapp.services.definition_timers import timer_id


class Tries:
    """Notes which leases are free while it runs."""

    descriptor = ActivityDescriptor(type="Tries", category=Category.CUSTOM, icon="x", custom=True)

    def __init__(self, store_set: StoreSet) -> None:
        self._leases = store_set.leases
        self.wanted: list[str] = []
        self.free: list[str] = []

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Take each lease and let it go, in a thread of its own: to this one its own leases are always free."""
        with ThreadPoolExecutor(1) as elsewhere:
            list(elsewhere.map(self._take, self.wanted))
        return Complete()

    def _take(self, name: str) -> None:
        with self._leases.attempt(name):
            self.free.append(name)


def prepared(stores: StoreSet, **start: str) -> tuple[Installation, Tries]:
    """Publish a parent whose child tries leases."""
    tries = Tries(stores)
    house = install(stores, activities=[tries])
    house.publish(flow("trying", [START, node("try", "Tries"), END]))
    sub = node("sub", "SubWorkflow", {"DefinitionName": "trying"})
    house.publish(flow("parent", [node("start", "Start", start), sub, END]))
    return house, tries


def test_children_do_not_run_under_the_lease_of_a_correlation_id(stores: StoreSet) -> None:
    house, tries = prepared(stores)
    tries.wanted = ["start::ORDER-1"]
    started = house.services.instances.start(
        ADMIN, name="parent", correlation_id="ORDER-1", reuse_policy="RejectDuplicate"
    )
    assert (tries.free, child_of(house, started.instance.id).status) == (tries.wanted, InstanceStatus.COMPLETED)
    assert (started.created, started.instance.status) == (True, InstanceStatus.COMPLETED)


def test_children_do_not_run_under_the_lease_of_a_timer(stores: StoreSet) -> None:
    house, tries = prepared(stores, Cron="0 9 * * *")
    tries.wanted = [f"definition-timer:{timer_id(None, 'parent')}"]
    house.elapse(3600)
    assert tries.free == tries.wanted


def test_children_do_not_run_under_the_lease_of_an_idempotency_key(stores: StoreSet) -> None:
    house, tries = prepared(stores)
    request = KeyedRequest(method="POST", path="/instances", key="k1", body=b"{}")
    tries.wanted = [f"idem:{request.scope(ADMIN)}"]
    house.services.answers.once(
        ADMIN, request, lambda: Answer(status=201, headers={}, body=house.start("parent").id.encode())
    )
    assert tries.free == tries.wanted


def test_the_answers_of_operations_and_decisions_tell_what_came_of_the_children(house: Installation) -> None:
    house.publish(flow("quick", [START, END]))
    ask = node("ask", "UserTask", {"Assignees": ["u1"]})
    sub = node("sub", "SubWorkflow", {"DefinitionName": "quick"})
    house.publish(flow("asking", [START, ask, sub, END]))
    first = house.start("asking")
    jumped = house.services.operations.jump(ADMIN, first.id, Jump(to_node_id="sub"))
    assert jumped.status is InstanceStatus.COMPLETED
    house.start("asking")
    decided = house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved")
    assert decided.instance_status is InstanceStatus.COMPLETED
