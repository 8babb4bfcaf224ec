"""Starting, operating and reading instances: rights, reuse policies, partitions (spec 3.2, 3.13, 3.19, 3.21, 6.7)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, flow, node, variable
from webapp.accounts.model import Actor
from webapp.accounts.permissions import DESIGNER, OPERATOR, USER, WORKER
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    CONFLICT_CORRELATION,
    CONFLICT_DEFINITION,
    CONFLICT_INSTANCE,
    DENIED_PERMISSION,
    NOTFOUND_BOOKMARK,
    NOTFOUND_DEFINITION,
    NOTFOUND_INSTANCE,
    TOO_LARGE,
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
)
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.services.queries import InstanceQuery, Paging, Sort
from webapp.services.views import StartResult

WAITING = flow("waiting", [START, node("ask", "UserTask", {"Assignees": ["manager"]}), END])
FAILING = flow("failing", [START, node("flaky", "TestFlaky", {"SucceedOnAttempt": 2}), END])


@pytest.mark.parametrize(
    ("role", "allowed"), [(USER, True), (DESIGNER, True), (OPERATOR, True), (WORKER, False), ("group", False)]
)
def test_who_may_start(house: Installation, role: str, allowed: bool) -> None:
    house.publish(WAITING)
    somebody = actor("somebody", role)
    if allowed:
        started = house.services.instances.start(somebody, name="waiting")
        assert started.created
        assert started.instance.starter_id == "somebody"
        return
    with pytest.raises(Denied) as refused:
        house.services.instances.start(somebody, name="waiting")
    assert (refused.value.code, refused.value.params) == (DENIED_PERMISSION, {"permission": "instances:start"})


@pytest.mark.parametrize(
    ("name", "roles", "allowed"), [("ann", (), True), ("ben", ("buyers", USER), True), ("cat", (), False)]
)
def test_startable_by_names_accounts_and_groups(
    house: Installation, name: str, roles: tuple[str, ...], allowed: bool
) -> None:
    house.publish({**WAITING, "startableBy": ["ann", "role:buyers"]})
    if allowed:
        assert house.services.instances.start(actor(name, *roles), name="waiting").created
    else:
        with pytest.raises(Denied):
            house.services.instances.start(actor(name, *roles), name="waiting")


def test_a_start_needs_a_name_or_an_id(house: Installation) -> None:
    with pytest.raises(InputInvalid) as refused:
        house.services.instances.start(ADMIN)
    assert [problem.path for problem in refused.value.problems] == ["name"]


def test_a_disabled_version_cannot_be_started_by_id_or_version(house: Installation) -> None:
    published = house.publish(WAITING)
    house.services.catalog.disable(ADMIN, published.id)
    for choice in ({"definition_id": published.id}, {"name": "waiting", "version": 1}):
        with pytest.raises(Conflict) as refused:
            house.services.instances.start(ADMIN, **choice)
        assert refused.value.code == CONFLICT_DEFINITION
    with pytest.raises(NotFound) as missing:
        house.services.instances.start(ADMIN, name="waiting")
    assert missing.value.code == NOTFOUND_DEFINITION


def test_an_explicit_version_is_started(house: Installation) -> None:
    house.publish(WAITING)
    house.publish(WAITING)
    assert house.services.instances.start(ADMIN, name="waiting", version=1).instance.definition_version == 1


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"variables": {"amount": "5"}}, ["variables.amount"]),
        ({"variables": {"amount": 5}, "title": "x" * 501}, ["title"]),
        ({"variables": {"amount": 5}, "correlation_id": "x" * 201}, ["correlationId"]),
        ({"variables": {"amount": 5}, "reuse_policy": "Sometimes"}, ["reusePolicy"]),
        ({"variables": {"amount": 5}, "reuse_policy": "UseExisting"}, ["correlationId"]),
    ],
)
def test_a_bad_start_names_its_path_and_leaves_nothing(
    house: Installation, given: dict[str, Any], paths: list[str]
) -> None:
    house.publish({**WAITING, "variables": [variable("amount", type="number", required=True)]})
    with pytest.raises(InputInvalid) as refused:
        house.services.instances.start(ADMIN, name="waiting", **given)
    assert [problem.path for problem in refused.value.problems] == paths
    assert house.services.instances.query(ADMIN).total == 0


def test_variables_over_a_mebibyte_are_too_large(house: Installation) -> None:
    house.publish(WAITING)
    with pytest.raises(InputInvalid) as refused:
        house.start("waiting", {"text": "x" * (1024 * 1024)})
    assert refused.value.code == TOO_LARGE


def test_use_existing_returns_the_unfinished_one(house: Installation) -> None:
    house.publish(WAITING)
    first = house.start("waiting", correlation_id="ORDER-1")
    again = house.services.instances.start(ADMIN, name="waiting", correlation_id="ORDER-1", reuse_policy="UseExisting")
    assert (again.instance.id, again.created) == (first.id, False)
    house.services.instances.cancel(ADMIN, first.id)
    third = house.services.instances.start(ADMIN, name="waiting", correlation_id="ORDER-1", reuse_policy="UseExisting")
    assert third.created


def test_reject_duplicate_and_another_definition_are_conflicts(house: Installation) -> None:
    house.publish(WAITING)
    house.publish({**WAITING, "name": "other"})
    first = house.start("waiting", correlation_id="ORDER-1")
    for name, policy in (("waiting", "RejectDuplicate"), ("other", "UseExisting")):
        with pytest.raises(Conflict) as refused:
            house.services.instances.start(ADMIN, name=name, correlation_id="ORDER-1", reuse_policy=policy)
        assert (refused.value.code, refused.value.details) == (CONFLICT_CORRELATION, {"instanceId": first.id})


def test_nobody_reads_an_instance_of_others_by_starting_it(house: Installation) -> None:
    house.publish(WAITING)
    first = house.start("waiting", {"salary": 100}, by=actor("ann"), correlation_id="ORDER-1")

    def start(name: str) -> StartResult:
        return house.services.instances.start(
            actor(name), name="waiting", correlation_id="ORDER-1", reuse_policy="UseExisting"
        )

    assert start("ann").instance.id == first.id
    with pytest.raises(Conflict) as refused:
        start("ben")
    assert (refused.value.code, refused.value.details) == (CONFLICT_CORRELATION, {})


def test_concurrent_starts_with_one_correlation_id_make_one_instance(house: Installation) -> None:
    house.publish(WAITING)

    def start(_: int) -> tuple[str, bool]:
        result = house.services.instances.start(
            ADMIN, name="waiting", correlation_id="ORDER-1", reuse_policy="UseExisting"
        )
        return result.instance.id, result.created

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(start, range(8)))
    assert len({instance_id for instance_id, _ in results}) == 1
    assert sum(created for _, created in results) == 1


@pytest.mark.parametrize("operation", ["cancel", "retry"])
@pytest.mark.parametrize(("role", "allowed"), [(OPERATOR, True), (USER, False), (DESIGNER, False)])
def test_who_may_operate(house: Installation, operation: str, role: str, allowed: bool) -> None:
    house.publish(FAILING)
    instance = house.start("failing")
    operate = getattr(house.services.instances, operation)
    if allowed:
        assert operate(actor("olga", role), instance.id).status is not InstanceStatus.FAULTED
    else:
        with pytest.raises(Denied) as refused:
            operate(actor("olga", role), instance.id)
        assert refused.value.params == {"permission": "instances:operate"}
        assert house.instance(instance.id).status is InstanceStatus.FAULTED


def test_the_owner_of_a_definition_operates_and_reads_its_instances(house: Installation) -> None:
    house.publish({**WAITING, "owners": ["olga"]})
    instance = house.start("waiting")
    assert house.services.instances.get(actor("olga"), instance.id).id == instance.id
    assert house.services.instances.may_operate(actor("olga"), instance)
    assert not house.services.instances.may_operate(actor("paul"), instance)
    assert house.services.instances.cancel(actor("olga"), instance.id).status is InstanceStatus.CANCELED


def test_cancel_ends_the_instance_with_its_reason_and_twice_is_once(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    canceled = house.services.instances.cancel(ADMIN, instance.id, "not needed")
    assert (canceled.status, canceled.cancellation_reason) == (InstanceStatus.CANCELED, "not needed")
    assert house.bookmarks(instance.id) == []

    again = house.services.instances.cancel(ADMIN, instance.id, "really not")
    assert (again.cancellation_reason, again.revision) == ("not needed", canceled.revision)


def test_cancel_closes_a_faulted_instance(house: Installation) -> None:
    house.publish(FAILING)
    instance = house.start("failing")
    assert house.services.instances.cancel(ADMIN, instance.id).status is InstanceStatus.CANCELED


def test_retry_of_what_is_not_faulted_is_a_conflict(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    with pytest.raises(Conflict) as refused:
        house.services.instances.retry(ADMIN, instance.id)
    assert refused.value.code == CONFLICT_INSTANCE


def test_a_long_reason_is_refused(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    with pytest.raises(InputInvalid) as refused:
        house.services.instances.cancel(ADMIN, instance.id, "x" * 10_001)
    assert [problem.path for problem in refused.value.problems] == ["reason"]


@pytest.mark.parametrize(
    ("name", "role", "allowed"),
    [
        ("employee", USER, True),
        ("manager", USER, True),
        ("copied", USER, True),
        ("olga", OPERATOR, True),
        ("stranger", USER, False),
        ("designer", DESIGNER, False),
    ],
)
def test_who_may_read_an_instance(house: Installation, name: str, role: str, allowed: bool) -> None:
    house.publish(
        flow("seen", [START, node("ask", "UserTask", {"Assignees": ["manager"], "CcUserIds": ["copied"]}), END])
    )
    instance = house.start("seen", by=actor("employee"))
    reader, instances = actor(name, role), house.services.instances
    reads: tuple[Callable[[], bool], ...] = (
        lambda: instances.get(reader, instance.id).id == instance.id,
        lambda: [one.node_id for one in instances.nodes(reader, instance.id).items] == ["start", "ask"],
        lambda: [one.kind for one in instances.bookmarks(reader, instance.id).items] == [BookmarkKind.USER_TASK],
        lambda: [one.action for one in instances.history(reader, instance.id).items] == ["start"],
        lambda: instances.query(reader).total == 1,
        lambda: house.services.monitor.overview(reader, instance.id).instance.id == instance.id,
    )
    if allowed:
        assert all(read() for read in reads)
        return
    assert instances.query(reader).total == 0
    assert sum(instances.counts(reader).values()) == 0
    for read in (*reads[:4], reads[5]):
        with pytest.raises(Denied) as refused:
            read()
        assert refused.value.params == {"permission": "instances:read"}


def test_a_past_assignee_may_still_read(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    house.decide("manager", "approved")
    assert house.services.instances.get(actor("manager"), instance.id).status is InstanceStatus.COMPLETED


def test_another_partition_sees_nothing(house: Installation) -> None:
    published = house.publish(WAITING)
    instance = house.start("waiting")
    (task,) = house.bookmarks(instance.id)
    stranger = actor("stranger", "administrator", partition="acme")
    services = house.services

    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: services.instances.get(stranger, instance.id), NOTFOUND_INSTANCE),
        (lambda: services.instances.nodes(stranger, instance.id), NOTFOUND_INSTANCE),
        (lambda: services.instances.cancel(stranger, instance.id), NOTFOUND_INSTANCE),
        (lambda: services.instances.retry(stranger, instance.id), NOTFOUND_INSTANCE),
        (lambda: services.monitor.overview(stranger, instance.id), NOTFOUND_INSTANCE),
        (lambda: services.instances.start(stranger, name="waiting"), NOTFOUND_DEFINITION),
        (lambda: services.instances.start(stranger, definition_id=published.id), NOTFOUND_DEFINITION),
        (lambda: services.catalog.get(stranger, published.id), NOTFOUND_DEFINITION),
        (lambda: services.inbox.get(stranger, task.id), NOTFOUND_BOOKMARK),
        (lambda: services.inbox.complete(stranger, task.id, "approved"), NOTFOUND_BOOKMARK),
        (lambda: services.inbox.transfer(stranger, task.id, "x"), NOTFOUND_BOOKMARK),
        (lambda: services.instances.resume_bookmark(stranger, task.id, {}), NOTFOUND_BOOKMARK),
    )
    for call, code in calls:
        with pytest.raises(NotFound) as refused:
            call()
        assert refused.value.code == code
    assert services.instances.query(stranger).total == 0
    assert services.catalog.query(stranger).total == 0
    assert services.inbox.query(stranger, scope="all").total == 0
    assert house.instance(instance.id).revision == instance.revision


def test_a_tenant_runs_its_own_flow(house: Installation) -> None:
    admin = actor("boss", "administrator", partition="acme")
    draft = house.services.catalog.create(admin, WAITING)
    house.services.catalog.publish(admin, draft.id)
    started = house.services.instances.start(admin, name="waiting").instance
    assert started.tenant_id == "acme"
    manager = actor("manager", partition="acme")
    (task,) = house.services.inbox.query(manager).items
    done = house.services.inbox.complete(manager, task.id, "approved")
    assert done.instance_status is InstanceStatus.COMPLETED
    assert house.services.instances.query(ADMIN).total == 0


@pytest.mark.parametrize(
    "paging", [Paging(limit=0), Paging(limit=1001), Paging(offset=-1), Paging(sorts=(Sort("starterId"),))]
)
def test_a_bad_page_is_refused(house: Installation, paging: Paging) -> None:
    with pytest.raises(InputInvalid):
        house.services.instances.query(ADMIN, InstanceQuery(paging=paging))
    house.publish(WAITING)
    instance = house.start("waiting")
    with pytest.raises(InputInvalid):
        house.services.instances.nodes(ADMIN, instance.id, paging)


def test_counts_by_status(house: Installation) -> None:
    house.publish(WAITING)
    house.publish(FAILING)
    house.start("waiting")
    house.start("waiting")
    house.start("failing")
    counts = house.services.instances.counts(ADMIN, InstanceQuery())
    assert {status: count for status, count in counts.items() if count} == {"Running": 2, "Faulted": 1}


def test_raw_resume_that_loses_a_race_is_a_conflict(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    (task,) = house.bookmarks(instance.id)
    instances = house.services.instances
    find = instances.find

    def find_and_be_overtaken(by: Actor, instance_id: str) -> WorkflowInstance:
        monkeypatch.undo()
        house.decide("manager", "approved")
        return find(by, instance_id)

    monkeypatch.setattr(instances, "find", find_and_be_overtaken)
    with pytest.raises(Conflict) as caught:
        instances.resume_bookmark(ADMIN, task.id, {"outcome": "approved"})
    assert (caught.value.code, caught.value.key) == (CONFLICT_BOOKMARK, "services.bookmark.gone")


def test_raw_resume_checks_the_expected_key_and_the_right(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    (task,) = house.bookmarks(instance.id)
    with pytest.raises(Denied):
        house.services.instances.resume_bookmark(ADMIN, task.id, {}, expected_key="somebody else")
    with pytest.raises(Denied):
        house.services.instances.resume_bookmark(actor("manager"), task.id, {"outcome": "approved"})
    with pytest.raises(NotFound) as refused:
        house.services.instances.resume_bookmark(ADMIN, "no-such-id", {})
    assert refused.value.code == NOTFOUND_BOOKMARK
    assert house.bookmarks(instance.id)[0].id == task.id


def test_a_reuse_may_be_narrowed_to_the_definition(house: Installation) -> None:
    house.publish(WAITING)
    house.publish({**WAITING, "name": "other"})
    first = house.start("waiting", correlation_id="PO-1")
    for policy in ("RejectDuplicate", "UseExisting"):
        with pytest.raises(Conflict) as refused:
            house.start("other", correlation_id="PO-1", reuse_policy=policy)
        assert refused.value.code == CONFLICT_CORRELATION
    other = house.start("other", correlation_id="PO-1", reuse_policy="RejectDuplicate", reuse_scope="definition")
    again = house.services.instances.start(
        ADMIN, definition_id=other.definition_id, correlation_id="PO-1", reuse_policy="UseExisting",
        reuse_scope="definition",
    )  # fmt: skip
    assert (again.created, again.instance.id) == (False, other.id)
    with pytest.raises(Conflict):
        house.start("waiting", correlation_id="PO-1", reuse_policy="RejectDuplicate", reuse_scope="definition")
    assert house.instance(first.id).status is InstanceStatus.RUNNING
    with pytest.raises(InputInvalid) as wrong:
        house.start("waiting", correlation_id="PO-1", reuse_policy="UseExisting", reuse_scope="world")
    assert [problem.path for problem in wrong.value.problems] == ["reuseScope"]


def test_a_suspended_instance_is_unfinished_and_a_faulted_one_is_not(house: Installation) -> None:
    house.publish(WAITING)
    house.publish(FAILING)
    first = house.start("waiting", correlation_id="PO-1")
    house.services.operations.suspend(ADMIN, first.id)
    with pytest.raises(Conflict):
        house.start("waiting", correlation_id="PO-1", reuse_policy="RejectDuplicate")
    house.start("failing", correlation_id="PO-2")
    assert house.start("failing", correlation_id="PO-2", reuse_policy="RejectDuplicate")
