"""The OpenAPI document tells what the API does: generated calls find no 5xx and no undocumented answer."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.examples import examples
from tests.support.notices import notice, tell
from tests.support.stores import StoreSet, memory_stores, on_databases
from tests.support.web import CATALOG, make_site
from tests.web.api.flows import APPROVAL, FAULTY, GREETING, publish, start
from webapp.web.api import ENDPOINTS, document

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]

schema = schemathesis.openapi.from_dict(document(CATALOG, "en"))
schema.config.phases.coverage.enabled = False


class World:
    """An application with something in it, and the ids of what is there."""

    def __init__(self, tmp_path: Path, stores: StoreSet | None = None) -> None:
        chosen = stores or memory_stores()
        self.site = make_site(tmp_path, chosen)
        for name, role in (("ada", "administrator"), ("manager", "user")):
            self.site.account(name, role)
        ada = self.site.caller("ada")
        self.headers = {**ada.headers, "X-Request-Id": "generated"}
        drafts = [ada.post("/definitions", flow).expect(201)["id"] for flow in (GREETING, APPROVAL)]
        published = [publish(ada, flow)["id"] for flow in (GREETING, APPROVAL, FAULTY)]
        begin, decide, end = APPROVAL["nodes"]
        own = {**decide, "properties": {**decide["properties"], "Assignees": ["ada"]}}
        published.append(publish(ada, {**APPROVAL, "name": "mine", "nodes": [begin, own, end]})["id"])
        instances = [start(ada, "mine", what=f"Chair {number}")["id"] for number in range(8)]
        instances.append(start(ada, "faulty")["id"])
        tasks = [task["id"] for task in ada.get("/tasks").expect(200)["items"]]
        notices = [notice("ada", task_id=task) for task in tasks]
        tell(chosen.stores, *notices)
        self.ids = {
            "definitions": [*drafts, *published],
            "instances": instances,
            "tasks": tasks,
            "notifications": [one.id for one in notices],
        }

    def real_ids(self, path: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Put an id that exists in the place of every other generated one, the same for the same example."""
        known = self.ids.get(path.split("/")[3], [])
        chosen = dict(parameters)
        for name, value in parameters.items():
            number = zlib.crc32(str(value).encode("utf-8", "surrogatepass"))
            if known and number % 4:
                chosen[name] = known[number % len(known)]
        return chosen

    def call(self, case: schemathesis.Case) -> None:
        """Send a generated call and compare the answer with the document."""
        case.path_parameters = self.real_ids(case.path, dict(case.path_parameters or {}))
        kwargs = case.as_transport_kwargs(base_url="http://localhost")
        response = self.site.app.test_client().open(
            case.formatted_path,
            method=case.method,
            query_string=kwargs.get("params"),
            headers={**dict(kwargs.get("headers") or {}), **self.headers},
            json=kwargs.get("json"),
            data=kwargs.get("data"),
        )
        case.validate_response(response, checks=CHECKS)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield World(tmp_path_factory.mktemp("openapi"))


@schema.parametrize()
@settings(max_examples=examples(8), suppress_health_check=list(HealthCheck))
def test_no_call_is_answered_otherwise_than_documented(case: schemathesis.Case, world: World) -> None:
    world.call(case)


@on_databases
def test_a_database_takes_whatever_the_document_allows(tmp_path: Path, stores: StoreSet) -> None:
    world = World(tmp_path, stores)
    for operation in schema.get_all_operations():

        @given(operation.ok().as_strategy())
        @settings(max_examples=examples(3), suppress_health_check=list(HealthCheck))
        def answers(case: schemathesis.Case) -> None:
            world.call(case)

        answers()


