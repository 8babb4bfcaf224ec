"""The texts of notices that administrators write (spec 10 Templates, 11 Notifications)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal, get_args
from urllib.parse import urlencode

import msgspec

from webapp.engine.errors import InputInvalid, Problem
from webapp.engine.notifications.model import EventType, NoticeTemplate
from webapp.web.api.query import Window
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, ProblemItem, Shape, problem_shape
from webapp.web.wire import Instant, instant_text

section = Section("Notification templates")
PATH = "/api/v1/notification-templates"

_EVENTS = Literal[
    "TaskCreated", "TaskTransferred", "TaskAdded", "TaskReturned", "TaskUrged", "TaskReminder", "TaskOverdue",
    "TaskEscalated", "TaskCompleted", "DecisionFailed", "CarbonCopy", "InstanceCompleted", "InstanceRejected",
    "InstanceCanceled", "InstanceTerminated", "InstanceFaulted", "Mention",
]  # fmt: skip
_LANGUAGES = Literal["en", "zh"]


class SpokenLanguage(StrEnum):
    """A language that notices may be in."""

    ENGLISH = "en"
    CHINESE = "zh"


class VersionFilter(Window, frozen=True, kw_only=True):
    """Which text: ``eventType`` must be named; without ``language`` the caller's."""

    event_type: EventType | None = None
    business_type: str | None = None
    language: SpokenLanguage | None = None


