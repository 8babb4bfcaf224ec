"""Moving an instance to another step or version: first the dry run, then that, and what refuses keeps the words."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import Shown, actor_of, leave_request, make_office, start_leave, visit
from tests.support.web import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def shown(page: Shown) -> str:
    """Return the mark of what the page shows, which the confirmation sends back."""
    found = re.search(r'name="shown" value="([^"]*)"', page.html)
    assert found is not None, page.text
    return unescape(found.group(1))


def standing(site: Site, instance: str) -> list[str]:
    waits = site.services.instances.bookmarks(actor_of(site, "operator"), instance).items
    return [wait.node_id or "" for wait in waits]


def parallel(site: Site) -> str:
    """Start a workflow that asks manager and designer at once, and joins."""

    def ask(node_id: str, who: str) -> dict[str, Any]:
        rules = [{"type": "User", "values": [who]}]
        return {
            "id": node_id,
            "name": f"Ask {who}",
            "activityType": "UserTask",
            "properties": {"AssigneeRules": rules},
        }

    ways = [("start", "split"), ("split", "a"), ("split", "b"), ("a", "join"), ("b", "join"), ("join", "end")]
    document = {
        **leave_request(),
        "name": "parallel",
        "nodes": [
            {"id": "start", "activityType": "Start"},
            {"id": "split", "activityType": "Parallel"},
            ask("a", "manager"),
            ask("b", "designer"),
            {"id": "join", "name": "Both said", "activityType": "Join"},
            {"id": "end", "name": "Ended", "activityType": "End"},
        ],
        "transitions": [{"id": f"{a}-{b}", "sourceNodeId": a, "targetNodeId": b} for a, b in ways],
        "variables": [],
    }
    designer = actor_of(site, "designer")
    made = site.services.catalog.create(designer, document)
    site.services.catalog.publish(designer, made.id)
    return site.services.instances.start(actor_of(site, "employee"), name="parallel").instance.id


def test_a_jump_shows_what_it_takes_away_and_then_does_it(site: Site) -> None:
    instance = parallel(site)
    task = site.services.inbox.query(actor_of(site, "manager")).items[0].id
    site.services.inbox.complete(actor_of(site, "manager"), task, "approved")
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/jump"
    asked = visitor.get(path)
    assert "Ask designer (User task)" in asked.text and "Start (" not in asked.text
    plan = visitor.post(path, to="end", reason="Both said so by phone", step="plan")
    assert plan.status == 200
    assert "Canceled: Ask designer" in plan.text
    assert "1 open task leaves the inbox" in plan.text
    assert "Branches that had come together are forgotten at: Both said" in plan.text
    assert "The flow goes on at Ended." in plan.text
    assert standing(site, instance) == ["b"], "a dry run changes nothing"
    fields = {"to": "end", "reason": "Both said so by phone", "step": "do", "shown": shown(plan)}
    done = visitor.post(path, follow=True, **fields)
    assert "Moved" in done.text and "to Ended" in done.text and "Both said so by phone" in done.text
    assert "Completed" in done.text


def test_a_jump_that_was_not_looked_at_is_shown_first(site: Site) -> None:
    instance = parallel(site)
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/jump"
    plan = visitor.post(path, to="end", step="plan")
    changed_mind = visitor.post(path, to="a", step="do", shown=shown(plan))
    assert changed_mind.status == 200
    assert "Look again, then confirm." in changed_mind.text and "The flow goes on at Ask manager." in changed_mind.text
    task = site.services.inbox.query(actor_of(site, "manager")).items[0].id
    site.services.inbox.complete(actor_of(site, "manager"), task, "approved")
    moved_on = visitor.post(path, to="end", step="do", shown=shown(plan))
    assert "It has moved on since you looked" in moved_on.text
    assert standing(site, instance) == ["b"]


def test_only_one_branch_is_moved(site: Site) -> None:
    instance = parallel(site)
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/jump?to=join&from=b"
    assert '<option value="b" selected>' in visitor.get(path).html
    path = path.partition("?")[0]
    plan = visitor.post(path, to="join", **{"from": "b"}, step="plan")
    assert "Canceled: Ask designer" in plan.text and "Ask manager," not in plan.text
    visitor.post(path, to="join", **{"from": "b"}, step="do", shown=shown(plan))
    assert standing(site, instance) == ["a"]


def test_a_jump_from_where_nothing_waits_names_the_field_and_keeps_the_reason(site: Site) -> None:
    instance = start_leave(site)
    page = visit(site, "operator").post(f"/monitor/{instance}/jump", to="end", **{"from": "end"}, reason="Long words")
    assert page.status == 422
    assert "Nothing waits on the step end that could be moved." in page.text
    assert 'id="f-from-error"' in page.html and "Long words" in page.html


def test_a_jump_of_a_suspended_instance_is_refused_in_words(site: Site) -> None:
    instance = start_leave(site)
    site.services.operations.suspend(actor_of(site, "operator"), instance)
    page = visit(site, "operator").post(f"/monitor/{instance}/jump", to="end", reason="Long words", step="plan")
    assert page.status == 422
    assert "Only a running or faulted instance can be moved" in page.text and "Nothing changed." in page.text
    assert "Long words" in page.html


def republish(site: Site, **changes: Any) -> None:
    """Publish a second version of the leave request."""
    designer = actor_of(site, "designer")
    draft = site.services.catalog.new_version(designer, name="leave")
    changed = site.services.catalog.update(designer, draft.id, {**leave_request(), **changes}, draft.revision)
    site.services.catalog.publish(designer, changed.id)


def renamed() -> dict[str, Any]:
    """Return what changes when the manager's step gets another id."""
    document = leave_request()
    start, decide, end = document["nodes"]
    transitions = [{**document["transitions"][0], "targetNodeId": "boss"}]
    transitions.append({**document["transitions"][1], "sourceNodeId": "boss"})
    return {"nodes": [start, {**decide, "id": "boss", "name": "Boss decides"}, end], "transitions": transitions}


