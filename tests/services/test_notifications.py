"""Notices are rows of the command's own transaction: who gets them, and none is lost or written twice (spec 10)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.services.stores_that_fail import FailingStores, busy, gone
from tests.support.engine import Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet, also_apart
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Unavailable, Unexpected
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import Event
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.notifications.model import (
    ChannelKind,
    Delivery,
    DeliveryState,
    Digest,
    Endpoint,
    EventRule,
    EventType,
    Notice,
    NoticePreferences,
    NoticeTemplate,
    NoticeType,
    QuietHours,
    Severity,
)
from webapp.engine.notifications.recipients import Telling
from webapp.engine.ports.listeners import Listeners
from webapp.engine.ports.notices import DeliveryQuery, NoticeQuery
from webapp.engine.ports.stores import StoreFailure, Stores, UnitOfWork
from webapp.services.notice_writing import Occasion, Told

APPROVAL = flow(
    "approval",
    [START, node("ask", "UserTask", {"Assignees": ["u1"], "Title": "Sign {{ what }}", "Priority": "high"}), END],
    category="leave",
)
AT = datetime(2026, 1, 1, tzinfo=UTC)
MAIL = Endpoint(id="email", kind=ChannelKind.EMAIL, name="E-mail", for_notices=True, created_at=AT, updated_at=AT)
CHAT = Endpoint(id="chat", kind=ChannelKind.SLACK, name="Chat", for_notices=True, created_at=AT, updated_at=AT)


def staffed(stores: StoreSet, *names: str, **more: Any) -> Installation:
    """Return an installation with accounts; that of the starter has a department."""
    house = install(stores, **more)
    house.account("emma", department="sales")
    for name in names or ("u1", "u2"):
        house.account(name)
    return house


def emma() -> Actor:
    return actor("emma")


def begin(house: Installation, document: dict[str, Any] = APPROVAL, **more: Any) -> WorkflowInstance:
    house.publish(document)
    return house.start(document["name"], more.pop("variables", {"what": "it"}), by=emma(), **more)


def notices(house: Installation, who: str, partition: str | None = None) -> list[Notice]:
    """Return somebody's inbox, the oldest first."""
    with house.store_set.stores.reading(partition) as work:
        return work.notices.list(partition, who, NoticeQuery()).items[::-1]


def told(house: Installation, who: str) -> list[str]:
    return [one.event_type.value for one in notices(house, who)]


def deliveries(house: Installation) -> list[Delivery]:
    with house.store_set.stores.reading(None) as work:
        return work.deliveries.list(None, DeliveryQuery()).items[::-1]


# --- what is written ------------------------------------------------------------------------------


def test_a_notice_is_written_with_the_command_and_holds_the_five_members_of_metadata(stores: StoreSet) -> None:
    house = staffed(stores)
    instance = begin(house, correlation_id="c-1")
    task = house.task("u1")
    (one,) = notices(house, "u1")
    assert (one.event_type, one.code, one.type, one.severity, one.category) == (
        EventType.TASK_CREATED,
        "workflow.TaskCreated",
        NoticeType.APPROVAL,
        Severity.WARNING,
        "leave",
    )
    assert "Sign it" in one.title
    assert (one.instance_id, one.task_id, one.origin, one.occurrence) == (instance.id, task.id, task.id, 1)
    assert one.metadata == {
        "instanceId": instance.id,
        "businessKey": "c-1",
        "eventType": "TaskCreated",
        "definitionKey": "approval",
        "officeId": "sales",
    }
    assert (one.created_at, one.read_at, one.language, one.template_id) == (
        house.store_set.clock.now(),
        None,
        "en",
        None,
    )
    assert house.instance(instance.id).last_sequence == one.sequence


def test_the_story_of_a_request(stores: StoreSet) -> None:
    house = staffed(stores)
    begin(house)
    house.store_set.clock.advance(1)
    house.services.inbox.transfer(actor("u1"), house.task("u1").id, "u2", "on holiday")
    house.store_set.clock.advance(1)
    house.decide("u2", "approved", comment="fine, @u1")
    assert told(house, "u1") == ["TaskCreated", "Mention"]
    assert told(house, "u2") == ["TaskTransferred"]
    assert told(house, "emma") == ["TaskCompleted", "InstanceCompleted"]
    assert "on holiday" in notices(house, "u2")[0].body


