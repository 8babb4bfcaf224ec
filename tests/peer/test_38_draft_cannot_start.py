"""Scenario 38: a draft cannot be started, not even by its id."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow
from webapp.engine.errors import CONFLICT_DEFINITION, NOTFOUND_DEFINITION, Conflict, NotFound


def test_draft_cannot_start_by_id(house: Installation) -> None:
    draft = house.services.catalog.create(ADMIN, flow("draft", [START, END]))
    with pytest.raises(Conflict) as refused:
        house.services.instances.start(ADMIN, definition_id=draft.id)
    assert refused.value.code == CONFLICT_DEFINITION


def test_a_name_without_a_published_version_is_not_found(house: Installation) -> None:
    house.services.catalog.create(ADMIN, flow("draft", [START, END]))
    with pytest.raises(NotFound) as refused:
        house.services.instances.start(ADMIN, name="draft")
    assert refused.value.code == NOTFOUND_DEFINITION
