"""Scenario 1: create, publish, refuse to update what is published, new version, disable falls back."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.errors import CONFLICT_DEFINITION, Conflict

DOCUMENT = flow("order", [START, END])


def test_lifecycle_and_versioning(house: Installation) -> None:
    catalog = house.services.catalog
    first = catalog.create(ADMIN, DOCUMENT)
    assert (first.version, first.status) == (1, DefinitionStatus.DRAFT)

    published = catalog.publish(ADMIN, first.id)
    assert published.status is DefinitionStatus.PUBLISHED
    assert published.published_at == house.store_set.clock.now()

    with pytest.raises(Conflict) as refused:
        catalog.update(ADMIN, first.id, DOCUMENT, published.revision)
    assert refused.value.code == CONFLICT_DEFINITION

    second = catalog.new_version(ADMIN, name="order")
    assert (second.version, second.status) == (2, DefinitionStatus.DRAFT)
    assert second.id != first.id

    catalog.publish(ADMIN, second.id)
    assert catalog.get_published(ADMIN, "order").version == 2
    assert catalog.get_published(ADMIN, "order", 1).version == 1

    assert catalog.disable(ADMIN, second.id).status is DefinitionStatus.DISABLED
    assert catalog.get_published(ADMIN, "order").version == 1
