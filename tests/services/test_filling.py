"""``demo fill``: what it writes is what the engine would have written, and the engine goes on with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, func, inspect, select

from tests.support.engine import actor
from tests.support.stores import StoreSet, on_databases
from tests.support.web import Site, make_site
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.cli.fill import samples
from webapp.engine.errors import Conflict, InputInvalid
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.model import InstanceStatus, NodeInstance, WorkflowInstance
from webapp.engine.notifications.model import EventType, Notice
from webapp.engine.numbers import decode
from webapp.services.filling import Amounts
from webapp.services.queries import InstanceQuery, Paging, TaskQuery
from webapp.stores import notice_rows, rows
from webapp.stores.keywords import fold, join_fields
from webapp.stores.sql.dialects import indexes_of
from webapp.stores.sql.tables import TableSet, table_set

pytestmark = on_databases

SMALL = Amounts(tasks=60, instances=90, users=8, groups=4)
ALL = Paging(limit=1_000)


def silent(step: str, done: int, total: int) -> None:
    """Hear nothing."""


def fill(site: Site, partition: str | None = None, amounts: Amounts = SMALL) -> Any:
    assert site.installation.filling is not None
    return site.installation.filling.fill(partition, amounts, samples(), told=silent)


@pytest.fixture(params=[None, "north"], ids=["platform", "tenant"])
def partition(request: pytest.FixtureRequest) -> str | None:
    found: str | None = request.param
    return found


@pytest.fixture
def site(stores: StoreSet, tmp_path: Path) -> Site:
    return make_site(tmp_path, stores)


def person(site: Site, partition: str | None, number: int) -> Any:
    name = f"u{number}" if partition is None else f"u{number}@{partition}"
    account = site.services.accounts.find_by_name(name)
    assert account is not None
    return site.services.accounts.actor(account)


def all_rows(stores: StoreSet, table: Table) -> list[dict[str, Any]]:
    assert stores.engine is not None
    with stores.engine.connect() as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def test_there_is_as_much_as_was_asked_for(site: Site, partition: str | None) -> None:
    report = fill(site, partition)
    admin = actor("admin", ADMINISTRATOR, partition=partition)
    assert (report.accounts, report.instances, report.tasks) == (8, 90, 60)
    counts = site.services.instances.counts(admin)
    assert sum(counts.values()) == 90
    assert {name: counts.get(name, 0) > 9 for name in InstanceStatus} == dict.fromkeys(InstanceStatus, True)
    assert counts["Running"] == 15
    assert site.services.inbox.query(admin, scope="all").total == 60
    users = [person(site, partition, number) for number in range(1, 9)]
    assert all("user" in user.roles and len(user.roles) > 1 for user in users)
    assert {role for user in users for role in user.roles} == {"user", "g1", "g2", "g3", "g4"}


def test_more_tasks_than_the_instances_hold_make_more_instances(site: Site) -> None:
    report = fill(site, amounts=Amounts(tasks=90, instances=6, users=4, groups=9))
    admin = actor("admin", ADMINISTRATOR)
    assert site.services.inbox.query(admin, scope="all").total == 90
    assert report.instances == site.services.instances.query(admin, InstanceQuery(paging=ALL)).total > 6


def test_the_rows_are_those_of_their_documents(site: Site, stores: StoreSet, partition: str | None) -> None:
    fill(site, partition)
    tables = table_set(partition)
    instances = {}
    for row in all_rows(stores, tables.instances):
        instance = decode(row["document"], WorkflowInstance)
        instances[instance.id] = instance
        assert without_document(row, rows.instance_row(instance)) is None
    for row in all_rows(stores, tables.node_instances):
        node = decode(row["document"], NodeInstance)
        assert node.instance_id in instances
        assert without_document(row, rows.node_instance_row(node)) is None
    for row in all_rows(stores, tables.bookmarks):
        bookmark = decode(row["document"], Bookmark)
        columns = rows.instance_columns(instances[row["instance_id"]])
        assert without_document(row, rows.bookmark_row(bookmark, columns)) is None


def without_document(stored: dict[str, Any], made: dict[str, Any]) -> str | None:
    """Return the first column that differs; documents may spell an instant's milliseconds otherwise."""
    assert not any(mark in str(stored) for mark in ("zq", "918273640", "2030-", "0f5a0000"))
    shared = [name for name in made if name in stored and name != "document"]
    assert len(shared) >= len(made) - 2  # the platform's tables have no tenant
    return next((name for name in shared if stored[name] != made[name]), None)


