"""A tenant is disabled or moved by one process while another still has its old copy of the directory (spec 8.10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.engine import Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import APART, OWN_URL, StoreSet
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.accounts.tenants import TenantDirectory
from webapp.engine.errors import Unavailable, WorkflowError
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.ports.stores import StoreFailure
from webapp.services.queries import TaskQuery
from webapp.stores.routing import RoutedStores

pytestmark = pytest.mark.parametrize("stores", APART, indirect=True)

OWN = "t1"
BOSS = actor("boss", ADMINISTRATOR, partition=OWN)
APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["boss"]}), END])
PAUSED = flow("paused", [START, node("wait", "Delay", {"DurationSeconds": "seconds"}), END])


class Pair:
    """Two processes over the same databases, each with a copy of the directory that it reads every five seconds."""

    def __init__(self, stores: StoreSet) -> None:
        assert isinstance(stores.stores, RoutedStores)
        self.stores = stores
        self.routed = stores.stores
        self.opening = self.routed._opening
        self.here, self.there = self._process(), self._process()
        self.here.services.tenants.add(OWN, database_url=OWN_URL)

    def _process(self) -> Installation:
        directory = TenantDirectory(self.stores.accounts, self.stores.clock)
        made = RoutedStores(
            self.routed._platform,
            directory=directory,
            opening=self.opening,
            clock=self.stores.clock,
            platform_url="postgresql://nowhere/platform",
        )
        return install(replace(self.stores, stores=made, tenants=directory, databases=made))

    def move(self, url: str | None) -> None:
        """Move the tenant without its data, all in one moment."""
        tenants = self.here.services.tenants
        tenants.disable(OWN)
        tenants.set_database(OWN, url)
        tenants.enable(OWN)

    def refusal(self, call: Callable[[], object]) -> str:
        with pytest.raises(WorkflowError) as caught:
            call()
        assert isinstance(caught.value, Unavailable)
        return caught.value.key

    def in_own(self, instance_id: str) -> WorkflowInstance | None:
        """Return what the tenant's own database holds, whatever the directory says."""
        with self.opening.open(OWN_URL).stores.reading(OWN) as work:
            return work.instances.find(OWN, instance_id)


@pytest.fixture
def pair(stores: StoreSet) -> Pair:
    return Pair(stores)


def test_a_decision_made_where_the_move_is_not_known_yet_is_refused_and_can_be_made_again(pair: Pair) -> None:
    here, there = pair.here, pair.there
    here.publish(APPROVAL, BOSS)
    started = there.start("approval", by=BOSS).id
    (task,) = there.services.inbox.query(BOSS, TaskQuery(assignee=BOSS.name)).items
    before = pair.in_own(started)
    pair.move(None)
    assert pair.refusal(lambda: there.services.inbox.complete(BOSS, task.id, "approve")) == "services.tenant_fenced"
    # Nothing was done in the database that is the tenant's no longer, and this process knows it now.
    assert pair.in_own(started) == before
    assert there.services.inbox.query(BOSS, TaskQuery(assignee=BOSS.name)).items == []
    here.publish(APPROVAL, BOSS)
    assert here.instance(there.start("approval", by=BOSS).id, BOSS).status is InstanceStatus.RUNNING
    # Back again: the database takes the decision, and nobody lost one.
    pair.move(OWN_URL)
    assert pair.refusal(lambda: there.start("approval", by=BOSS)) == "services.tenant_fenced"
    there.services.inbox.complete(BOSS, task.id, "approve")
    found = pair.in_own(started)
    assert found is not None and found.status is InstanceStatus.COMPLETED


def test_where_it_is_not_known_yet_that_a_tenant_is_disabled_it_is_told_so(pair: Pair) -> None:
    pair.here.publish(APPROVAL, BOSS)
    pair.there.start("approval", by=BOSS)
    pair.here.services.tenants.disable(OWN)
    assert pair.refusal(lambda: pair.there.start("approval", by=BOSS)) == "services.tenant_disabled"
    pair.here.services.tenants.enable(OWN)
    pair.stores.clock.advance(5)
    assert pair.there.start("approval", by=BOSS).status is InstanceStatus.RUNNING


def test_a_tenant_among_others_in_the_platforms_database_is_fenced_off_as_well(pair: Pair) -> None:
    here, there = pair.here, pair.there
    pair.move(None)
    here.publish(APPROVAL, BOSS)
    started = there.start("approval", by=BOSS).id
    pair.move(OWN_URL)
    (task,) = there.services.inbox.query(BOSS, TaskQuery(assignee=BOSS.name)).items
    assert pair.refusal(lambda: there.services.inbox.complete(BOSS, task.id, "approve")) == "services.tenant_fenced"
    with pair.routed._platform.reading(OWN) as work:
        found = work.instances.find(OWN, started)
    assert found is not None and found.status is InstanceStatus.RUNNING


def test_a_poller_that_has_not_heard_of_it_lets_the_old_database_rest(pair: Pair) -> None:
    pair.here.publish(PAUSED, BOSS)
    started = pair.there.start("paused", {"seconds": 2}, by=BOSS).id
    pair.there.services.housekeeping.poll_once()
    before = pair.in_own(started)
    pair.move(None)
    pair.stores.clock.advance(4)
    assert pair.there.services.housekeeping.poll_once().resumed == 0
    assert pair.in_own(started) == before
    pair.move(OWN_URL)
    pair.stores.clock.advance(15)
    assert pair.there.services.housekeeping.poll_once().resumed == 1


def test_a_database_that_cannot_be_fenced_keeps_its_tenant_enabled_unless_forced(pair: Pair) -> None:
    tenants, opened = pair.here.services.tenants, pair.opening.open

    class Away:
        def behind(self) -> str | None:
            raise StoreFailure("OperationalError: secret@host refused", transient=True)

        def rest(self) -> None:
            pass

    pair.opening.open = lambda url: Away()  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(Unavailable) as caught:
        tenants.disable(OWN)
    assert (caught.value.key, caught.value.details) == ("services.tenant.unfenced", {"reason": "OperationalError"})
    assert tenants.find(OWN).enabled
    assert not tenants.disable(OWN, force=True).enabled
    # Not either may its data be said to lie elsewhere, while nobody is kept from writing where they lie.
    assert pair.refusal(lambda: tenants.set_database(OWN, None)) == "services.tenant.unfenced"
    assert tenants.find(OWN).database_url == OWN_URL
    assert tenants.set_database(OWN, None, force=True).database_url is None
    pair.opening.open = opened  # type: ignore[method-assign]