class BuiltInFilter(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which event type, which must be named, and in which language."""

    event_type: EventType | None = None
    language: SpokenLanguage | None = None


class TextBody(Body, frozen=True, kw_only=True):
    """A text to try out: ``{name}`` is filled in, everything else stays."""

    event_type: _EVENTS
    language: _LANGUAGES
    title: str
    body: str = ""


class TemplateBody(TextBody, frozen=True, kw_only=True):
    """A new version; ``businessType`` is a category of workflows, without it the text is for all."""

    business_type: str | None = None
    enabled: bool = True


class TemplateItem(Shape, frozen=True, kw_only=True):
    """One version of a text."""

    id: str
    event_type: EventType
    business_type: str | None
    language: str
    version: int
    title: str
    body: str
    enabled: bool
    created_at: Instant
    created_by: str | None


class AddedTemplate(TemplateItem, frozen=True, kw_only=True):
    """What was added, and which of its braces are no names and stay as they are written."""

    warnings: list[ProblemItem]


class NameItem(Shape, frozen=True, kw_only=True):
    """A name that may stand in a text, in braces, with the value that a preview takes for it."""

    name: str
    sample: str


class PreviewShape(Shape, frozen=True, kw_only=True):
    """How a text comes out."""

    title: str
    body: str
    names: list[NameItem]
    warnings: list[ProblemItem]


class BuiltInShape(Shape, frozen=True, kw_only=True):
    """The text that is told where none was written."""

    event_type: EventType
    language: str
    title: str
    body: str
    names: list[NameItem]


@section.call("GET", "/notification-templates", query=Window, answers={200: ListOf[TemplateItem]})
def list_notification_templates(call: Call[None, Window]) -> Reply:
    """List the latest version of each text that was written here."""
    return _page(call.services.notice_templates.list(call.actor), call.query)


@section.call(
    "GET", "/notification-templates/versions", query=VersionFilter, answers={200: ListOf[TemplateItem]}
)  # fmt: skip
def list_notification_template_versions(call: Call[None, VersionFilter]) -> Reply:
    """List the versions of one text, the newest first; none: the built-in text is told."""
    wanted = call.query
    found = call.services.notice_templates.versions(
        call.actor, _event(wanted.event_type), wanted.business_type, wanted.language or call.lang
    )
    return _page(found, wanted)


@section.call(
    "POST", "/notification-templates", body=TemplateBody, answers={201: AddedTemplate}, refuses=(409, 412),
    if_match="optional", sends_revision=True, answers_once="after",
)  # fmt: skip
def create_notification_template(call: Call[TemplateBody, None]) -> Reply:
    """Add a version of a text; its number is the revision."""
    service, wanted = call.services.notice_templates, call.body
    made = service.add(
        call.actor,
        event_type=EventType(wanted.event_type),
        business_type=wanted.business_type,
        language=wanted.language,
        title=wanted.title,
        body=wanted.body,
        enabled=wanted.enabled,
        expected_version=call.expected_revision,
    )
    told = AddedTemplate(**_members(made), warnings=_warnings(call, EventType(wanted.event_type), wanted))
    return Reply(value=told, status=201, location=_location(made), revision=made.version)


@section.call(
    "POST", "/notification-templates/preview", body=TextBody, answers={200: PreviewShape}, answers_once="no"
)  # fmt: skip
def preview_notification_template(call: Call[TextBody, None]) -> Reply:
    """Return how a text comes out with sample values; nothing is kept."""
    wanted = call.body
    event = EventType(wanted.event_type)
    shown = call.services.notice_templates.preview(call.actor, event, wanted.language, wanted.title, wanted.body)
    return Reply(
        value=PreviewShape(
            title=shown.title,
            body=shown.body,
            names=_names(call, event, wanted.language),
            warnings=_warnings(call, event, wanted),
        )
    )


@section.call(
    "GET", "/notification-templates/built-in", query=BuiltInFilter, answers={200: BuiltInShape}
)  # fmt: skip
def get_built_in_notification_template(call: Call[None, BuiltInFilter]) -> Reply:
    """Return the text that is told where none was written, and the names that may stand in one."""
    event = _event(call.query.event_type)
    language = call.query.language or call.lang
    text = call.services.notice_templates.built_in(event, language)
    return Reply(
        value=BuiltInShape(
            event_type=event, language=language, title=text.title, body=text.body, names=_names(call, event, language)
        )
    )


def _event(event_type: EventType | None) -> EventType:
    """Return the event type that was asked for. :raises InputInvalid: none was, or one without templates."""
    known = list(get_args(_EVENTS))
    if event_type is None:
        raise InputInvalid("api.query.invalid", problems=[_choice("api.query.missing", known)])
    if event_type.value not in known:
        raise InputInvalid("api.query.invalid", problems=[_choice("api.query.choice", known, value=event_type.value)])
    return event_type


def _choice(key: str, known: Sequence[str], **params: str) -> Problem:
    return Problem(path="eventType", key=key, params={"known": known, **params})


def _page(found: Sequence[NoticeTemplate], window: Window) -> Reply:
    shown = found[window.offset : window.offset + window.limit]
    return Reply(value=ListOf(items=[TemplateItem(**_members(one)) for one in shown], total=len(found)))


def _members(template: NoticeTemplate) -> dict[str, Any]:
    return {
        "id": template.id,
        "event_type": template.event_type,
        "business_type": template.business_type,
        "language": template.language,
        "version": template.version,
        "title": template.title,
        "body": template.body,
        "enabled": template.enabled,
        "created_at": instant_text(template.created_at),
        "created_by": template.created_by,
    }


def _location(template: NoticeTemplate) -> str:
    query = {"eventType": template.event_type.value, "language": template.language}
    if template.business_type is not None:
        query["businessType"] = template.business_type
    return f"{PATH}/versions?{urlencode(query)}"


def _names(call: Call[Any, Any], event: EventType, language: str) -> list[NameItem]:
    samples = call.services.notice_templates.samples(event, language)
    return [NameItem(name=name, sample=sample or "") for name, sample in samples.items()]


def _warnings(call: Call[Any, Any], event: EventType, text: TextBody) -> list[ProblemItem]:
    found = call.services.notice_templates.warnings(event, text.title, text.body)
    return [problem_shape(problem, call.catalog, call.lang) for problem in found]