def test_records_and_trail_belong_to_their_instances(site: Site, stores: StoreSet, partition: str | None) -> None:
    fill(site, partition)
    tables = table_set(partition)
    instances = {row["id"]: row for row in all_rows(stores, tables.instances)}
    open_tasks = {row["id"]: row for row in all_rows(stores, tables.bookmarks) if row["kind"] == "UserTask"}
    for row in all_rows(stores, tables.task_records):
        instance = instances[row["instance_id"]]
        assert (row["ended_at"] is None) == (row["task_id"] in open_tasks)
        assert row["instance_title"] == instance["title"]
        assert row["search_title"] == row["title_sort_key"] == fold(row["title"])
        expected = join_fields(instance["title"], instance["correlation_id"], instance["definition_name"])
        assert row["search_instance_text"] == expected
        assert row["ended_at"] is None or row["created_at"] < row["ended_at"]
    actions = Counter(row["action"] for row in all_rows(stores, tables.audit) if row["instance_id"] in instances)
    assert actions["start"] == len(instances)
    assert {"complete", "claim", "suspend", "cancel", "terminate"} <= set(actions)
    for row in all_rows(stores, tables.audit):
        assert row["instance_id"] is None or row["sequence"] <= instances[row["instance_id"]]["last_sequence"]


def test_people_are_told_in_their_language_and_open_tasks_are_unread(
    site: Site, stores: StoreSet, partition: str | None
) -> None:
    fill(site, partition, Amounts(tasks=60, instances=200, users=2, groups=2))
    tables = table_set(partition)
    instances = {row["id"]: row for row in all_rows(stores, tables.instances)}
    open_tasks = {row["id"] for row in all_rows(stores, tables.bookmarks) if row["kind"] == "UserTask"}
    languages, kinds, ids = set(), Counter(), []
    for row in all_rows(stores, tables.notices):
        told = decode(row["document"], Notice)
        assert without_document(row, notice_rows.notice_row(told)) is None
        instance = instances[row["instance_id"]]
        assert told.instance_title == instance["title"] and told.tenant_id == partition
        assert told.sequence <= instance["last_sequence"] and told.created_at <= site.clock.now()
        assert told.metadata["businessKey"] == instance["correlation_id"]
        if told.task_id is not None:
            assert (told.read_at is None) == (told.task_id in open_tasks)
        if told.event_type is EventType.TASK_CREATED:
            languages.add((told.language, told.title.split(": ")[0].split("：")[0]))
        kinds[told.event_type] += 1
        ids.append(told.id)
    assert len(set(ids)) == len(ids)
    assert languages == {("en", "New approval task"), ("zh", "您有新的审批任务")}
    assert {EventType.TASK_CREATED, EventType.INSTANCE_COMPLETED, EventType.INSTANCE_CANCELED} <= set(kinds)
    for number in (1, 2):
        user = person(site, partition, number)
        assert 0 < site.services.notices.unread(user) <= 100
        page = site.services.notices.list(user)
        assert page.total > 20 and page.items[0].created_at > page.items[-1].created_at


def test_the_work_goes_on_to_its_end(site: Site, partition: str | None) -> None:
    fill(site, partition)
    admin = actor("admin", ADMINISTRATOR, partition=partition)
    waiting = {task.instance_id for task in every_task(site, admin)}
    decided = 0
    for _ in range(3):  # a claim is decided by one of the first, an approval by another person
        for number in range(1, 9):
            user = person(site, partition, number)
            for task in site.services.inbox.query(user, TaskQuery(paging=ALL), scope="claimable").items:
                with suppress(Conflict):  # nobody counts twice in one step
                    site.services.inbox.claim(user, task.id)
            for task in site.services.inbox.query(user, TaskQuery(paging=ALL)).items:
                if task.id in {one.id for one in every_task(site, admin)}:
                    site.services.inbox.complete(user, task.id, "approved")
                    decided += 1
    assert decided >= 30
    assert every_task(site, admin) == []
    ended = [site.services.instances.get(admin, instance_id) for instance_id in waiting]
    assert {instance.status for instance in ended} == {InstanceStatus.COMPLETED}


def every_task(site: Site, admin: Any) -> list[Any]:
    return list(site.services.inbox.query(admin, TaskQuery(paging=ALL), scope="all").items)


def test_what_waits_or_stands_still_can_be_moved(site: Site, partition: str | None) -> None:
    fill(site, partition, Amounts(tasks=0, instances=90, users=8, groups=4))
    admin = actor("admin", ADMINISTRATOR, partition=partition)
    of_status = {status: ids_of(site, admin, status) for status in InstanceStatus}
    waits = Counter()
    for instance_id in of_status[InstanceStatus.RUNNING]:
        bookmark = site.services.instances.bookmarks(admin, instance_id).items[0]
        waits[bookmark.kind] += 1
        if bookmark.kind == "Timer":
            assert bookmark.due_at is not None and bookmark.due_at > site.clock.now()
        else:
            site.services.signals.send_to(admin, instance_id, "repair.parts")
    assert set(waits) == {"Timer", "Signal"}
    site.clock.advance(70 * 24 * 3600)
    site.services.housekeeping.poll_once()
    for instance_id in of_status[InstanceStatus.RUNNING]:
        assert site.services.instances.get(admin, instance_id).status == InstanceStatus.COMPLETED
    for instance_id in of_status[InstanceStatus.SUSPENDED]:
        assert site.services.operations.resume(admin, instance_id).status == InstanceStatus.RUNNING
    assert len(every_task(site, admin)) == len(of_status[InstanceStatus.SUSPENDED])
    for instance_id in of_status[InstanceStatus.FAULTED]:
        assert site.services.instances.cancel(admin, instance_id).status == InstanceStatus.CANCELED


