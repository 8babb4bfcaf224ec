"""Scenario 53: a templated address, a JSON answer, an error status that faults, and one that is taken."""

from __future__ import annotations

from tests.support.engine import Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.http_client import FakeHttp, json_response
from tests.support.stores import StoreSet
from webapp.engine.builtin.http import HttpActivity
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.numbers import JsonObject


def call(stores: StoreSet, client: FakeHttp, properties: JsonObject) -> WorkflowInstance:
    house: Installation = install(stores, activities=[HttpActivity(client)])
    it = node("call", "Http", {"Url": "https://stub.local/orders/{{ id }}", "ResultVariable": "order", **properties})
    house.publish(flow("call", [START, it, END]))
    return house.instance(house.start("call", {"id": 7}).id)


def test_json_is_parsed(stores: StoreSet) -> None:
    client = FakeHttp(json_response('{"total": 42}'))
    instance = call(stores, client, {})
    assert instance.status is InstanceStatus.COMPLETED
    assert client.requests[0].url == "https://stub.local/orders/7"
    assert (instance.variables["httpStatusCode"], instance.variables["order"]["total"]) == (200, 42)


def test_an_error_status_faults(stores: StoreSet) -> None:
    instance = call(stores, FakeHttp(json_response("broken", 500, "Internal Server Error")), {})
    assert instance.status is InstanceStatus.FAULTED
    assert instance.fault is not None
    assert instance.fault.args == {"status": 500, "reason": "Internal Server Error", "body": "broken"}


def test_an_error_status_may_be_taken(stores: StoreSet) -> None:
    instance = call(stores, FakeHttp(json_response("{}", 500)), {"FailOnErrorStatus": False})
    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["httpStatusCode"] == 500