def test_without_another_version_the_page_says_what_to_do(site: Site) -> None:
    instance = start_leave(site)
    page = visit(site, "operator").get(f"/monitor/{instance}/migrate")
    assert "There is no other version" in page.text and "Publish a new version" in page.text


def test_what_maps_by_itself_needs_one_confirmation(site: Site) -> None:
    instance = start_leave(site)
    republish(site)
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/migrate"
    assert '<option value="2"' in visitor.get(path).html and '<option value="1"' not in visitor.get(path).html
    plan = visitor.post(path, version="2", step="plan")
    assert plan.status == 200
    assert "Stay as they are: Manager decides" in plan.text
    done = visitor.post(path, version="2", step="do", shown=shown(plan), reason="New form", follow=True)
    assert "Moved to version 2" in done.text and "from version 1 · to version 2" in done.text
    assert standing(site, instance) == ["decide"]


def test_what_does_not_map_gets_a_field_that_offers_steps_of_its_type(site: Site) -> None:
    instance = start_leave(site)
    republish(site, **renamed())
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/migrate"
    plan = visitor.post(path, version="2", reason="Long words", step="plan")
    assert plan.status == 422
    assert "the other version has no step decide. Map it to one that is there." in plan.text
    assert 'name="map.decide"' in plan.html and "Boss decides (User task)" in plan.text
    assert "Ended (End)" not in plan.text and "Long words" in plan.html
    assert 'name="shown"' not in plan.html, "nothing to confirm before everything maps"
    mapped = visitor.post(path, version="2", map__decide="boss", reason="Long words", step="plan")
    assert "Manager decides becomes Boss decides (User task)." in mapped.text
    done = visitor.post(
        path, version="2", map__decide="boss", reason="Long words", step="do", shown=shown(mapped), follow=True
    )
    assert "Moved to version 2" in done.text and "Long words" in done.text
    assert standing(site, instance) == ["boss"]


@pytest.mark.parametrize("action", ["jump", "migrate", "variables"])
def test_who_may_not_operate_gets_neither_form_nor_answer(site: Site, action: str) -> None:
    instance = start_leave(site)
    visitor = visit(site, "employee")
    assert visitor.get(f"/monitor/{instance}/{action}").status == 403
    assert visitor.post(f"/monitor/{instance}/{action}", to="end", version="2", name="days").status == 403
    assert visit(site, "operator").get(f"/monitor/none/{action}").status == 404


def test_a_version_that_is_no_number_is_refused_in_words(site: Site) -> None:
    instance = start_leave(site)
    republish(site)
    page = visit(site, "operator").post(f"/monitor/{instance}/migrate", version="two", reason="Long words")
    assert page.status == 422 and "Long words" in page.html
    missing = visit(site, "operator").post(f"/monitor/{instance}/migrate", version="9")
    assert missing.status == 422 and "leave 9" in missing.text