def ids_of(site: Site, admin: Any, status: InstanceStatus) -> list[str]:
    page = site.services.instances.query(admin, InstanceQuery(statuses=(status,), paging=ALL))
    return [item.id for item in page.items]


def test_the_pages_show_it(site: Site) -> None:
    fill(site)
    site.account("ada", ADMINISTRATOR)
    client = site.caller("ada")
    assert client.get("/instances?limit=1000").expect(200)["total"] == 90
    assert client.get("/tasks?scope=all&limit=1000").expect(200)["total"] == 60
    found = client.get("/instances?keyword=%E5%8F%91%E7%A5%A8&limit=1000").expect(200)["items"]
    assert found and all("发票" in item["title"] for item in found)
    for instance_id in [item["id"] for item in client.get("/instances?limit=1000").expect(200)["items"]][:20]:
        for part in ("", "/nodes", "/bookmarks", "/history"):
            client.get(f"/instances/{instance_id}{part}").expect(200)


def test_the_same_seed_gives_the_same_words(site: Site, stores: StoreSet) -> None:
    fill(site)
    fill(site, "north")
    platform, tenant = titles(stores, table_set(None)), titles(stores, table_set("north"))
    assert platform == tenant
    fill(site, "south", Amounts(tasks=60, instances=90, users=8, groups=4, seed=2))
    assert len(titles(stores, table_set("south"))) == 180
    assert not set(platform) >= set(titles(stores, table_set("south")))


def titles(stores: StoreSet, tables: TableSet) -> list[str]:
    return sorted(row["title"] for row in all_rows(stores, tables.instances))


def test_a_second_time_is_refused_and_nothing_changes(site: Site, stores: StoreSet) -> None:
    fill(site)
    with pytest.raises(Conflict) as refusal:
        fill(site)
    assert refusal.value.key == "services.fill.not_empty"
    assert count(stores, table_set(None).instances) == 90


def test_the_command_tells_what_it_has_done(site: Site) -> None:
    runner = site.app.test_cli_runner()
    asked = [
        "demo",
        "fill",
        "--tasks",
        "20",
        "--instances",
        "30",
        "--users",
        "4",
        "--groups",
        "2",
        "--password",
        "s3cret",
    ]
    done = runner.invoke(args=asked)
    assert done.exit_code == 0, done.output
    assert "4 accounts, 30 instances, 20 open tasks" in done.output
    assert site.services.accounts.authenticate("u4", "s3cret") is not None
    again = runner.invoke(args=asked)
    assert again.exit_code == 1
    assert "holds instances already" in again.output


def count(stores: StoreSet, table: Table) -> int:
    assert stores.engine is not None
    with stores.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_a_login_name_of_another_partition_is_refused(site: Site, stores: StoreSet) -> None:
    site.services.accounts.create(name="u3", tenant_id="north")
    with pytest.raises(InputInvalid) as refusal:
        fill(site)
    assert refusal.value.params == {"name": "u3"}
    assert count(stores, table_set(None).instances) == 0


def test_an_interrupted_filling_leaves_no_instance_and_is_done_again(site: Site, stores: StoreSet) -> None:
    class Interrupted(Exception):
        pass

    def stop(step: str, done: int, total: int) -> None:
        if step == "instances":
            raise Interrupted

    assert site.installation.filling is not None
    with pytest.raises(Interrupted):
        site.installation.filling.fill(None, SMALL, samples(), told=stop)
    assert count(stores, table_set(None).instances) == 0
    assert index_names(stores) == index_names_wanted(stores.kind)
    fill(site)
    assert count(stores, table_set(None).instances) == 90
    assert index_names(stores) == index_names_wanted(stores.kind)


def index_names(stores: StoreSet) -> set[str]:
    assert stores.engine is not None
    inspector = inspect(stores.engine)
    return {str(index["name"]) for table in filled_tables() for index in inspector.get_indexes(table.name)}


def index_names_wanted(dialect: str) -> set[str]:
    return {str(index.name) for table in filled_tables() for index in indexes_of(table, dialect)}


def filled_tables() -> Iterator[Table]:
    tables = table_set(None)
    yield from (
        tables.instances,
        tables.node_instances,
        tables.bookmarks,
        tables.task_records,
        tables.audit,
        tables.notices,
    )
