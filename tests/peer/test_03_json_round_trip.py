"""Scenario 3: a definition survives export, import and the store; malformed JSON is a controlled error."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node, variable
from webapp.engine.errors import VALIDATION_INPUT, InputInvalid
from webapp.engine.json_input import read_json
from webapp.engine.numbers import encode

DOCUMENT = flow(
    "round-trip",
    [START, node("set", "SetVariable", {"Values": {"outer": {"inner": 5, "exact": 7}}}), END],
    variables=[variable("amount", type="number", required=True)],
)


def test_json_round_trip(house: Installation) -> None:
    draft = house.services.catalog.create(ADMIN, DOCUMENT)
    text = encode(house.services.catalog.export(ADMIN, draft.id))

    again = house.services.catalog.import_document(ADMIN, read_json(text))
    stored = house.services.catalog.get(ADMIN, again.id)

    assert (stored.name, stored.version) == ("round-trip", 2)
    assert (len(stored.nodes), len(stored.transitions)) == (3, 2)
    assert (stored.variables[0].name, stored.variables[0].required) == ("amount", True)
    inner = stored.nodes[1].properties["Values"]["outer"]["inner"]
    assert inner == 5
    assert type(inner) is int


def test_malformed_json_is_a_controlled_error(house: Installation) -> None:
    with pytest.raises(InputInvalid) as refused:
        house.services.catalog.import_document(ADMIN, read_json("{ not json"))
    assert refused.value.code == VALIDATION_INPUT


def test_null_is_a_controlled_error(house: Installation) -> None:
    with pytest.raises(InputInvalid):
        house.services.catalog.import_document(ADMIN, read_json("null"))