def value(site: Site, instance: str, name: str) -> Any:
    return site.services.instances.get(actor_of(site, "operator"), instance).variables.get(name)


def test_a_variable_is_edited_with_its_type_and_the_trail_says_so(site: Site) -> None:
    instance = start_leave(site, 3)
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/variables"
    form = visitor.get(f"{path}?name=days")
    assert "The workflow declares it as number." in form.text and ">3</textarea>" in form.html
    page = visitor.post(path, name="days", kind="number", value="4.50", was="3", reason="One more", follow=True)
    assert "days was changed" in page.text and "set: days" in page.text and "One more" in page.text
    assert str(value(site, instance, "days")) == "4.50"
    assert "You changed the data" in visitor.get(f"/monitor/{instance}").text


@pytest.mark.parametrize(
    ("kind", "typed", "expected"),
    [
        ("text", "3", "3"),
        ("yes", "", True),
        ("no", "whatever", False),
        ("none", "", None),
        ("json", '{"a": [1, "two"]}', {"a": [1, "two"]}),
        ("number", "1,234", 1234),
    ],
)
def test_a_variable_is_added_as_the_kind_that_was_chosen(site: Site, kind: str, typed: str, expected: Any) -> None:
    instance = start_leave(site)
    answer = visit(site, "operator").post(
        f"/monitor/{instance}/variables", name="extra", kind=kind, value=typed, was=""
    )
    assert answer.status == 303
    assert "extra" in site.services.instances.get(actor_of(site, "operator"), instance).variables
    assert value(site, instance, "extra") == expected


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"name": "days", "kind": "text", "value": "many", "was": "3"}, "value", "number"),
        ({"name": "days", "kind": "number", "value": "many", "was": "3"}, "value", "number"),
        ({"name": "extra", "kind": "json", "value": "{", "was": ""}, "value", "JSON"),
        ({"name": "__mine", "kind": "text", "value": "x", "was": ""}, "name", "is no name for a variable"),
        ({"name": "", "kind": "text", "value": "x", "was": ""}, "name", "is no name for a variable"),
    ],
)
def test_a_value_that_cannot_be_is_told_at_its_field(
    site: Site, fields: dict[str, str], field: str, words: str
) -> None:
    instance = start_leave(site)
    page = visit(site, "operator").post(f"/monitor/{instance}/variables", reason="Long words", **fields)
    assert page.status == 422
    assert f'id="f-{field}-error"' in page.html and words in page.text
    assert "Long words" in page.html and fields["value"] in page.html


def test_a_variable_that_changed_meanwhile_is_not_written_over_unseen(site: Site) -> None:
    instance = start_leave(site, 3)
    operator, path = actor_of(site, "operator"), f"/monitor/{instance}/variables"
    site.services.operations.update_variables(operator, instance, values={"days": 7})
    visitor = visit(site, "operator")
    page = visitor.post(path, name="days", kind="number", value="4", was="3")
    assert page.status == 422 and "it is 7 now" in page.text
    assert 'name="was" value="7"' in page.html, "saving again means it"
    assert visitor.post(path, name="days", kind="number", value="4", was="7").status == 303
    assert value(site, instance, "days") == 4


def test_a_variable_is_removed_unless_it_is_required(site: Site) -> None:
    instance = start_leave(site)
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/variables"
    assert 'value="remove"' in visitor.get(f"{path}?name=reason").html
    assert 'value="remove"' not in visitor.get(f"{path}?name=days").html
    page = visitor.post(path, name="reason", step="remove", was='"Rest"', follow=True)
    assert "reason was removed" in page.text and "removed: reason" in page.text
    assert value(site, instance, "reason") is None


def test_what_has_ended_is_not_edited(site: Site) -> None:
    instance = start_leave(site)
    site.services.instances.cancel(actor_of(site, "operator"), instance)
    visitor, path = visit(site, "operator"), f"/monitor/{instance}/variables"
    assert 'name="value"' not in visitor.get(f"{path}?name=days").html
    page = visitor.post(path, name="days", kind="number", value="4", was="3")
    assert page.status == 422 and "The instance has ended" in page.text