def test_every_call_of_the_issue_is_there() -> None:
    calls = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    assert calls == {
        ("POST", "/definitions"),
        ("GET", "/definitions"),
        ("POST", "/definitions/import"),
        ("GET", "/definitions/<id>"),
        ("PUT", "/definitions/<id>"),
        ("DELETE", "/definitions/<id>"),
        ("POST", "/definitions/<id>/validate"),
        ("POST", "/definitions/<id>/publish"),
        ("POST", "/definitions/<id>/disable"),
        ("POST", "/definitions/<id>/archive"),
        ("POST", "/definitions/<id>/versions"),
        ("GET", "/definitions/<id>/diff/<other_id>"),
        ("GET", "/definitions/<id>/export"),
        ("GET", "/activities"),
        ("POST", "/expressions/check"),
        ("POST", "/expressions/evaluate"),
        ("POST", "/instances"),
        ("GET", "/instances"),
        ("GET", "/instances/counts"),
        ("GET", "/instances/<id>"),
        ("GET", "/instances/<id>/nodes"),
        ("GET", "/instances/<id>/bookmarks"),
        ("GET", "/instances/<id>/history"),
        ("POST", "/instances/<id>/cancel"),
        ("POST", "/instances/<id>/retry"),
        ("POST", "/instances/<id>/suspend"),
        ("POST", "/instances/<id>/resume"),
        ("POST", "/instances/<id>/terminate"),
        ("POST", "/instances/<id>/jump"),
        ("POST", "/instances/<id>/migrate"),
        ("PATCH", "/instances/<id>/variables"),
        ("POST", "/instances/purge"),
        ("POST", "/instances/batch"),
        ("GET", "/batches"),
        ("GET", "/batches/<id>"),
        ("GET", "/batches/<id>/items"),
        ("POST", "/batches/<id>/pause"),
        ("GET", "/deliveries"),
        ("GET", "/deliveries/counts"),
        ("GET", "/deliveries/<id>"),
        ("POST", "/deliveries/<id>/retry"),
        ("POST", "/deliveries/retry"),
        ("POST", "/deliveries/drop"),
        ("POST", "/deliveries/replay"),
        ("GET", "/endpoints"),
        ("POST", "/endpoints"),
        ("GET", "/endpoints/<id>"),
        ("PUT", "/endpoints/<id>"),
        ("DELETE", "/endpoints/<id>"),
        ("POST", "/endpoints/<id>/try"),
        ("POST", "/batches/<id>/resume"),
        ("POST", "/batches/<id>/cancel"),
        ("GET", "/tasks"),
        ("GET", "/tasks/counts"),
        ("GET", "/tasks/done"),
        ("GET", "/tasks/<id>"),
        ("POST", "/tasks/<id>/complete"),
        ("POST", "/tasks/<id>/transfer"),
        ("POST", "/tasks/<id>/add"),
        ("POST", "/tasks/<id>/remove"),
        ("GET", "/tasks/<id>/return-targets"),
        ("POST", "/tasks/<id>/return"),
        ("POST", "/tasks/<id>/recall"),
        ("POST", "/instances/<id>/withdraw"),
        ("POST", "/external-tasks/fetch-and-lock"),
        ("POST", "/external-tasks/<id>/complete"),
        ("POST", "/external-tasks/<id>/fail"),
        ("POST", "/external-tasks/<id>/extend-lock"),
        ("POST", "/tasks/<id>/claim"),
        ("POST", "/tasks/<id>/release"),
        ("POST", "/tasks/<id>/delegate"),
        ("POST", "/tasks/<id>/urge"),
        ("POST", "/tasks/batch"),
        ("POST", "/tasks/<id>/undo"),
        ("GET", "/substitutions"),
        ("POST", "/substitutions"),
        ("DELETE", "/substitutions/<id>"),
        ("POST", "/signals/<name>"),
        ("POST", "/schedules/next"),
        ("GET", "/definitions/<id>/timer"),
        ("GET", "/definitions/<id>/firings"),
        ("GET", "/calendars"),
        ("POST", "/calendars"),
        ("GET", "/calendars/<name>"),
        ("PUT", "/calendars/<name>"),
        ("DELETE", "/calendars/<name>"),
        ("GET", "/notifications"),
        ("GET", "/notifications/count"),
        ("POST", "/notifications/<id>/read"),
        ("POST", "/notifications/read-all"),
        ("GET", "/notification-preferences"),
        ("PUT", "/notification-preferences"),
        ("GET", "/notification-templates"),
        ("POST", "/notification-templates"),
        ("GET", "/notification-templates/versions"),
        ("POST", "/notification-templates/preview"),
        ("GET", "/notification-templates/built-in"),
        ("GET", "/upkeep"),
        ("GET", "/me"),
    }


def test_the_document_is_served_without_credentials_and_shown_to_people(world: World) -> None:
    client = world.site.app.test_client()
    assert client.get("/api/v1/openapi.json").json["openapi"] == "3.1.0"
    page = client.get("/api/docs", headers={"Accept-Language": "zh"})
    assert page.status_code == 200
    for endpoint in ENDPOINTS:
        assert f'id="{endpoint.name}"' in page.text
        assert CATALOG.text(f"api.call.{endpoint.name}.text", {}, "zh") in page.text


def test_every_reference_of_the_document_leads_somewhere() -> None:
    whole = document(CATALOG, "zh")
    known = {f"#/components/schemas/{name}" for name in whole["components"]["schemas"]}
    known |= {f"#/components/headers/{name}" for name in whole["components"]["headers"]}

    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for member in value.values():
                yield from references(member)
        elif isinstance(value, list):
            for item in value:
                yield from references(item)

    assert set(references(whole)) <= known
