"""The built-in texts of notices: there for every event, in both languages, and made of its own names."""

from __future__ import annotations

import pytest

from webapp.engine.notifications.model import EventType
from webapp.engine.notifications.templates import MAX_BODY, MAX_TITLE, NAMES, render_notice, unknown_names
from webapp.messages.catalog import LANGUAGES
from webapp.services.notice_texts import built_in_texts

TEXTS = built_in_texts()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("event_type", NAMES)
def test_every_event_has_a_text_of_its_own_names(event_type: EventType, language: str) -> None:
    text = TEXTS.text(event_type, language)
    assert unknown_names(event_type, text.title + text.body) == []
    assert len(text.title) <= MAX_TITLE
    assert len(text.body) <= MAX_BODY
    values = {name: f"<{name}>" for name in NAMES[event_type]}
    made = render_notice(event_type, {}, None, language, "en", values, text)
    assert "{" not in made.title + made.body
    assert "<title>" in made.title or "<instanceTitle>" in made.title
    assert "<definition>" in made.body


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("event_type", NAMES)
def test_without_values_a_text_still_says_what_happened(event_type: EventType, language: str) -> None:
    made = render_notice(event_type, {}, None, language, "en", {}, TEXTS.text(event_type, language))
    assert made.title
    assert made.body == ""


def test_the_texts_are_those_of_the_languages() -> None:
    assert TEXTS.text(EventType.TASK_CREATED, "zh").title == "您有新的审批任务：{title}"
    assert TEXTS.text(EventType.TASK_CREATED, "en").title == "New approval task: {title}"
    assert TEXTS.text(EventType.TASK_CREATED, "fr") == TEXTS.text(EventType.TASK_CREATED, "en")
