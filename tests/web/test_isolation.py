"""Nothing of another partition is seen, changed, counted, guessed or timed, through any address (spec 8.10, 11, 13).

Every address that takes an id or a name is called with those of another partition: in the same database, in a database
of its own, of the platform. Each answers as for an id that never was: the same status and body, after the same number
of statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, event

from tests.support.channels import FakeChannel
from tests.support.flows import END, START, flow, node
from tests.support.notices import notice, tell
from tests.support.stores import StoreSet
from tests.support.web import Caller, Site, make_site
from tests.web.api.flows import APPROVAL, publish, start
from webapp.engine.clock import SystemIds
from webapp.engine.notifications.model import ChannelKind, Delivery, DeliveryContent

NEVER = SystemIds()
OWN, SHARED = "t1", "t2"
PARTITIONS = (None, OWN, SHARED)
PAIRS = [(caller, other) for caller in PARTITIONS for other in PARTITIONS if caller != other]

pytestmark = pytest.mark.parametrize("stores", ["sqlite-apart"], indirect=True)

IF_MATCH = {"If_Match": '"1"'}
OPENED = {"workerId": "w"}
MINE = {"outcome": "approved"}
MORNING = [{"from": "09:00", "to": "12:00"}]
CONTENT: dict[str, Any] = {"timeZone": None, "weeklyHours": {"monday": MORNING}, "holidays": []}

# Endpoint → which id, what is sent; the method is the rule's.
BODIES: dict[str, tuple[str, Any]] = {
    "get_delivery": ("delivery", None),
    "retry_delivery": ("delivery", None),
    "get_endpoint": ("endpoint", None),
    "replace_endpoint": ("endpoint", {"name": "x", "address": "https://example.org/x"}),
    "delete_endpoint": ("endpoint", None),
    "try_endpoint": ("endpoint", None),
    "get_batch": ("batch", None),
    "cancel_batch": ("batch", None),
    "list_batch_items": ("batch", None),
    "pause_batch": ("batch", None),
    "resume_batch": ("batch", None),
    "get_calendar": ("calendar", None),
    "replace_calendar": ("calendar", CONTENT),
    "delete_calendar": ("calendar", None),
    "get_definition": ("definition", None),
    "replace_definition": ("draft", {**APPROVAL, "name": "x"}),
    "delete_definition": ("draft", None),
    "archive_definition": ("definition", None),
    "disable_definition": ("definition", None),
    "publish_definition": ("draft", None),
    "create_version": ("definition", None),
    "diff_definitions": ("definition", None),
    "export_definition": ("definition", None),
    "list_firings": ("definition", None),
    "get_timer": ("definition", None),
    "validate_definition": ("definition", None),
    "complete_external_task": ("external", OPENED),
    "extend_external_task": ("external", {**OPENED, "lockSeconds": 9}),
    "fail_external_task": ("external", {**OPENED, "error": "no"}),
    "get_instance": ("instance", None),
    "list_bookmarks": ("instance", None),
    "list_history": ("instance", None),
    "list_nodes": ("instance", None),
    "cancel_instance": ("instance", {}),
    "jump_instance": ("instance", {"toNodeId": "decide"}),
    "migrate_instance": ("instance", {"version": 1}),
    "resume_instance": ("instance", {}),
    "retry_instance": ("instance", {}),
    "suspend_instance": ("instance", {}),
    "terminate_instance": ("instance", {}),
    "update_variables": ("instance", {"set": {"what": "mine"}}),
    "withdraw_instance": ("instance", {}),
    "read_notification": ("notice", None),
    "delete_substitution": ("substitution", None),
    "get_task": ("task", None),
    "add_signers": ("task", {"assignees": ["x"], "position": "parallel"}),
    "claim_task": ("task", None),
    "complete_task": ("task", MINE),
    "delegate_task": ("task", {"to": "x"}),
    "recall_task": ("task", None),
    "release_task": ("task", None),
    "remove_signers": ("task", {"assignees": ["manager"]}),
    "list_return_targets": ("task", None),
    "return_task": ("task", {"comment": "no"}),
    "transfer_task": ("task", {"to": "x"}),
    "undo_decision": ("task", None),
    "urge_task": ("task", None),
}
LISTS = (
    "/instances",
    "/definitions",
    "/tasks?scope=all",
    "/batches",
    "/calendars",
    "/substitutions",
    "/notifications",
    "/notification-templates",
    "/notification-templates/versions?eventType=Mention&language=en",
)
ELSEWHERE = {"publish_signal"}
"""Addresses whose name is of nothing that is there or not; they have tests of their own."""


@dataclass
class World:
    """One application with three partitions, each with one thing of every kind."""

    site: Site
    stores: StoreSet
    ids: dict[str | None, dict[str, str]] = field(default_factory=dict)

    def admin(self, partition: str | None) -> Caller:
        return self.site.caller(f"ada-{partition}")

    def count(self) -> Counter:
        engines = (self.stores.engine, self.stores.lease_engine, self.stores.own_engine)
        return Counter([one for one in engines if one is not None])


@dataclass
class Counter:
    """Counts the statements of some databases, apart."""

    engines: list[Engine]

    @contextmanager
    def counting(self) -> Iterator[list[int]]:
        counts = [0] * len(self.engines)
        with ExitStack() as stack:
            for place, engine in enumerate(self.engines):

                def note(*_: object, place: int = place) -> None:
                    counts[place] += 1

                event.listen(engine, "before_cursor_execute", note)
                stack.callback(event.remove, engine, "before_cursor_execute", note)
            yield counts


WAITING = flow(
    "waiting", [START, node("wait", "WaitSignal", {"SignalName": "paid", "AcceptAnyCorrelation": True}), END]
)
PAY = flow("pay", [START, node("pay", "ExternalTask", {"Topic": "pay"}), END])
FAULTY = flow("faulty", [START, node("fail", "Fault", {"Message": "no paper"})])


@pytest.fixture
def world(stores: StoreSet, tmp_path: Path) -> World:
    world = World(make_site(tmp_path, stores, channels=[FakeChannel()]), stores)
    for partition in PARTITIONS:
        world.site.account(f"ada-{partition}", "administrator", "worker", tenant_id=partition)
        world.site.account(f"sub-{partition}", "user", tenant_id=partition)
        world.ids[partition] = _furnish(world.admin(partition), partition)
        world.ids[partition] |= _furnish_post(world, partition)
        told = notice(f"ada-{partition}", tenant_id=partition, instance_id=world.ids[partition]["instance"])
        tell(stores.stores, told)
        world.ids[partition]["notice"] = told.id
    return world


def _furnish(admin: Caller, partition: str | None) -> dict[str, str]:
    """Make one thing of each kind; names are the partition's own, so that one can look for them elsewhere."""
    name = f"approval-{partition}".lower()
    definition = publish(admin, {**APPROVAL, "name": name})
    draft = admin.post("/definitions", {**APPROVAL, "name": f"draft-{partition}".lower()}).expect(201)
    body = {"name": name, "variables": {"what": "secret"}, "correlationId": f"order-{partition}"}
    instance = admin.post("/instances", body).expect(201)
    publish(admin, {**WAITING, "name": f"waiting-{partition}".lower()})
    start(admin, f"waiting-{partition}".lower())
    publish(admin, {**PAY, "name": f"pay-{partition}".lower()})
    start(admin, f"pay-{partition}".lower())
    publish(admin, {**FAULTY, "name": f"faulty-{partition}".lower()})
    start(admin, f"faulty-{partition}".lower())
    ask = {"workerId": "w", "topics": [{"topic": "pay", "lockSeconds": 600}], "maxTasks": 5}
    (external,) = admin.post("/external-tasks/fetch-and-lock", ask).expect(200)["items"]
    task = admin.get("/tasks?scope=all").expect(200)["items"][0]
    batch = admin.post("/instances/batch", {"action": "suspend", "ids": [instance["id"]]}).expect(201)
    calendar = f"office-{partition}".lower()
    text = {"eventType": "Mention", "language": "en", "title": f"for-{partition}".lower()}
    template = admin.post("/notification-templates", text).expect(201)
    admin.post("/calendars", {"name": calendar, "displayName": "Office", **CONTENT}).expect(201)
    absence = {"substituteId": f"sub-{partition}", "from": "2026-07-20T00:00:00Z", "to": "2026-07-21T00:00:00Z"}
    substitution = admin.post("/substitutions", absence).expect(201)
    return {
        "definition": definition["id"],
        "draft": draft["id"],
        "instance": instance["id"],
        "external": external["id"],
        "task": task["id"],
        "batch": batch["id"],
        "calendar": calendar,
        "substitution": substitution["id"],
        "template": template["id"],
        "name": name,
    }