def test_without_recipients_nothing_is_sent_and_nothing_fails(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(APPROVAL)
    house.start("approval", {"what": "it"})
    house.decide("u1", "approved")
    assert [told(house, name) for name in ("u1", "admin", "emma")] == [[], [], []]


def test_the_account_language_is_spoken(stores: StoreSet) -> None:
    house = staffed(stores)
    house.account("li", language="zh")
    begin(house, flow("approval", [START, node("ask", "UserTask", {"Assignees": ["li", "u1"]}), END]))
    (chinese,), (english,) = notices(house, "li"), notices(house, "u1")
    assert (chinese.language, english.language) == ("zh", "en")
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese.title)


def test_very_long_variables_are_cut_and_no_variable_enters_the_metadata(stores: StoreSet) -> None:
    house = staffed(stores)
    recipients = {"__listenerRecipients": ["u2"]}
    document = listening("{{ what }}")
    document["nodes"][1]["listeners"][0]["channel"] = "t" * 500
    begin(house, document, variables={"what": "x" * 50_000, "secret": "s3cret", **recipients})
    (one,) = notices(house, "u2")
    assert one.title == "t" * 199 + "…"
    assert one.body == "x" * 3_999 + "…"
    assert sorted(one.metadata) == ["businessKey", "definitionKey", "eventType", "instanceId", "officeId"]
    assert "s3cret" not in f"{one}"


# --- once -----------------------------------------------------------------------------------------


def test_the_same_transition_told_again_is_one_notice(stores: StoreSet) -> None:
    """The commit's answer is lost and the write is sent again: ids that are there already stay as they are."""
    broken = FailingStores(stores.stores)
    house = staffed(replace(stores, stores=broken))
    house.publish(APPROVAL)
    broken.after = [busy()]
    house.start("approval", {"what": "it"}, by=emma())
    assert told(house, "u1") == ["TaskCreated"]


def test_what_was_not_committed_told_nobody(stores: StoreSet) -> None:
    broken = FailingStores(stores.stores)
    house = staffed(replace(stores, stores=broken))
    begin(house)
    task = house.task("u1")
    broken.before = [gone()]
    with pytest.raises(Unavailable):
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert told(house, "emma") == []
    house.decide("u1", "approved")
    assert told(house, "emma") == ["TaskCompleted", "InstanceCompleted"]


# --- all or nothing -------------------------------------------------------------------------------


