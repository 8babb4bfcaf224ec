"""Deliveries over REST: what went out, attempt by attempt, and what is done where it did not (spec 10, 11)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.told import attempted, owe
from tests.support.web import Caller, Site, make_site
from webapp.engine.notifications.model import Delivery, DeliveryContent, DeliveryState
from webapp.services.delivery_reasons import NO_ANSWER

PATH = "/deliveries"
GONE = "no-such-delivery"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_site(tmp_path)
    for name, role in (("ada", "administrator"), ("dan", "designer"), ("emma", "user"), ("olga", "operator")):
        made.account(name, role)
    made.account("eve", "administrator", tenant_id="acme")
    return made


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.caller("ada")


def ended(site: Site, title: str, state: DeliveryState, error: str | None = None, **more: Any) -> Delivery:
    """Store a delivery whose only attempt ended so."""
    made = owe(site, title, **more)
    attempted(site, made, error, state=state)
    return made


def test_one_is_shown_with_its_attempts_and_without_a_whole_address(site: Site, admin: Caller) -> None:
    made = ended(
        site, "Approve", DeliveryState.DEAD, "HTTP 500",
        address="anna@example.org", recipient_id="anna", notice_id="n1", instance_id="i1",
    )  # fmt: skip
    found = admin.get(f"{PATH}/{made.id}").expect(200)
    now = found["delivery"]["createdAt"]
    assert found == {
        "delivery": {
            "id": made.id, "status": "dead", "kind": "webhook", "endpointId": "hook", "noticeId": "n1",
            "recipientId": "anna", "topic": None, "instanceId": "i1", "address": "a***@example.org",
            "title": "Approve", "attempts": 1, "nextAttemptAt": now, "receipt": None, "lastError": "HTTP 500",
            "createdAt": now, "endedAt": now,
        },
        "body": "Body of Approve",
        "data": None,
        "attempts": [{"number": 1, "startedAt": now, "durationMs": 1250, "outcome": "failed", "error": "HTTP 500"}],
    }  # fmt: skip
    admin.get(f"{PATH}/{GONE}").refused(404, "REQUEST_NOTFOUND_001")


def test_an_event_shows_its_data(site: Site, admin: Caller) -> None:
    made = owe(site, "", topic="workflow.custom", recipient_id=None, content=DeliveryContent(data={"n": 1}))
    assert admin.get(f"{PATH}/{made.id}").expect(200)["data"] == {"n": 1}


def test_a_reason_of_the_house_is_told_in_the_callers_language(site: Site, admin: Caller) -> None:
    made = ended(site, "one", DeliveryState.DEAD, NO_ANSWER)
    told = {}
    for language in ("en", "zh"):
        found = admin.get(f"{PATH}/{made.id}", Accept_Language=language).expect(200)
        assert found["delivery"]["lastError"] == found["attempts"][0]["error"]
        told[language] = found["attempts"][0]["error"]
    assert told["en"] != told["zh"]
    assert not any(text.startswith("deliveries.") for text in told.values())


def test_they_are_listed_newest_first_by_filter_and_window(site: Site, admin: Caller) -> None:
    ended(site, "dead", DeliveryState.DEAD, "HTTP 500", instance_id="i1")
    site.clock.advance(1)
    ended(site, "sent", DeliveryState.SENT, endpoint="other", recipient_id="bob")
    site.clock.advance(1)
    owe(site, "waits", topic="workflow.custom", recipient_id=None)

    def titles(query: str) -> list[str]:
        return [one["title"] for one in admin.get(f"{PATH}?{query}").expect(200)["items"]]

    assert titles("") == ["waits", "sent", "dead"]
    assert titles("status=dead") == ["dead"]
    assert titles("status=dead&status=sent") == ["sent", "dead"]
    assert titles("endpointId=other") == titles("recipientId=bob") == ["sent"]
    assert titles("instanceId=i1") == ["dead"]
    assert titles("topic=workflow.custom") == ["waits"]
    page = admin.get(f"{PATH}?offset=1&limit=1").expect(200)
    assert ([one["title"] for one in page["items"]], page["total"]) == (["sent"], 3)
    for query, path in (
        ("status=lost", "status"),
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("colour=red", "colour"),
    ):
        assert path in str(admin.get(f"{PATH}?{query}").expect(400)["errors"])


def test_states_are_counted_and_what_was_sent_for_a_day_only(site: Site, admin: Caller) -> None:
    ended(site, "sent", DeliveryState.SENT)
    ended(site, "dead", DeliveryState.DEAD, "HTTP 500")
    owe(site, "waits", next_attempt_at=site.clock.now() + timedelta(days=9))
    none = {"pending": 1, "sending": 0, "sent": 1, "failed": 0, "dead": 1, "dropped": 0}
    assert admin.get(f"{PATH}/counts").expect(200) == none
    site.clock.advance(24 * 3600 + 1)
    assert admin.get(f"{PATH}/counts").expect(200) == {**none, "sent": 0}


def test_retry_drop_and_replay_change_what_is_in_the_state_for_it(site: Site, admin: Caller) -> None:
    dead = ended(site, "dead", DeliveryState.DEAD, "HTTP 500").id
    sent = ended(site, "sent", DeliveryState.SENT).id
    ids = {"ids": [dead, sent, GONE]}

    def statuses() -> list[str]:
        return [admin.get(f"{PATH}/{one}").expect(200)["delivery"]["status"] for one in (dead, sent)]

    assert admin.post(f"{PATH}/drop", ids).expect(200) == {"changed": 1}
    assert statuses() == ["dropped", "sent"]
    assert admin.post(f"{PATH}/retry", ids).expect(200) == {"changed": 1}
    assert statuses() == ["pending", "sent"]
    assert admin.post(f"{PATH}/replay", ids).expect(200) == {"changed": 1}
    assert statuses() == ["pending", "pending"]


def test_one_is_retried_by_its_own_address(site: Site, admin: Caller) -> None:
    dead = ended(site, "dead", DeliveryState.DEAD, "HTTP 500").id
    assert admin.post(f"{PATH}/{dead}/retry").expect(200) == {"changed": 1}
    assert admin.post(f"{PATH}/{dead}/retry").expect(200) == {"changed": 0}
    admin.post(f"{PATH}/{GONE}/retry").refused(404, "REQUEST_NOTFOUND_001")


def test_an_answer_is_given_once_for_a_key_and_the_sender_is_woken_after_the_commit(site: Site) -> None:
    dead = ended(site, "dead", DeliveryState.DEAD, "HTTP 500").id
    scopes = site.services.deliveries._storage.scopes
    committed: list[bool] = []
    site.services.sending.on_due_now(lambda: committed.append(scopes.current is None))
    caller = site.caller("ada", **{"Idempotency-Key": "k1"})
    for _ in range(2):
        assert caller.post(f"{PATH}/retry", {"ids": [dead]}).expect(200) == {"changed": 1}
    assert committed == [True]


@pytest.mark.parametrize("body", [{}, {"ids": []}, {"ids": "x"}, {"ids": [1]}, {"ids": ["x"] * 1001, "more": 1}])
@pytest.mark.parametrize("action", ["retry", "drop", "replay"])
def test_a_choice_that_is_none_is_refused(admin: Caller, action: str, body: dict[str, Any]) -> None:
    assert admin.post(f"{PATH}/{action}", body).status == 400
    many = {"ids": [str(number) for number in range(1_001)]}
    refused = admin.post(f"{PATH}/{action}", many).refused(400, "WORKFLOW_VALIDATION_002")
    assert refused["errors"][0]["path"] == "ids"


@pytest.mark.parametrize("name", ["dan", "emma", "olga"])
def test_only_administrators_see_or_change_them(site: Site, admin: Caller, name: str) -> None:
    dead, caller = ended(site, "dead", DeliveryState.DEAD, "HTTP 500").id, site.caller(name)
    for answer in (
        *(caller.get(PATH + path) for path in ("", "/counts", f"/{dead}")), caller.post(f"{PATH}/{dead}/retry"),
        *(caller.post(f"{PATH}/{action}", {"ids": [dead]}) for action in ("retry", "drop", "replay")),
    ):  # fmt: skip
        answer.refused(403, "ACCESS_DENIED_001")
    assert admin.get(f"{PATH}/{dead}").expect(200)["delivery"]["status"] == "dead"


def test_another_tenants_deliveries_are_not_there(site: Site, admin: Caller) -> None:
    dead, eve = ended(site, "dead", DeliveryState.DEAD, "HTTP 500").id, site.caller("eve")
    eve.get(f"{PATH}/{dead}").refused(404, "REQUEST_NOTFOUND_001")
    eve.post(f"{PATH}/{dead}/retry").refused(404, "REQUEST_NOTFOUND_001")
    assert eve.get(PATH).expect(200)["total"] == 0
    assert set(eve.get(f"{PATH}/counts").expect(200).values()) == {0}
    for action in ("retry", "drop", "replay"):
        assert eve.post(f"{PATH}/{action}", {"ids": [dead]}).expect(200) == {"changed": 0}
    assert admin.get(f"{PATH}/{dead}").expect(200)["delivery"]["status"] == "dead"


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/counts"), ("GET", "/x"), ("POST", "/x/retry"),
     ("POST", "/retry"), ("POST", "/drop"), ("POST", "/replay")],
)  # fmt: skip
def test_nobody_calls_without_credentials(site: Site, method: str, path: str) -> None:
    assert site.anybody().send(method, PATH + path, headers={}).status == 401