def _furnish_post(world: World, partition: str | None) -> dict[str, str]:
    """Make an endpoint, and a delivery that waits for it."""
    body = {"kind": "webhook", "name": f"hook-{partition}", "address": "https://example.org/in"}
    endpoint = world.admin(partition).post("/endpoints", body).expect(201)["id"]
    waiting = Delivery(
        id=NEVER.new(),
        tenant_id=partition,
        line=endpoint,
        kind=ChannelKind.WEBHOOK,
        endpoint_id=endpoint,
        topic="workflow.custom",
        next_attempt_at=world.site.clock.now(),
        created_at=world.site.clock.now(),
        content=DeliveryContent(data={}),
    )
    with world.stores.stores.writing(partition) as work:
        work.deliveries.insert(partition, [waiting])
    return {"endpoint": endpoint, "delivery": waiting.id}


def _addresses(site: Site) -> dict[str, tuple[str, str]]:
    """Return endpoint → method and path of every address of the API that takes an id or a name."""
    found = {}
    for rule in site.app.url_map.iter_rules():
        if rule.endpoint.startswith("api.v1.") and rule.arguments:
            (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
            found[rule.endpoint.removeprefix("api.v1.")] = (method, rule.rule)
    return found


def test_no_address_is_left_out(world: World) -> None:
    assert set(_addresses(world.site)) == set(BODIES) | ELSEWHERE


def _called(caller: Caller, method: str, rule: str, wanted: str, body: Any) -> tuple[int, str]:
    """Return status and body, with the id that was asked for written as ``ID``."""
    path = re.sub(r"<[^>]+>", wanted, rule)
    answer = caller.send(method, path, body, headers=IF_MATCH if method in ("PUT", "DELETE") else {})
    text = answer.response.text.replace(wanted, "ID")
    return answer.status, re.sub(r'"requestId":\s*"[^"]+"', "", text)


def test_an_id_of_another_partition_is_one_that_never_was(world: World) -> None:
    for endpoint, (method, rule) in _addresses(world.site).items():
        if endpoint in ELSEWHERE:
            continue
        kind, body = BODIES[endpoint]
        for caller, other in PAIRS:
            admin, counter = world.admin(caller), world.count()
            never = "never-was" if kind == "calendar" else _unheard_of(world.ids[other][kind])
            # What the first call of a process does once, such as reading a copy, is no difference between the two.
            _called(admin, method, rule, never, body)
            with counter.counting() as of_none:
                expected = _called(admin, method, rule, never, body)
            with counter.counting() as of_other:
                found = _called(admin, method, rule, world.ids[other][kind], body)
            where = f"{endpoint}: {caller} asks for {other}"
            assert found == expected, where
            assert found[0] == 404, f"{where}: {found}"
            assert of_other == of_none, where
    _nothing_was_touched(world)


def _unheard_of(known: str) -> str:
    """Return an id of the same form that is of nothing."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", lambda _: NEVER.new(), known)


def _nothing_was_touched(world: World) -> None:
    for partition in PARTITIONS:
        admin, ids = world.admin(partition), world.ids[partition]
        assert admin.get(f"/instances/{ids['instance']}").expect(200)["variables"]["what"] == "secret"
        assert admin.get(f"/instances/{ids['instance']}").expect(200)["status"] == "Running"
        assert admin.get(f"/tasks/{ids['task']}").expect(200)["assigneeId"] == "manager"
        assert admin.get(f"/definitions/{ids['draft']}").expect(200)["status"] == "Draft"
        assert admin.get(f"/definitions/{ids['definition']}").expect(200)["status"] == "Published"
        assert admin.get(f"/batches/{ids['batch']}").expect(200)["status"] == "Running"
        assert admin.get(f"/calendars/{ids['calendar']}").expect(200)["revision"] == 1
        assert ids["notice"] in admin.get("/notifications?unread=true").response.text
        assert [one["id"] for one in admin.get("/substitutions").expect(200)["items"]] == [ids["substitution"]]
        external = admin.post(f"/external-tasks/{ids['external']}/extend-lock", {**OPENED, "lockSeconds": 600})
        assert external.status == 200


def test_lists_and_counts_show_the_own_partition_only(world: World) -> None:
    seen: dict[str | None, Any] = {}
    for partition in PARTITIONS:
        admin = world.admin(partition)
        totals = {path: admin.get(path).expect(200)["total"] for path in LISTS}
        counts = admin.get("/instances/counts").expect(200)
        seen[partition] = (totals, counts, admin.get("/tasks/counts").expect(200))
        text = "".join(admin.get(path).response.text for path in totals)
        for other in PARTITIONS:
            own = set(world.ids[partition].values())
            foreign = set(world.ids[other].values()) - own
            assert not [one for one in foreign if one in text]
    assert seen[None] == seen[OWN] == seen[SHARED]
    assert seen[None][0] == {
        "/instances": 4,
        "/definitions": 5,
        "/tasks?scope=all": 1,
        "/batches": 1,
        "/calendars": 1,
        "/substitutions": 1,
        "/notifications": seen[None][0]["/notifications"],
        "/notification-templates": 1,
        "/notification-templates/versions?eventType=Mention&language=en": 1,
    }
    assert {status: count for status, count in seen[None][1].items() if count} == {"Running": 3, "Faulted": 1}


@pytest.mark.parametrize(
    "path",
    [
        "/instances?definitionName={name}",
        "/instances?correlationId=order-{other}",
        "/instances?keyword=order-{other}",
        "/instances?parentId={instance}",
        "/definitions?keyword={name}",
        "/definitions?name={name}",
        "/tasks?scope=all&keyword=order-{other}",
        "/tasks?scope=all&instanceId={instance}",
        "/tasks?scope=all&definitionName={name}",
        "/notifications?instanceId={instance}",
    ],
)
def test_no_filter_finds_anything_of_another_partition(world: World, path: str) -> None:
    for caller, other in PAIRS:
        for partition, expected in ((caller, 0), (other, None)):
            found = world.admin(partition).get(path.format(other=other, **world.ids[other]))
            total = found.expect(200)["total"]
            assert total == 0 if expected == 0 else (total > 0 or "parentId" in path)


def test_what_one_account_was_told_and_chose_is_no_other_account_s(world: World) -> None:
    for partition in PARTITIONS:
        admin, other = world.admin(partition), world.site.caller(f"sub-{partition}")
        admin.put("/notification-preferences", {"dailyAt": "09:00"}, If_Match='"0"').expect(200)
        told = world.ids[partition]["notice"]
        assert told not in other.get("/notifications").response.text
        other.post("/notifications/read-all").expect(200)
        assert other.get("/notification-preferences").expect(200)["revision"] == 0
        for caller in (other, *(world.admin(one) for one in PARTITIONS if one != partition)):
            caller.post(f"/notifications/{told}/read").refused(404, "REQUEST_NOTFOUND_001")
        assert told in admin.get("/notifications?unread=true").response.text


def test_nothing_is_started_reached_or_worked_on_across_partitions(world: World) -> None:
    for caller, other in PAIRS:
        admin, ids = world.admin(caller), world.ids[other]
        never = admin.post("/instances", {"name": "never", "variables": {}})
        foreign = admin.post("/instances", {"name": ids["name"], "variables": {}})
        assert foreign.status == never.status == 404
        assert foreign.response.text.replace(ids["name"], "never")[:200] == never.response.text[:200]
        by_id = admin.post("/instances", {"definitionId": ids["definition"], "variables": {}})
        assert by_id.status == 404
        ask = {"workerId": "w", "topics": [{"topic": "pay", "lockSeconds": 60}], "maxTasks": 5}
        assert admin.post("/external-tasks/fetch-and-lock", ask).expect(200) == {"items": []}
        many = admin.post("/tasks/batch", {"items": [{"id": ids["task"], "outcome": "approved"}]})
        none = admin.post("/tasks/batch", {"items": [{"id": NEVER.new(), "outcome": "approved"}]})
        assert many.status == none.status
        batch = admin.post("/instances/batch", {"action": "cancel", "ids": [ids["instance"]]}).expect(201)
        assert batch["total"] == 1
    _nothing_was_touched(world)


def test_a_signal_and_a_purge_stay_at_home(world: World) -> None:
    for partition in PARTITIONS:
        admin = world.admin(partition)
        assert admin.post("/signals/paid", {"payload": {"by": str(partition)}}).expect(200)["resumed"] == 1
        assert admin.post("/signals/paid", {}).expect(200)["resumed"] == 0
        before = {one: world.admin(one).get("/instances").expect(200)["total"] for one in PARTITIONS}
        body = {"endedBefore": "2027-01-01T00:00:00Z", "statuses": ["Completed", "Faulted"], "limit": 100}
        assert admin.post("/instances/purge", body).expect(200)["purged"] == 2
        after = {one: world.admin(one).get("/instances").expect(200)["total"] for one in PARTITIONS}
        assert after == {**before, partition: before[partition] - 2}


def test_batches_reach_nothing_of_another_partition(world: World) -> None:
    made = {}
    for caller, other in PAIRS:
        body = {"action": "cancel", "ids": [world.ids[other]["instance"], NEVER.new()]}
        made[caller, other] = world.admin(caller).post("/instances/batch", body).expect(201)["id"]
    for _ in range(3):
        world.site.services.housekeeping.run_batches(lambda: False)
        world.site.clock.advance(20)
    for (caller, _), batch in made.items():
        items = world.admin(caller).get(f"/batches/{batch}/items").expect(200)["items"]
        problems = [re.sub(r"[0-9a-f-]{36}", "ID", str(item["problem"])) for item in items]
        assert len(items) == 2
        assert problems[0] == problems[1]
        assert "NOTFOUND" in problems[0]


def test_one_key_of_idempotency_is_another_in_each_partition(world: World) -> None:
    started = set()
    for partition in PARTITIONS:
        body = {"name": world.ids[partition]["name"], "variables": {"what": "x"}}
        headers = {"Idempotency_Key": "the-same"}
        first = world.admin(partition).post("/instances", body, **headers).expect(201)["id"]
        assert world.admin(partition).post("/instances", body, **headers).expect(201)["id"] == first
        started.add(first)
    assert len(started) == 3


def test_one_correlation_id_starts_once_in_each_partition(world: World) -> None:
    for partition in PARTITIONS:
        admin, name = world.admin(partition), world.ids[partition]["name"]
        body = {"name": name, "variables": {"what": "x"}, "correlationId": "once", "reusePolicy": "RejectDuplicate"}
        admin.post("/instances", body).expect(201)
        assert admin.post("/instances", body).status == 409


# --- pages ------------------------------------------------------------------------------------

PAGES = {
    "definition_id": "definition",
    "instance_id": "instance",
    "batch_id": "batch",
    "task_id": "task",
    "absence_id": "substitution",
    "name": "name",
    "notice_id": "notice",
    "delivery_id": "delivery",
    "endpoint_id": "endpoint",
}
OF_NOTHING = {"topic", "activity_type", "filename", "event_type", "token", "action"}
ACTIONS = ("disable", "delete", "claim", "release", "transfer", "delegate", "add", "remove", "urge", "recall", "undo")
FORM = {
    "outcome": "approved", "to": "x", "assignees": "x", "comment": "no", "position": "parallel", "reason": "x",
    "name": "paid", "toNodeId": "decide", "version": "1", "revision": "1",
}  # fmt: skip


def _pages(site: Site) -> Iterator[tuple[str, str, str]]:
    for rule in site.app.url_map.iter_rules():
        if rule.endpoint.startswith("api.") or not rule.arguments or rule.arguments & OF_NOTHING:
            continue
        (kind,) = (PAGES[name] for name in rule.arguments if name in PAGES)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            yield method, rule.rule, kind


def test_every_page_answers_for_another_partition_as_for_what_never_was(world: World) -> None:
    browsers = {partition: _signed_in(world.site, f"ada-{partition}") for partition in PARTITIONS}
    seen = 0
    for method, rule, kind in _pages(world.site):
        choices = re.search(r"<any\(([^)]*)\):action>", rule)
        actions = [one.strip() for one in choices.group(1).split(",")] if choices else [""]
        for action in (one for one in actions if not one or one in ACTIONS):
            path = re.sub(r"<any[^>]*>", action, rule)
            for caller, other in PAIRS[::2]:
                client, token = browsers[caller]
                expected = _page(client, token, method, path, NEVER.new())
                assert _page(client, token, method, path, world.ids[other][kind]) == expected, (path, caller, other)
                seen += 1
    assert seen > 100
    _nothing_was_touched(world)


def _signed_in(site: Site, name: str) -> tuple[FlaskClient, str]:
    client = site.app.test_client()
    token = _token(client.get("/sign-in").text)
    assert client.post("/sign-in", data={"name": name, "password": f"{name}!", "csrf_token": token}).status_code == 303
    return client, _token(client.get("/account").text)


def _token(page: str) -> str:
    return page.partition('name="csrf_token" value="')[2].partition('"')[0]


def _page(client: FlaskClient, token: str, method: str, rule: str, wanted: str) -> tuple[int, str, str]:
    """Return status, target and text of a page, without what differs at every request."""
    path = re.sub(r"<[^>]+>", wanted, rule)
    data = {**FORM, "csrf_token": token} if method == "POST" else None
    answer = client.open(path, method=method, data=data)
    text = answer.text.replace(wanted, "ID").replace(answer.headers["X-Request-Id"], "REQUEST")
    text = re.sub(r'(csrf[-_]token"? (?:value|content)=")[^"]+', r"\1", text)
    text = re.sub(r"X-CSRFToken[^}]*}", "", text)
    return answer.status_code, answer.headers.get("Location", "").replace(wanted, "ID"), text
