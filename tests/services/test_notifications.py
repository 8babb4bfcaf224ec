"""Notices are rows of the command's own transaction, written once for everybody whom it concerns (spec 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.services.notified import APPROVAL, begin, emma, notices, staffed, template, told
from tests.services.stores_that_fail import FailingStores, busy, gone
from tests.support.engine import actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.errors import Unavailable, Unexpected
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.notifications.model import (
    EventType,
    NoticeType,
    Severity,
)

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