class Refusing:
    """A channel that cannot reach some people; the others it leaves to the real one."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.tried: list[str] = []

    def compose(self, telling: Telling, occasion: Occasion) -> Told | None:
        self.tried.append(telling.recipient_id)
        if telling.recipient_id in self.names:
            raise RuntimeError("the inbox is full")
        return None


def test_one_recipient_that_fails_rolls_the_whole_command_back_after_all_were_tried(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    channel = Refusing("u2", "u3")
    house = staffed(stores, "u1", "u2", "u3", "u4", notice_channel=channel)
    many = {"Assignees": ["u1", "u2", "u3", "u4"]}
    house.publish(flow("approval", [START, node("ask", "UserTask", many), END]))
    with pytest.raises(Unexpected) as raised:
        house.start("approval", by=emma())
    assert (raised.value.key, raised.value.params) == ("services.notices.failed", {"count": 2})
    assert channel.tried == ["u1", "u2", "u3", "u4"]
    assert [house.tasks(name) for name in ("u1", "u4")] == [[], []]
    assert told(house, "u1") == []

    channel.names.clear()
    instance = house.start("approval", by=emma())
    channel.names.add("emma")
    before = house.instance(instance.id)
    with pytest.raises(Unexpected):
        house.decide("u1", "approved")
    assert house.instance(instance.id).revision == before.revision
    assert len(house.tasks("u1")) == 1


class Hearing:
    """A listener that notes what it hears, and fails at one topic."""

    def __init__(self, name: str, heard: list[tuple[str, str]], failing: str | None = None) -> None:
        self.name = name
        self.events = heard
        self.failing = failing

    def heard(self, event: Event, instance: WorkflowInstance) -> None:
        self.events.append((self.name, event.topic.removeprefix("workflow.")))
        if event.topic == self.failing:
            raise RuntimeError(f"{self.name} fails")


def test_listeners_hear_in_the_order_of_registration_by_kind(stores: StoreSet) -> None:
    heard: list[tuple[str, str]] = []
    house = staffed(
        stores,
        listeners=Listeners(
            workflow=[Hearing("w", heard)],
            execution=[Hearing("x", heard)],
            task=[Hearing("t1", heard), Hearing("t2", heard)],
        ),
    )
    begin(house)
    assert heard == [
        ("x", "instance.started"), ("w", "instance.started"),
        ("x", "node.executing"), ("w", "node.executing"),
        ("x", "node.executed"), ("w", "node.executed"),
        ("x", "node.executing"), ("w", "node.executing"),
        ("t1", "task.created"), ("t2", "task.created"), ("w", "task.created"),
        ("x", "node.executed"), ("w", "node.executed"),
    ]  # fmt: skip


def test_what_a_listener_raises_is_logged_and_fails_the_command(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Hearing("t", [], failing="workflow.task.completed")
    house = staffed(stores, listeners=Listeners(task=[listener]))
    instance = begin(house)
    with caplog.at_level(logging.ERROR, "waypost.notices"), pytest.raises(RuntimeError, match="t fails"):
        house.decide("u1", "approved")
    assert "the listener Hearing failed" in caplog.text
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
    assert told(house, "emma") == []
    assert len(house.tasks("u1")) == 1
    listener.failing = None
    house.decide("u1", "approved")
    assert told(house, "emma") == ["TaskCompleted", "InstanceCompleted"]


# --- the applicant --------------------------------------------------------------------------------


class Applicants:
    """A resolver that gives what it is told to give."""

    def __init__(self, found: object) -> None:
        self.found = found
        self.asked = 0

    def applicant(self, instance: WorkflowInstance, definition: WorkflowDefinition) -> str | None:
        self.asked += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found  # type: ignore[return-value]  # an application may give anything


@pytest.mark.parametrize(
    ("found", "variables", "who"),
    [
        ("u2", {"currentApplicantId": "u3"}, "u2"),
        (None, {"currentApplicantId": "u3"}, "u3"),
        (" ", {"currentApplicantId": " u3 "}, "u3"),
        (RuntimeError("no such office"), {"currentApplicantId": "u3"}, "u3"),
        (RuntimeError("no such office"), {}, "emma"),
        (7, {"currentApplicantId": 7}, "emma"),
    ],
)
def test_the_applicant_is_the_resolvers_else_the_instances_else_the_starter(
    stores: StoreSet, found: object, variables: dict[str, Any], who: str
) -> None:
    resolver = Applicants(found)
    house = staffed(stores, "u1", "u2", "u3", applicants=resolver)
    begin(house, variables={"what": "it", **variables})
    assert resolver.asked == 0
    house.decide("u1", "approved")
    assert resolver.asked == 1
    assert {name: told(house, name) for name in ("emma", "u2", "u3") if told(house, name)} == {
        who: ["TaskCompleted", "InstanceCompleted"]
    }


# --- who is told, and how -------------------------------------------------------------------------


def test_a_user_of_another_tenant_is_dropped_and_not_named_in_full(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    house = staffed(stores)
    house.account("mallory@elsewhere.example", partition="t2")
    who = {"Assignees": ["mallory@elsewhere.example", "u1"]}
    with caplog.at_level(logging.INFO, "waypost.notices"):
        begin(house, flow("approval", [START, node("ask", "UserTask", who), END]))
    assert told(house, "u1") == ["TaskCreated"]
    for partition in (None, "t2"):
        assert notices(house, "mallory@elsewhere.example", partition) == []
    assert "1 not told" in caplog.text
    assert "mallory" not in caplog.text


@also_apart
def test_a_tenants_notices_stay_with_the_tenant(stores: StoreSet) -> None:
    house = staffed(stores)
    boss = house.account("boss", ADMINISTRATOR, partition="t1")
    house.account("tina", partition="t1")
    asked = node("ask", "UserTask", {"Assignees": ["tina", "u1"], "CompletionPolicy": "All"})
    house.publish(flow("approval", [START, asked, END]), by=boss)
    house.start("approval", by=boss)
    (one,) = notices(house, "tina", "t1")
    assert (one.tenant_id, one.event_type) == ("t1", EventType.TASK_CREATED)
    assert notices(house, "tina") == []
    assert [told(house, "u1"), notices(house, "u1", "t1")] == [[], []]


def test_a_disabled_account_is_not_told(stores: StoreSet) -> None:
    house = staffed(stores)
    instance = begin(house)
    account = house.services.accounts.find_by_name("emma")
    assert account is not None
    house.services.accounts.set_disabled(account, True)
    house.decide("u1", "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert told(house, "emma") == []


def prefer(house: Installation, who: str, **more: Any) -> None:
    house.store_set.notice_settings.save_preferences(NoticePreferences(user_id=who, **more), 0)


def test_the_inbox_can_be_switched_off_and_with_all_else_off_nothing_is_written(stores: StoreSet) -> None:
    house = staffed(stores, built_in=lambda partition: [MAIL])
    house.account("u3", email="u3@here.example")
    house.account("u4", email="u4@here.example")
    prefer(house, "u3", rules={EventType.TASK_CREATED: EventRule(inbox=False)})
    prefer(house, "u4", rules={EventType.TASK_CREATED: EventRule(inbox=False, endpoints={"email": False})})
    begin(house, flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u3", "u4", "u1"]}), END]))
    assert [told(house, name) for name in ("u1", "u3", "u4")] == [["TaskCreated"], [], []]
    (mail,) = deliveries(house)
    assert (mail.recipient_id, mail.address, mail.endpoint_id, mail.state) == (
        "u3",
        "u3@here.example",
        "email",
        DeliveryState.PENDING,
    )
    with stores.stores.reading(None) as work:
        kept = work.notices.find(None, mail.notice_id or "")
    assert kept is not None
    assert not kept.in_inbox


def test_deliveries_hold_what_was_decided_when_they_were_written(stores: StoreSet) -> None:
    house = staffed(stores, built_in=lambda partition: [MAIL, CHAT])
    house.account("u3", email="u3@here.example")
    prefer(
        house,
        "u3",
        rules={EventType.TASK_CREATED: EventRule(endpoints={"chat": True})},
        handles={"chat": "U0333"},
    )
    instance = begin(house, flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u3"]}), END]))
    (notice,) = notices(house, "u3")
    mail, chat = sorted(deliveries(house), key=lambda one: one.endpoint_id, reverse=True)
    assert (mail.address, chat.address) == ("u3@here.example", "U0333")
    assert mail.line == f"email/u3/{instance.id}"
    assert (mail.content.title, mail.content.body, mail.content.task_id) == (notice.title, notice.body, notice.task_id)
    assert (mail.next_attempt_at, mail.bundle) == (house.store_set.clock.now(), None)
    assert notice.sequence < min(mail.sequence, chat.sequence)
    assert house.instance(instance.id).last_sequence == max(mail.sequence, chat.sequence)


def test_quiet_hours_and_digests_put_deliveries_off_together(stores: StoreSet) -> None:
    house = staffed(stores, built_in=lambda partition: [MAIL, CHAT])
    house.account("u3", email="u3@here.example")
    now = stores.clock.now()
    prefer(
        house,
        "u3",
        rules={EventType.TASK_CREATED: EventRule(endpoints={"chat": True})},
        digest={"email": Digest.HOURLY},
        quiet=QuietHours(start=f"{now:%H}:00", end=f"{(now.hour + 2) % 24:02}:00", time_zone="UTC"),
    )
    document = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u3"]}), END])
    begin(house, document)
    house.start("approval", by=emma())
    end = now.replace(minute=0, second=0, microsecond=0).timestamp() + 2 * 3600
    found = deliveries(house)
    assert {one.next_attempt_at.timestamp() for one in found} == {end}
    assert len(found) == 4
    assert len({one.bundle for one in found}) == 2
    assert all(one.bundle for one in found)


class Settings:
    """The settings' store, which can be made to fail."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.fails = False

    def __getattr__(self, name: str) -> Any:
        if self.fails:
            raise StoreFailure("the settings are gone")
        return getattr(self._real, name)


