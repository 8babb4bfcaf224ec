"""Scenario 4: a draft can be deleted, a published definition cannot."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow
from webapp.engine.errors import CONFLICT_DEFINITION, NOTFOUND_DEFINITION, Conflict, NotFound

DOCUMENT = flow("deletable", [START, END])


def test_only_drafts_deletable(house: Installation) -> None:
    catalog = house.services.catalog
    draft = catalog.create(ADMIN, DOCUMENT)
    catalog.delete(ADMIN, draft.id)
    with pytest.raises(NotFound) as gone:
        catalog.get(ADMIN, draft.id)
    assert gone.value.code == NOTFOUND_DEFINITION

    published = house.publish(DOCUMENT)
    with pytest.raises(Conflict) as refused:
        catalog.delete(ADMIN, published.id)
    assert refused.value.code == CONFLICT_DEFINITION
    assert catalog.get(ADMIN, published.id).id == published.id
