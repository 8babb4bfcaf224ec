"""What the check of a definition says of the definitions that it starts (spec 2.4: 25; 4.13, 4.14, D25)."""

from __future__ import annotations

from tests.services.subflows import DOUBLE, parent
from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import Problem
from webapp.engine.numbers import JsonObject


def problems(house: Installation, document: JsonObject) -> list[Problem]:
    draft = house.services.catalog.create(ADMIN, document)
    return house.services.catalog.validate(ADMIN, draft.id)


def test_a_definition_that_nobody_published_is_a_warning_and_no_error(house: Installation) -> None:
    (found,) = problems(house, parent(DefinitionName="nowhere"))
    assert (found.severity, found.key, found.params) == (
        "warning",
        "workflow.definition.child.unknown",
        {"name": "nowhere"},
    )
    assert (found.path, found.node_id) == ("nodes[1].properties.DefinitionName", "sub")
    house.publish(parent(DefinitionName="nowhere"))


def test_a_version_that_is_not_published_is_a_warning(house: Installation) -> None:
    house.publish(DOUBLE)
    assert problems(house, parent(DefinitionName="double")) == []
    assert problems(house, parent(DefinitionName="double", DefinitionVersion=1)) == []
    (found,) = problems(house, parent(DefinitionName="double", DefinitionVersion=2))
    assert (found.key, found.params) == ("workflow.definition.child.version", {"name": "double", "version": 2})


def test_a_computed_name_and_the_definition_itself_say_nothing(house: Installation) -> None:
    assert problems(house, {**parent(DefinitionName="{{ which }}"), "variables": [_declared("which")]}) == []
    assert problems(house, parent(DefinitionName="parent")) == []


def test_a_document_under_edit_is_checked_as_well(house: Installation) -> None:
    draft = house.services.catalog.create(ADMIN, parent(DefinitionName="parent"))
    found = house.services.catalog.validate(ADMIN, draft.id, parent(DefinitionName="nowhere"))
    assert [one.key for one in found] == ["workflow.definition.child.unknown"]


def test_the_name_is_required_and_has_an_earlier_spelling(house: Installation) -> None:
    (found,) = problems(house, parent())
    assert (found.severity, found.key, found.params) == (
        "error",
        "workflow.property.required",
        {"name": "DefinitionName"},
    )
    house.publish(DOUBLE)
    for spelling in ("DefinitionCode", "definitionCode", "definitionName"):
        document = parent(**{spelling: "double"}, Variables={"item": 4}, ResultVariable="r")
        assert problems(house, document) == []
        house.publish(document)
        started = house.start("parent")
        assert house.instance(started.id).variables["r"] == {"item": 4, "doubled": 8}
    twice = problems(house, parent(DefinitionCode="double", DefinitionName="double"))
    assert [one.key for one in twice] == ["workflow.property.twice"]


def test_expressions_for_children_are_compiled_and_know_the_item(house: Installation) -> None:
    house.publish(DOUBLE)
    (broken,) = problems(house, parent(DefinitionName="double", VariableExpressions={"item": "1 +"}))
    assert (broken.severity, broken.path) == ("error", "nodes[1].properties.VariableExpressions.item")
    each = {"DefinitionName": "double", "ItemsExpression": "numbers"}
    document = flow(
        "each",
        [START, node("sub", "ForEach", {**each, "VariableExpressions": {"item": "number + index"}}), END],
        variables=[_declared("numbers")],
    )
    assert [(one.severity, one.params) for one in problems(house, document)] == [("warning", {"name": "number"})]
    named = {**each, "ItemVariableName": "number", "VariableExpressions": {"item": "number + index"}}
    assert problems(house, {**document, "nodes": [START, node("sub", "ForEach", named), END]}) == []


def _declared(name: str) -> JsonObject:
    return {"name": name, "required": True}