def test_settings_that_cannot_be_read_keep_what_is_known_and_without_any_everybody_is_told(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(stores.notice_settings)
    house = staffed(replace(stores, notice_settings=settings), "u1", "u2", built_in=lambda partition: [MAIL])
    prefer(house, "u1", rules={EventType.TASK_CREATED: EventRule(inbox=False)})
    settings.fails = True
    with caplog.at_level(logging.WARNING, "waypost.notices"):
        begin(house)
    assert told(house, "u1") == ["TaskCreated"]
    assert "could not be read; everybody is told as always" in caplog.text
    assert "preferences cannot be looked up" in caplog.text

    settings.fails = False
    stores.clock.advance(6)
    house.start("approval", {"what": "it"}, by=emma())
    settings.fails = True
    stores.clock.advance(6)
    house.start("approval", {"what": "it"}, by=emma())
    assert told(house, "u1") == ["TaskCreated"]
    assert "the old copy is used" in caplog.text


def template(**more: Any) -> NoticeTemplate:
    given = {
        "id": "tpl",
        "event_type": EventType.TASK_CREATED,
        "business_type": "leave",
        "language": "en",
        "version": 3,
        "title": "To sign: {title}",
        "body": "{instanceTitle} of {starter}, {what}",
        "created_at": AT,
    }
    return NoticeTemplate(**{**given, **more})


def test_a_template_is_told_with_its_version_and_people_by_their_shown_names(stores: StoreSet) -> None:
    house = install(stores)
    house.account("emma", display_name="Emma Stone")
    house.account("u1")
    stores.notice_settings.add_template(template())
    begin(house)
    (one,) = notices(house, "u1")
    assert (one.title, one.template_id, one.template_version) == ("To sign: Sign it", "tpl", 3)
    assert one.body == "Approval of Emma Stone, {what}"


def test_a_template_that_fails_falls_back_and_is_logged(stores: StoreSet, caplog: pytest.LogCaptureFixture) -> None:
    house = staffed(stores)
    stores.notice_settings.add_template(template(title="{dueAt}"))
    with caplog.at_level(logging.WARNING, "waypost.notices"):
        begin(house)
    (one,) = notices(house, "u1")
    assert one.template_id is None
    assert "Sign it" in one.title
    assert "template tpl was passed over" in caplog.text


# --- timers ---------------------------------------------------------------------------------------

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


# --- listeners of nodes ---------------------------------------------------------------------------


def listening(body: str) -> dict[str, Any]:
    listener = {"type": "notification", "on": "leave", "channel": "Summed", "expression": body}
    return flow("sum", [START, node("sum", "SetVariable", {"Values": {"n": 7}}, listeners=[listener]), END])


def test_a_nodes_listener_tells_in_its_own_words(stores: StoreSet) -> None:
    house = staffed(stores)
    stores.notice_settings.add_template(template(event_type=EventType.NODE_LISTENER, business_type=None))
    begin(house, listening("{{ n }} of {who}"), variables={"__listenerRecipients": ["u1", "stranger"]})
    (one,) = notices(house, "u1")
    assert (one.event_type, one.title, one.body, one.template_id) == (
        EventType.NODE_LISTENER,
        "Summed",
        "7 of {who}",
        None,
    )


def test_a_nodes_listener_that_fails_fails_the_command(stores: StoreSet) -> None:
    house = staffed(stores)
    house.publish(listening("{{ missing.member }}"))
    with pytest.raises(Unexpected) as raised:
        house.start("sum", {"__listenerRecipients": ["u1"]}, by=emma())
    assert (raised.value.key, raised.value.params) == ("services.notices.listener_failed", {"node": "sum"})
    assert told(house, "u1") == []
    assert house.start("sum", by=emma()).status is InstanceStatus.COMPLETED
