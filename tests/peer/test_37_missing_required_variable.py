"""Scenario 37: a start without a required variable is refused, with the variable's path; null counts as supplied."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, variable
from webapp.engine.errors import VALIDATION_INPUT, InputInvalid

DOCUMENT = flow("needs", [START, END], variables=[variable("amount", required=True)])


def test_missing_required_variable(house: Installation) -> None:
    house.publish(DOCUMENT)

    with pytest.raises(InputInvalid) as refused:
        house.start("needs")

    assert refused.value.code == VALIDATION_INPUT
    assert [problem.path for problem in refused.value.problems] == ["variables.amount"]
    assert house.services.instances.query(ADMIN).total == 0


def test_null_counts_as_supplied(house: Installation) -> None:
    house.publish(DOCUMENT)
    assert house.start("needs", {"amount": None}).variables["amount"] is None
