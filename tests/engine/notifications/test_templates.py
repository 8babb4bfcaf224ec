"""Texts of notices: what is filled in, what is not, and which text counts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.costs import at_most
from webapp.engine.notifications.model import EventType, NoticeTemplate
from webapp.engine.notifications.templates import (
    MAX_BODY,
    MAX_TITLE,
    NAMES,
    PassedOver,
    Rendered,
    Text,
    latest,
    render,
    render_notice,
    render_text,
    unknown_names,
)

CREATED = EventType.TASK_CREATED
BUILT_IN = Text("New: {title}", "Request: {instanceTitle}")
AT = datetime(2026, 11, 30, tzinfo=UTC)


def template(
    title: str = "own {title}",
    *,
    language: str = "en",
    business_type: str | None = None,
    version: int = 1,
    event_type: EventType = CREATED,
    enabled: bool = True,
    body: str = "",
) -> NoticeTemplate:
    return NoticeTemplate(
        id=f"{title}/{version}",
        event_type=event_type,
        business_type=business_type,
        language=language,
        version=version,
        title=title,
        body=body,
        enabled=enabled,
        created_at=AT,
    )


def told(*templates: NoticeTemplate, business_type: str | None = None, language: str = "zh", **names: Any) -> Rendered:
    return render_notice(
        CREATED, latest(templates), business_type, language, "en", {"title": "Check", **names}, BUILT_IN
    )


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{title}", "Trip"),
        ("您有新的审批任务：{title}", "您有新的审批任务：Trip"),
        ("{title}{title}", "TripTrip"),
        ("{title.__class__}", "{title.__class__}"),
        ("{title[0]}", "{title[0]}"),
        ("{title!r}", "{title!r}"),
        ("{title:>200}", "{title:>200}"),
        ("{title:{title}}", "{title:{title}}"),
        ("{0} {} {-1}", "{0} {} {-1}"),
        ("{{title}} {{ title }} {{{title}}}", "{{title}} {{ title }} {{{title}}}"),
        ("{{title} {title}}", "{{title} {title}}"),
        ("{ title }", "{ title }"),
        ("{Title} {secret}", "{Title} {secret}"),
        ("{outer{title}}", "{outer{title}}"),
        ("%(title)s $title ${title}", "%(title)s $title $Trip"),
        ("{title", "{title"),
        ("{ti\ntle}", "{ti\ntle}"),
        ("{__class__}", "{__class__}"),
    ],
)
def test_only_a_name_in_braces_is_replaced(text: str, filled: str) -> None:
    assert render(text, {"title": "Trip"}) == filled


def test_a_value_is_no_template() -> None:
    names = {"title": "{comment} {{comment}} {title}", "comment": "secret"}
    assert render("{title}", names) == "{comment} {{comment}} {title}"


def test_braces_of_a_value_and_of_the_text_make_no_name_together() -> None:
    assert render("{title}omment}", {"title": "{c", "comment": "secret"}) == "{comment}"


def test_a_missing_value_is_an_empty_text() -> None:
    assert render("a{comment}b", {"comment": None}) == "ab"


def test_only_names_of_the_event_type_are_filled_in() -> None:
    made = told(template("{title} {salary} {outcome}", language="zh"), salary="9000", outcome="approved")
    assert made.title == "Check {salary} {outcome}"


def test_a_line_of_the_body_without_any_value_is_left_out() -> None:
    body = "Due: {dueAt}\n\nBy {actor}, {comment}\nAlways\n{unknown}"
    names = {"dueAt": None, "actor": "ann", "comment": " "}
    assert render_text(Text("t", body), names).body == "By ann,  \nAlways\n{unknown}"


def test_a_title_is_one_line_and_no_longer_than_200() -> None:
    assert told(title="Trip\r\nto \u202eRome\u202c").title == "New: Trip to Rome"
    assert told(title="x" * 300).title == "New: " + "x" * (MAX_TITLE - 6) + "…"


def test_a_body_is_no_longer_than_4000() -> None:
    made = render_text(Text("t", "{comment}{comment}"), {"comment": "x" * 2_500})
    assert made.body == "x" * (MAX_BODY - 1) + "…"


def test_a_value_is_cut_where_it_stands() -> None:
    assert render("{a}|{b}", {"a": "x" * 9, "b": "y"}, 5) == "xxxx…"
    assert render("{a} and what follows it", {"a": "x" * 500}, 250) == "x" * 249 + "…"


@pytest.mark.parametrize("value", ["x" * 10_000_000, "{title}" * 1_500_000, "\n" * 10_000_000, " " * 10_000_000])
def test_ten_megabytes_cost_nothing(value: str) -> None:
    text = Text("{title}" * 28, "{title}\n" * 500)
    with at_most(0.5):
        made = render_text(text, {"title": value})
    assert len(made.title) <= MAX_TITLE
    assert len(made.body) <= MAX_BODY


@pytest.mark.parametrize("text", ["{" * 4_000, "{a" * 2_000, "{title}" * 570, "{{title}}" * 440, "}{" * 2_000])
def test_a_hostile_template_costs_nothing(text: str) -> None:
    with at_most(0.5):
        render_text(Text(text, text), {"title": "y" * 4_000})
        unknown_names(CREATED, text)


ALL = (
    template("zh, leave", language="zh", business_type="leave"),
    template("zh, all", language="zh"),
    template("en, leave", language="en", business_type="leave"),
    template("en, all", language="en"),
)


@pytest.mark.parametrize(
    ("there", "business_type", "language", "title", "spoken"),
    [
        (ALL, "leave", "zh", "zh, leave", "zh"),
        (ALL[1:], "leave", "zh", "zh, all", "zh"),
        (ALL[2:], "leave", "zh", "en, leave", "en"),
        (ALL[3:], "leave", "zh", "en, all", "en"),
        ((), "leave", "zh", "New: Check", "zh"),
        (ALL, "travel", "zh", "zh, all", "zh"),
        (ALL, None, "zh", "zh, all", "zh"),
        (ALL, "", "zh", "zh, all", "zh"),
        (ALL, "leave", "en", "en, leave", "en"),
        (ALL[:2], "leave", "en", "New: Check", "en"),
        (ALL, "travel", "fr", "en, all", "en"),
    ],
)
def test_the_most_specific_text_counts(
    there: tuple[NoticeTemplate, ...], business_type: str | None, language: str, title: str, spoken: str
) -> None:
    made = told(*there, business_type=business_type, language=language)
    assert (made.title, made.language) == (title, spoken)
    assert made.template_id == (None if title.startswith("New") else f"{title}/1")


def test_a_template_of_another_event_is_not_taken() -> None:
    assert told(template(language="zh", event_type=EventType.TASK_URGED)).title == "New: Check"


def test_the_highest_version_counts_and_is_told() -> None:
    made = told(*(template(f"v{n} {{title}}", language="zh", version=n) for n in (2, 10, 9)))
    assert (made.title, made.template_id, made.template_version) == ("v10 Check", "v10 {title}/10", 10)


def test_a_version_that_is_off_hands_over_and_is_no_failure() -> None:
    off = template("off", language="zh", version=2, enabled=False)
    made = told(template("old", language="zh"), off, template("en, all"))
    assert (made.title, made.passed_over) == ("en, all", ())


def test_a_template_with_a_blank_title_falls_back_and_is_told() -> None:
    made = told(template("{businessKey}", language="zh", body="b"), businessKey=None)
    assert made == Rendered("New: Check", "", None, None, "zh", (PassedOver("{businessKey}/1", 1, "blank title"),))


def test_a_template_that_cannot_be_rendered_falls_back_and_is_told() -> None:
    broken: Any = None
    made = told(template("broken", language="zh", body=broken), template("en, all"))
    assert (made.title, made.template_id) == ("en, all", "en, all/1")
    assert made.passed_over == (PassedOver("broken/1", 1, "AttributeError"),)


def test_without_templates_the_built_in_text_is_told_as_such() -> None:
    made = told(instanceTitle="Trip to Rome")
    assert made == Rendered("New: Check", "Request: Trip to Rome", None, None, "zh")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("{title} {dueAt}", []),
        ("{titel} {title} {titel}", ["{titel}"]),
        ("{title.__class__} {0} {{title}} { title }", ["{title.__class__}", "{0}", "{{title}}", "{ title }"]),
        ("｛title｝ 申请", ["｛title｝"]),
        ("{outcome}", ["{outcome}"]),
        ("no names } at { all\n}", []),
    ],
)
def test_what_will_stay_as_written_is_told(text: str, unknown: list[str]) -> None:
    assert unknown_names(CREATED, text) == unknown


def test_every_event_type_but_a_node_s_own_has_names() -> None:
    assert set(NAMES) == set(EventType) - {EventType.NODE_LISTENER}
    assert all("title" in names and len(set(names)) == len(names) for names in NAMES.values())
