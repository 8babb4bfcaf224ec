"""Endpoints: rights, partitions, what is checked, secrets that go in and never out, the test message (spec 10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from tests.services.trail import trail
from tests.support.channels import FakeChannel, HangingChannel, failing
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.stores import StoreSet
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR, DESIGNER, OPERATOR, USER
from webapp.engine.errors import (
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
    OperationCancelled,
    Problem,
    StaleRevision,
    Unavailable,
)
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage
from webapp.engine.ports.stores import StoreFailure
from webapp.services import ServiceSettings
from webapp.services.endpoints import EndpointService, EndpointSettings

SECRET = "a secret nobody may see"
ADDRESS = "https://erp.example.org/in?key=t0ken"
OTHER = actor("eve", ADMINISTRATOR, partition="acme")
VALUES: dict[str, Any] = {
    "name": "ERP",
    "address": ADDRESS,
    "secret": SECRET,
    "topics": ["workflow.task.*", "workflow.instance.completed"],
    "for_notices": True,
    "options": {"x": "y"},
}


@dataclass
class House:
    """An installation with doubles for webhook and e-mail."""

    stores: StoreSet
    hook: FakeChannel = field(default_factory=FakeChannel)
    mail: FakeChannel = field(default_factory=lambda: FakeChannel(kind=ChannelKind.EMAIL))

    def __post_init__(self) -> None:
        settings = ServiceSettings(delivery_timeout_seconds=0.05)
        self.house = install(self.stores, channels=[self.hook, self.mail], settings=settings)

    @property
    def service(self) -> EndpointService:
        return self.house.services.endpoints

    def make(self, by: Actor = ADMIN, **more: Any) -> Endpoint:
        kind = more.pop("kind", ChannelKind.WEBHOOK)
        return self.service.create(by, kind, EndpointSettings(**{**VALUES, **more}))

    def update(self, made: Endpoint, by: Actor = ADMIN, **more: Any) -> Endpoint:
        values = {name: VALUES[name] for name in VALUES if name != "secret"}
        revision = more.pop("expected_revision", made.revision)
        return self.service.update(by, made.id, EndpointSettings(**{**values, **more}), expected_revision=revision)

    def sent(self, endpoint_id: str, by: Actor = ADMIN) -> OutgoingMessage:
        """Return the test message as the channel gets it."""
        self.service.try_out(by, endpoint_id)
        return self.hook.taken[-1]


@pytest.fixture
def house(stores: StoreSet) -> House:
    return House(stores)


def test_an_endpoint_is_made_and_its_secret_never_shown_again(house: House) -> None:
    made = house.make(name=" ERP ", address=f" {ADDRESS} ", topics=["workflow.task.*", "workflow.task.*"])
    assert (made.name, made.address, made.secret) == ("ERP", "https://erp.example.org/in?key=***", "***")
    assert (made.topics, made.revision, made.enabled, made.for_notices) == (["workflow.task.*"], 1, True, True)
    assert (made.tenant_id, made.created_by, made.created_at) == (None, "admin", house.stores.clock.now())
    for shown in (made, house.service.get(ADMIN, made.id), house.service.list(ADMIN)[1]):
        text = msgspec.json.encode(shown).decode()
        assert SECRET not in text and "t0ken" not in text
        assert shown == made
    message = house.sent(made.id)
    assert (message.endpoint.address, message.endpoint.secret) == (ADDRESS, SECRET)


def test_one_without_a_secret_shows_none(house: House) -> None:
    assert house.make(secret="").secret is None


@pytest.mark.parametrize("role", [USER, DESIGNER, OPERATOR])
def test_only_who_may_administer_notifications_sees_or_changes_endpoints(house: House, role: str) -> None:
    made, somebody, service = house.make(), actor("nosy", role), house.service
    calls: list[Callable[[], object]] = [
        lambda: service.list(somebody),
        lambda: service.get(somebody, made.id),
        lambda: house.make(somebody, name="mine"),
        lambda: house.update(made, somebody),
        lambda: service.delete(somebody, made.id),
        lambda: service.try_out(somebody, made.id),
    ]
    for call in calls:
        with pytest.raises(Denied):
            call()
    assert [one.id for one in service.list(ADMIN)] == ["email", made.id]
    assert house.hook.asked == []


def test_endpoints_are_those_of_the_own_partition(house: House) -> None:
    made, theirs, service = house.make(), house.make(OTHER), house.service
    assert [one.id for one in service.list(OTHER)] == ["email", theirs.id]
    calls: list[Callable[[], object]] = [
        lambda: service.get(OTHER, made.id),
        lambda: house.update(made, OTHER),
        lambda: service.delete(OTHER, made.id),
        lambda: service.try_out(OTHER, made.id),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()
    assert service.get(ADMIN, made.id) == made
    assert house.sent(theirs.id, OTHER).endpoint.tenant_id == "acme"


def test_a_name_is_there_once_in_a_partition(house: House) -> None:
    first, second = house.make(), house.make(name="second")
    with pytest.raises(Conflict, match="taken"):
        house.make()
    with pytest.raises(Conflict, match="taken"):
        house.update(second, name="ERP")
    assert {one.name for one in house.service.list(ADMIN)} == {"E-mail", "ERP", "second"}
    assert house.service.get(ADMIN, first.id) == first


def test_everything_that_is_wrong_is_told_at_once_with_its_place(house: House) -> None:
    house.hook.problems = [Problem(path="address", key="channel.address_missing")]
    with pytest.raises(InputInvalid) as found:
        house.make(name=" ", address="x" * 2_001, secret="x" * 501, topics=["workflow.no.such", "workflow.*.x"])
    assert [(one.path, one.key) for one in found.value.problems] == [
        ("name", "services.endpoint.name"),
        ("address", "workflow.input.too_long"),
        ("secret", "workflow.input.too_long"),
        ("topics[0]", "services.endpoint.topic"),
        ("topics[1]", "services.endpoint.topic"),
        ("address", "channel.address_missing"),
    ]
    with pytest.raises(InputInvalid) as found:
        house.make(name="x" * 101, topics=[f"workflow.custom{number}" for number in range(51)])
    assert [one.path for one in found.value.problems] == ["name", "topics", "address"]
    assert [one.id for one in house.service.list(ADMIN)] == ["email"]


@pytest.mark.parametrize("kind", [ChannelKind.EMAIL, ChannelKind.SLACK])
def test_only_a_kind_with_a_channel_of_its_own_can_be_made(house: House, kind: ChannelKind) -> None:
    with pytest.raises(InputInvalid) as found:
        house.make(kind=kind)
    assert [one.path for one in found.value.problems] == ["kind"]


def test_a_change_keeps_the_secret_unless_another_or_none_is_given(house: House) -> None:
    made = house.make()
    kept = house.update(made, address=made.address, name="New")
    assert (kept.revision, kept.name, kept.secret, kept.address) == (2, "New", "***", made.address)
    message = house.sent(made.id)
    assert (message.endpoint.secret, message.endpoint.address) == (SECRET, ADDRESS)
    house.update(kept, secret="another secret of theirs", address="https://new.example.org/")
    message = house.sent(made.id)
    assert (message.endpoint.secret, message.endpoint.address) == (
        "another secret of theirs",
        "https://new.example.org/",
    )
    bare = house.service.get(ADMIN, made.id)
    assert house.update(bare, secret="").secret is None
    assert house.sent(made.id).endpoint.secret is None


def test_who_read_an_older_revision_changes_nothing(house: House) -> None:
    made = house.make()
    house.update(made, name="New")
    for call in (lambda: house.update(made, name="Old"), lambda: house.service.delete(ADMIN, made.id, 1)):
        with pytest.raises(StaleRevision) as found:
            call()
        assert (found.value.details["revision"], found.value.details["updatedBy"]) == (2, "admin")
    assert house.service.get(ADMIN, made.id).name == "New"


def test_who_loses_a_race_is_told_and_overwrites_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    made = house.make()
    check = house.hook.check

    def meanwhile(endpoint: Endpoint) -> Any:
        monkeypatch.setattr(house.hook, "check", check)
        house.update(made, name="faster")
        return []

    monkeypatch.setattr(house.hook, "check", meanwhile)
    with pytest.raises(StaleRevision):
        house.update(made, name="slower")
    assert house.service.get(ADMIN, made.id).name == "faster"


def test_one_is_deleted_once(house: House) -> None:
    made = house.make()
    house.service.delete(ADMIN, made.id, 1)
    with pytest.raises(NotFound):
        house.service.delete(ADMIN, made.id)
    with pytest.raises(NotFound):
        house.service.get(ADMIN, made.id)


def test_the_built_in_one_is_shown_where_there_is_a_server_and_never_changed(house: House) -> None:
    (mail,) = house.service.list(ADMIN)
    assert (mail.id, mail.kind, mail.for_notices, house.service.get(ADMIN, "email")) == (
        "email", ChannelKind.EMAIL, True, mail,
    )  # fmt: skip
    with pytest.raises(Conflict, match="built_in"):
        house.update(mail)
    with pytest.raises(Conflict, match="built_in"):
        house.service.delete(ADMIN, "email")
    house.mail.ready = False
    assert house.service.list(ADMIN) == []
    with pytest.raises(NotFound):
        house.service.get(ADMIN, "email")


def test_each_change_is_in_the_trail_without_what_is_secret(house: House) -> None:
    made = house.make()
    house.update(made, name="New", secret="another secret of theirs")
    house.service.delete(ADMIN, made.id)
    entries = trail(house.house, None, "createEndpoint", "replaceEndpoint", "deleteEndpoint")
    assert [(one.action, one.actor_id, one.request_id) for one in entries] == [
        (action, "admin", "request-of-admin") for action in ("createEndpoint", "replaceEndpoint", "deleteEndpoint")
    ]
    created, replaced, deleted = entries
    assert (created.before, deleted.after) == (None, None)
    assert created.after == replaced.before
    assert replaced.after == deleted.before
    assert replaced.after is not None
    assert (replaced.after["name"], replaced.after["revision"], replaced.after["hasSecret"]) == ("New", 2, True)
    text = msgspec.json.encode(entries).decode()
    assert "secret nobody" not in text and "another secret" not in text and "t0ken" not in text


def test_a_test_message_is_an_event_for_programs_and_a_notice_for_people(house: House) -> None:
    program, people = house.make(for_notices=False), house.make(name="Team <b>", for_notices=True)
    message = house.sent(program.id)
    assert (message.topic, message.data, message.parts, message.address) == ("workflow.test", {"test": True}, (), None)
    message = house.sent(people.id)
    assert message.topic is None
    assert message.subject == message.parts[0].title == "Test message of Waypost"
    assert "Team <b>" in message.parts[0].body
    tried = house.service.try_out(ADMIN, people.id)
    assert (tried.receipt or "").startswith("receipt of ") and tried.duration_ms >= 0
    ids = [one.delivery_id for one in house.hook.taken]
    assert len(set(ids)) == 3, "a test is no repeat of another"


def test_a_test_of_e_mail_goes_to_who_asks_and_nobody_else(house: House) -> None:
    ada = house.house.account("ada", ADMINISTRATOR, email="ada@example.org")
    house.service.try_out(ada, "email")
    assert [one.address for one in house.mail.taken] == ["ada@example.org"]
    bob = house.house.account("bob", ADMINISTRATOR)
    with pytest.raises(Conflict, match="no_own_address"):
        house.service.try_out(bob, "email")


def test_what_the_other_side_said_is_told(house: House) -> None:
    made = house.make()
    house.hook.answer = failing("HTTP 418")
    with pytest.raises(Unavailable) as found:
        house.service.try_out(ADMIN, made.id)
    assert found.value.details == {"reason": "HTTP 418"}

    def late(message: OutgoingMessage) -> str | None:
        raise OperationCancelled("late")

    house.hook.answer = late
    with pytest.raises(Unavailable) as found:
        house.service.try_out(ADMIN, made.id)
    assert "deliveries.reason" not in str(found.value.details["reason"])
    house.hook.ready = False
    with pytest.raises(Conflict, match="channel_not_ready"):
        house.service.try_out(ADMIN, made.id)


def test_nobody_waits_for_a_test_longer_than_an_attempt_may_take(stores: StoreSet) -> None:
    house = House(stores, hook=HangingChannel())
    made = house.make()
    with pytest.raises(Unavailable) as found:
        house.service.try_out(ADMIN, made.id)
    assert found.value.details == {"reason": "nobody answered"}


def test_who_is_told_of_events_is_known_at_once_in_the_same_process(house: House) -> None:
    """A command after the change goes by it, though a copy may be some seconds old otherwise."""
    installation: Installation = house.house
    copy = installation.services.sending.attempts._endpoints
    made = house.make()
    copy.refresh()
    assert copy.wants(None, "workflow.task.created") and not copy.wants("acme", "workflow.task.created")
    changed = house.update(made, enabled=False)
    copy.refresh()
    assert not copy.wants(None, "workflow.task.created")
    house.update(changed, enabled=True, topics=["workflow.custom"])
    copy.refresh()
    assert copy.wants(None, "workflow.custom") and not copy.wants(None, "workflow.task.created")
    house.service.delete(ADMIN, made.id)
    copy.refresh()
    assert not copy.wants(None, "workflow.custom")


def test_a_store_that_cannot_answer_is_told_as_that(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> Any:
        raise StoreFailure("gone", transient=False)

    made = house.make()
    store = house.stores.notice_settings
    for name in ("endpoints", "endpoint", "insert_endpoint"):
        monkeypatch.setattr(store, name, gone, raising=True)
    calls: list[Callable[[], object]] = [
        lambda: house.service.list(ADMIN),
        lambda: house.service.get(ADMIN, made.id),
        lambda: house.make(name="other"),
    ]
    for call in calls:
        with pytest.raises(Unavailable):
            call()
