"""The catalog: rights, life cycle, stale drafts, numbers of versions, lists, portable documents (spec 2, 25)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.services.stores_that_fail import FailingStores, busy
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.permissions import DESIGNER, OPERATOR, USER, WORKER
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.errors import (
    CONFLICT_DEFINITION,
    DENIED_PERMISSION,
    STALE,
    VALIDATION_EXPRESSION,
    Conflict,
    DefinitionInvalid,
    Denied,
    InputInvalid,
    NotFound,
    StaleRevision,
    WorkflowError,
)
from webapp.engine.ports.stores import DuplicateRecord
from webapp.services.catalog import CREATE_ATTEMPTS
from webapp.services.queries import DefinitionQuery, Paging, Sort

DOCUMENT = flow("order", [START, END])
READ, WRITE, PUBLISH = "definitions:read", "definitions:write", "definitions:publish"


def _calls(house: Installation, definition_id: str) -> dict[str, tuple[str, Callable[[object], object]]]:
    catalog = house.services.catalog
    return {
        "create": (WRITE, lambda who: catalog.create(who, DOCUMENT)),
        "import": (WRITE, lambda who: catalog.import_document(who, DOCUMENT)),
        "update": (WRITE, lambda who: catalog.update(who, definition_id, DOCUMENT, 1)),
        "new_version": (WRITE, lambda who: catalog.new_version(who, id=definition_id)),
        "get": (READ, lambda who: catalog.get(who, definition_id)),
        "validate": (READ, lambda who: catalog.validate(who, definition_id)),
        "diff": (READ, lambda who: catalog.diff(who, definition_id, definition_id)),
        "export": (READ, lambda who: catalog.export(who, definition_id)),
        "history": (READ, lambda who: catalog.history(who, definition_id)),
        "delete": (WRITE, lambda who: catalog.delete(who, definition_id)),
        "publish": (PUBLISH, lambda who: catalog.publish(who, definition_id)),
        "archive": (PUBLISH, lambda who: catalog.archive(who, definition_id)),
    }


ALLOWED = {
    DESIGNER: {READ, WRITE, PUBLISH},
    OPERATOR: {READ},
    USER: set(),
    WORKER: set(),
}
CALLS = (
    "create", "import", "update", "new_version", "get", "validate", "diff", "export", "history", "delete", "publish",
    "archive",
)  # fmt: skip


@pytest.mark.parametrize("role", ALLOWED)
@pytest.mark.parametrize("name", CALLS)
def test_rights_by_role(house: Installation, role: str, name: str) -> None:
    draft = house.services.catalog.create(ADMIN, DOCUMENT)
    permission, call = _calls(house, draft.id)[name]
    if permission in ALLOWED[role]:
        call(actor("somebody", role))
        return
    with pytest.raises(Denied) as refused:
        call(actor("somebody", role))
    assert (refused.value.code, refused.value.params) == (DENIED_PERMISSION, {"permission": permission})
    assert house.services.catalog.get(ADMIN, draft.id) == draft


def test_a_stale_draft_is_refused_with_who_and_when(house: Installation) -> None:
    catalog = house.services.catalog
    draft = catalog.create(ADMIN, DOCUMENT)
    house.store_set.clock.advance(60)
    saved = catalog.update(actor("lena", DESIGNER), draft.id, {**DOCUMENT, "description": "hers"}, draft.revision)

    with pytest.raises(StaleRevision) as refused:
        catalog.update(ADMIN, draft.id, {**DOCUMENT, "description": "mine"}, draft.revision)

    assert refused.value.code == STALE
    assert refused.value.details == {
        "revision": saved.revision,
        "updatedBy": "lena",
        "updatedAt": house.store_set.clock.now(),
    }
    assert catalog.get(ADMIN, draft.id).description == "hers"
    for call in (catalog.publish, catalog.archive, catalog.delete):
        with pytest.raises(StaleRevision):
            call(ADMIN, draft.id, expected_revision=draft.revision)


def test_an_update_keeps_what_only_the_catalog_writes(house: Installation) -> None:
    catalog = house.services.catalog
    draft = catalog.create(ADMIN, DOCUMENT)
    house.store_set.clock.advance(5)
    forged = {**DOCUMENT, "name": "other", "version": 9, "status": "Published", "createdBy": "nobody"}

    saved = catalog.update(ADMIN, draft.id, forged, draft.revision)

    assert (saved.id, saved.name, saved.version, saved.status) == (draft.id, "order", 1, DefinitionStatus.DRAFT)
    assert (saved.created_at, saved.created_by) == (draft.created_at, "admin")
    assert (saved.revision, saved.updated_at) == (2, house.store_set.clock.now())


def test_concurrent_creates_get_successive_versions(house: Installation) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: house.services.catalog.create(ADMIN, DOCUMENT), range(8)))
    assert sorted(one.version for one in made) == list(range(1, 9))


@pytest.mark.parametrize("name", ["", "Order", "a b", "x" * 129, "-a", "a\n"])
def test_a_name_out_of_the_grammar_is_refused(house: Installation, name: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        house.services.catalog.create(ADMIN, {**DOCUMENT, "name": name})
    assert "name" in [problem.path for problem in refused.value.problems]
    assert house.services.catalog.query(ADMIN).total == 0


def test_an_update_without_a_display_name_takes_the_name_that_stays(house: Installation) -> None:
    draft = house.services.catalog.create(ADMIN, {"name": "order", "displayName": "Order"})
    saved = house.services.catalog.update(ADMIN, draft.id, {"name": "other"}, draft.revision)
    assert (saved.name, saved.display_name) == ("order", "order")


def test_a_blank_display_name_is_refused_and_a_missing_one_is_the_name(house: Installation) -> None:
    with pytest.raises(InputInvalid):
        house.services.catalog.create(ADMIN, {**DOCUMENT, "displayName": "  "})
    without = {name: value for name, value in DOCUMENT.items() if name != "displayName"}
    assert house.services.catalog.create(ADMIN, without).display_name == "order"


def test_publish_refuses_what_is_no_draft_and_keeps_the_note(house: Installation) -> None:
    catalog = house.services.catalog
    draft = catalog.create(ADMIN, DOCUMENT)
    published = catalog.publish(actor("lena", DESIGNER), draft.id, note="first release")
    assert (published.published_by, published.publish_note) == ("lena", "first release")
    for call in (catalog.publish, catalog.delete):
        with pytest.raises(Conflict) as refused:
            call(ADMIN, draft.id)
        assert refused.value.code == CONFLICT_DEFINITION


def test_disable_wants_published_and_archive_takes_any(house: Installation) -> None:
    catalog = house.services.catalog
    draft = catalog.create(ADMIN, DOCUMENT)
    with pytest.raises(Conflict):
        catalog.disable(ADMIN, draft.id)
    archived = catalog.archive(ADMIN, draft.id)
    assert archived.status is DefinitionStatus.ARCHIVED
    assert catalog.archive(ADMIN, draft.id) == archived


def test_a_new_version_copies_the_addressed_or_the_highest_one(house: Installation) -> None:
    catalog = house.services.catalog
    first = house.publish({**DOCUMENT, "description": "one"})
    house.publish({**DOCUMENT, "description": "two"})
    assert catalog.new_version(ADMIN, id=first.id).description == "one"
    third = catalog.new_version(ADMIN, name="order")
    assert (third.version, third.description, third.published_at) == (4, "one", None)
    with pytest.raises(NotFound):
        catalog.new_version(ADMIN, name="unknown")


def test_a_duplicate_has_a_name_of_its_own(house: Installation) -> None:
    source = house.publish(DOCUMENT)
    copy = house.services.catalog.duplicate(ADMIN, source.id)
    again = house.services.catalog.duplicate(ADMIN, source.id)
    assert [copy.name, again.name] == ["order-2", "order-3"]
    assert (copy.version, copy.status, copy.nodes) == (1, DefinitionStatus.DRAFT, source.nodes)


def test_who_may_only_start_sees_what_he_may_start(house: Installation) -> None:
    catalog = house.services.catalog
    house.publish({**DOCUMENT, "name": "for-all"})
    house.publish({**DOCUMENT, "name": "for-ann", "startableBy": ["ann"]})
    house.publish({**DOCUMENT, "name": "for-buyers", "startableBy": ["role:buyers"]})
    catalog.create(ADMIN, {**DOCUMENT, "name": "draft"})

    def names(*roles: str, name: str = "ann") -> list[str]:
        return [one.name for one in catalog.query(actor(name, *roles)).items]

    assert names() == ["for-all", "for-ann"]
    assert names(USER, "buyers", name="ben") == ["for-all", "for-buyers"]
    assert names(DESIGNER) == ["draft", "for-all", "for-ann", "for-buyers"]
    assert [one.name for one in catalog.startable(actor("ann"))] == ["for-all", "for-ann"]
    assert catalog.query(actor("ann"), DefinitionQuery(status=DefinitionStatus.DRAFT)).total == 0
    with pytest.raises(Denied):
        catalog.query(actor("worker", WORKER))


def test_the_start_catalogue_has_the_latest_published_version_of_each_name(house: Installation) -> None:
    house.publish({**DOCUMENT, "displayName": "Old title"})
    house.publish({**DOCUMENT, "displayName": "New title"})
    house.services.catalog.create(ADMIN, {**DOCUMENT, "displayName": "Draft"})
    (one,) = house.services.catalog.startable(actor("ann"))
    assert (one.display_name, one.version) == ("New title", 2)
    assert house.services.catalog.startable(actor("ann"), "old") == []


def test_an_older_version_is_not_offered_to_those_whom_the_latest_leaves_out(house: Installation) -> None:
    house.publish(DOCUMENT)
    house.publish({**DOCUMENT, "startableBy": ["ann"]})
    catalog = house.services.catalog
    assert [one.version for one in catalog.startable(actor("ann"))] == [2]
    assert catalog.startable(actor("ben")) == []


def test_the_start_form_is_for_those_who_may_start(house: Installation) -> None:
    house.publish({**DOCUMENT, "startableBy": ["ann"]})
    assert house.services.catalog.get_published(actor("ann"), "order").version == 1
    assert house.services.catalog.get_published(actor("dora", DESIGNER), "order").version == 1
    with pytest.raises(Denied):
        house.services.catalog.get_published(actor("ben"), "order")


def test_a_list_out_of_range_is_refused(house: Installation) -> None:
    for paging in (Paging(limit=0), Paging(sorts=(Sort("owner"),)), Paging(sorts=tuple([Sort("name")] * 7))):
        with pytest.raises(InputInvalid):
            house.services.catalog.query(ADMIN, DefinitionQuery(paging=paging))


def test_what_happened_to_a_definition_is_recorded(house: Installation) -> None:
    catalog = house.services.catalog
    draft = catalog.create(ADMIN, DOCUMENT)
    catalog.update(ADMIN, draft.id, DOCUMENT, draft.revision)
    catalog.publish(actor("lena", DESIGNER), draft.id, note="go")
    catalog.disable(ADMIN, draft.id)
    history = catalog.history(ADMIN, draft.id)
    assert [(one.action, one.actor_id) for one in history] == [
        ("create", "admin"), ("update", "admin"), ("publish", "lena"), ("disable", "admin"),
    ]  # fmt: skip
    assert history[2].comment == "go"
    assert (history[2].before, history[2].after) == (
        {"revision": 2, "status": "Draft"},
        {"revision": 3, "status": "Published"},
    )
    assert history[0].request_id == "request-of-admin"


def test_validating_a_document_changes_nothing_and_names_every_problem(house: Installation) -> None:
    draft = house.services.catalog.create(ADMIN, DOCUMENT)
    worse = flow("order", [START, node("x", "Nonsense")], [])
    problems = house.services.catalog.validate(ADMIN, draft.id, worse)
    assert {problem.path for problem in problems} >= {"nodes[1].activityType", "nodes[1]"}
    assert house.services.catalog.validate(ADMIN, draft.id) == []
    unreadable = house.services.catalog.validate(ADMIN, draft.id, {**DOCUMENT, "nodes": "none"})
    assert [problem.path for problem in unreadable] == ["nodes"]
    assert house.services.catalog.get(ADMIN, draft.id) == draft


def test_a_start_validates_what_was_published_long_ago(house: Installation) -> None:
    published = house.publish(flow("custom", [START, node("x", "TestFlaky"), END]))
    without = install(house.store_set)
    without.engine.registry._activities.pop("TestFlaky")
    with pytest.raises(DefinitionInvalid) as refused:
        without.start("custom")
    assert [problem.path for problem in refused.value.problems] == ["nodes[1].activityType"]
    assert house.services.instances.start(ADMIN, definition_id=published.id).created


def test_expressions_are_checked_and_evaluated(house: Installation) -> None:
    catalog = house.services.catalog
    assert catalog.check_expression("amount > 1", "condition", ["amount"]) == []
    (unknown,) = catalog.check_expression("1 + sum", "expression", ["amount"])
    assert (unknown.line, unknown.column) == (1, 5)
    assert catalog.evaluate_expression("a + 1", "expression", {"a": 2}) == 3
    assert catalog.evaluate_expression("a > 1", "condition", {"a": 2}) is True
    assert catalog.evaluate_expression("{{a}} items", "template", {"a": 2}) == "2 items"
    with pytest.raises(WorkflowError) as refused:
        catalog.evaluate_expression("a /", "expression", {"a": 2})
    assert refused.value.code == VALIDATION_EXPRESSION
    with pytest.raises(InputInvalid):
        catalog.check_expression("a", "script")


def test_descriptors_are_those_that_run(house: Installation) -> None:
    types = [one.type for one in house.services.catalog.descriptors()]
    assert {"Start", "End", "UserTask", "Http", "TestFlaky"} <= set(types)
    assert "Script" not in types


@pytest.mark.parametrize("lose", ["before", "after"])
def test_every_write_survives_a_busy_database(stores: StoreSet, lose: str) -> None:
    broken = FailingStores(stores.stores)
    catalog = install(replace(stores, stores=broken)).services.catalog

    def next_fails() -> None:
        getattr(broken, lose).append(busy())

    next_fails()
    draft = catalog.create(ADMIN, DOCUMENT)
    next_fails()
    saved = catalog.update(ADMIN, draft.id, DOCUMENT, draft.revision)
    assert (draft.version, saved.revision) == (1, 2)
    next_fails()
    assert catalog.publish(ADMIN, draft.id).status is DefinitionStatus.PUBLISHED
    second = catalog.new_version(ADMIN, name="order")
    next_fails()
    catalog.delete(ADMIN, second.id)
    assert [one.version for one in catalog.query(ADMIN).items] == [1]
    assert [one.action for one in catalog.history(ADMIN, draft.id)] == ["create", "update", "publish"]


def test_who_loses_every_race_for_a_number_is_told_so(stores: StoreSet) -> None:
    failing = FailingStores(stores.stores)
    house = install(replace(stores, stores=failing))
    failing.before = [DuplicateRecord("(order, 1)") for _ in range(CREATE_ATTEMPTS)]
    with pytest.raises(Conflict) as caught:
        house.services.catalog.create(ADMIN, DOCUMENT)
    assert (caught.value.code, caught.value.key) == (CONFLICT_DEFINITION, "services.definition.crowded")
    assert house.services.catalog.create(ADMIN, DOCUMENT).version == 1
