"""``demo.greeting``: the example of the product's own description, by builder, import, services and REST."""

from __future__ import annotations

from pathlib import Path

from tests.flows.conftest import site_over
from tests.flows.scenarios import Driver
from tests.support.engine import ADMIN, install
from tests.support.stores import StoreSet
from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.codec import export_definition, write_definition
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject


def greeting() -> WorkflowDefinition:
    """Return the flow, built in Python."""
    return (
        DefinitionBuilder.create("demo.greeting")
        .add_variable("name", required=True)
        .add_start()
        .add_node("greet", "SetVariable", properties={"Expressions": {"greeting": "'hello ' + upper(name)"}})
        .add_end()
        .add_transition("start", "greet")
        .add_transition("greet", "end")
        .build()
    )


GREETED: JsonObject = {"name": "Zoë", "greeting": "hello ZOË"}


def test_greeting_from_its_portable_document(driver: Driver) -> None:
    instance_id = driver.start(driver.publish(export_definition(greeting())), {"name": "Zoë"}, None, "admin")
    found = driver.instance(instance_id)
    assert (found["status"], found["outcome"], found["variables"]) == ("Completed", None, GREETED)
    assert found["path"] == ["start", "greet", "end"]


def test_greeting_from_the_builder(stores: StoreSet) -> None:
    house = install(stores)
    published = house.publish(write_definition(greeting()))
    assert (published.name, published.display_name, published.version) == ("demo.greeting", "demo.greeting", 1)
    # No step waits, so the first wave reaches the end.
    instance = house.start("demo.greeting", {"name": "Zoë"})
    assert instance.status is InstanceStatus.COMPLETED
    assert house.instance(instance.id).variables == GREETED
    exported = house.services.catalog.export(ADMIN, published.id)
    assert exported == export_definition(greeting())


def test_greeting_created_over_rest(stores: StoreSet, tmp_path: Path) -> None:
    site = site_over(stores, tmp_path)
    site.account("admin", "administrator")
    admin = site.caller("admin")
    created = admin.post("/definitions", export_definition(greeting())).expect(201)
    admin.post(f"/definitions/{created['id']}/publish").expect(200)
    started = admin.post("/instances", {"definitionId": created["id"], "variables": {"name": "Zoë"}}).expect(201)
    assert (started["status"], started["variables"]) == ("Completed", GREETED)
