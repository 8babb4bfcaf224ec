"""Signals over REST (spec 11, 3.17)."""

from __future__ import annotations

from tests.support.flows import END, START, flow, node
from tests.support.web import Caller, Site
from tests.web.api.flows import publish

WAIT = flow("wait", [START, node("wait", "WaitSignal", {"SignalName": "paid"}), END])


def begin(employee: Caller, correlation_id: str) -> str:
    started = employee.post("/instances", {"name": "wait", "correlationId": correlation_id}).expect(201)
    return str(started["id"])


def test_a_signal_resumes_those_of_its_correlation_id(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, WAIT)
    one, two = begin(employee, "ORDER-1"), begin(employee, "ORDER-2")
    answer = operator.post("/signals/paid", {"payload": {"amount": 88}, "correlationId": "ORDER-1"}).expect(200)
    assert answer == {"resumed": 1, "started": 0, "queued": 0, "kept": False}
    found = employee.get(f"/instances/{one}").expect(200)
    assert (found["status"], found["variables"]) == ("Completed", {"amount": 88})
    # Without a body it goes to everybody.
    assert operator.post("/signals/paid").expect(200)["resumed"] == 1
    assert employee.get(f"/instances/{two}").expect(200)["status"] == "Completed"


def test_a_signal_is_kept(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, WAIT)
    sent = {"correlationId": "C", "ttlSeconds": 60}
    assert operator.post("/signals/paid", sent).expect(200)["kept"] is True
    assert employee.get(f"/instances/{begin(employee, 'C')}").expect(200)["status"] == "Completed"


def test_a_signal_sent_again_with_its_key_acts_once(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, WAIT)
    begin(employee, "C")
    first = operator.post("/signals/paid", {}, Idempotency_Key="k1").expect(200)
    begin(employee, "C")
    assert operator.post("/signals/paid", {}, Idempotency_Key="k1").expect(200) == first
    assert first["resumed"] == 1
    assert operator.post("/signals/paid", {}, Idempotency_Key="k2").expect(200)["resumed"] == 1


def test_signals_need_a_right(site: Site, employee: Caller, operator: Caller) -> None:
    employee.post("/signals/paid").refused(403, "ACCESS_DENIED_001")
    site.caller("wes").post("/signals/paid").refused(403, "ACCESS_DENIED_001")
    refused = operator.post("/signals/paid", {"ttlSeconds": -1}).refused(400, "WORKFLOW_VALIDATION_002")
    assert [one["path"] for one in refused["errors"]] == ["ttlSeconds"]
