"""The texts of notices that administrators write: kept in versions, checked, tried out (spec 10, Templates)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import NOTIFICATIONS_ADMIN
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import CONFLICT_DEFINITION, Conflict, InputInvalid, Problem, StaleRevision
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.limits import MAX_TITLE as MAX_CATEGORY
from webapp.engine.instances.limits import blank_problems, length_problems
from webapp.engine.notifications.model import EventType, NoticeTemplate
from webapp.engine.notifications.templates import (
    MAX_BODY,
    MAX_TITLE,
    NAMES,
    Text,
    allowed_names,
    render_text,
    unknown_names,
)
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.notices import NoticeSettingsStore
from webapp.engine.ports.stores import DuplicateRecord
from webapp.messages.catalog import LANGUAGES
from webapp.services.access import require
from webapp.services.notice_texts import BuiltInTexts
from webapp.services.storage import Storage, answered, asked


class TemplateService:
    """The use cases of templates: for those who may administer notifications.

    ``changed`` is called after each change: the process's copy is read anew.
    """

    def __init__(
        self,
        *,
        settings: NoticeSettingsStore,
        storage: Storage,
        texts: BuiltInTexts,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._texts = texts
        self._clock = clock
        self._ids = ids
        self.changed: Callable[[], None] = lambda: None

    def list(self, actor: Actor) -> Sequence[NoticeTemplate]:
        """Return the latest version of each text of the partition, by event type, category (none first), language."""
        require(actor, NOTIFICATIONS_ADMIN)
        places = {event_type: place for place, event_type in enumerate(EventType)}
        found = [one for one in asked(self._settings.templates) if one.tenant_id == actor.partition]
        return sorted(found, key=lambda one: (places[one.event_type], one.business_type or "", one.language))

    def versions(
        self, actor: Actor, event_type: EventType, business_type: str | None, language: str
    ) -> Sequence[NoticeTemplate]:
        """Return all versions of one text, the newest first; none: the built-in text is told."""
        require(actor, NOTIFICATIONS_ADMIN)
        category = _category(business_type)
        return asked(lambda: self._settings.template_versions(actor.partition, event_type, category, language))

    def add(
        self,
        actor: Actor,
        *,
        event_type: EventType,
        business_type: str | None = None,
        language: str,
        title: str,
        body: str,
        enabled: bool = True,
        expected_version: int | None = None,
    ) -> NoticeTemplate:
        """Add a version, which counts from now on; one that is not *enabled* hands over to what is less specific.

        Names that the event type does not have are no mistake (see ``warnings``): they stay as they are written.

        :raises InputInvalid: with every reason. :raises StaleRevision: the latest version is not the expected one
            (0: there is none). :raises Conflict: somebody else added one at the same moment.
        """
        require(actor, NOTIFICATIONS_ADMIN)
        category = _category(business_type)
        problems = _problems(event_type, category, language, title, body)
        if problems:
            raise InputInvalid("services.notice_template.invalid", problems=problems)
        before = next(iter(self.versions(actor, event_type, category, language)), None)
        version = 0 if before is None else before.version
        if expected_version not in (None, version):
            raise _stale(before)
        made = NoticeTemplate(
            id=self._ids.new(),
            tenant_id=actor.partition,
            event_type=event_type,
            business_type=category,
            language=language,
            version=version + 1,
            title=title,
            body=body,
            enabled=enabled,
            created_at=self._clock.now(),
            created_by=actor.name,
        )
        try:
            answered(lambda: self._settings.add_template(made))
        except DuplicateRecord as duplicate:
            raise Conflict("services.notice_template.taken", code=CONFLICT_DEFINITION) from duplicate
        self.changed()
        self._note(actor, before, made)
        return made

    def warnings(self, event_type: EventType, title: str, body: str) -> Sequence[Problem]:
        """Return what will stay as it is written although it looks like a name, with the names that there are."""
        return [
            Problem(
                path=path,
                key="services.notice_template.unknown_name",
                params={"name": name, "known": [f"{{{known}}}" for known in self.names(event_type)]},
                severity="warning",
            )
            for path, text, most in (("title", title, MAX_TITLE), ("body", body, MAX_BODY))
            for name in unknown_names(event_type, text[:most])
        ]

    def preview(self, actor: Actor, event_type: EventType, language: str, title: str, body: str) -> Text:
        """Return how a text comes out, with sample values in that language; nothing is checked or kept."""
        require(actor, NOTIFICATIONS_ADMIN)
        names = allowed_names(event_type, self._texts.samples(language))
        return render_text(Text(title[: 10 * MAX_TITLE], body[: 10 * MAX_BODY]), names)

    def names(self, event_type: EventType) -> Sequence[str]:
        """Return the names that texts of an event type may hold; none: it has no templates."""
        return NAMES.get(event_type, ())

    def samples(self, event_type: EventType, language: str) -> Mapping[str, str | None]:
        """Return each name of an event type with a sample value."""
        return allowed_names(event_type, self._texts.samples(language))

    def built_in(self, event_type: EventType, language: str) -> Text:
        """Return the text that is told where no template was written.

        :raises KeyError: the event type has no templates.
        """
        return self._texts.text(event_type, language)

    def _note(self, actor: Actor, before: NoticeTemplate | None, after: NoticeTemplate) -> None:
        """Note the change in the partition's trail; templates are kept with the platform (spec 8.10)."""
        entry = AuditEntry(
            id=self._ids.new(),
            tenant_id=actor.partition,
            at=self._clock.now(),
            actor_id=actor.name,
            action="addNoticeTemplate",
            request_id=actor.request_id,
            before=_facts(before),
            after=_facts(after),
        )
        self._storage.note(entry)


def _category(business_type: str | None) -> str | None:
    return (business_type or "").strip() or None


def _problems(event_type: EventType, category: str | None, language: str, title: str, body: str) -> list[Problem]:
    problems = [
        *length_problems("businessType", category, MAX_CATEGORY),
        *blank_problems("title", title),
        *length_problems("title", title, MAX_TITLE),
        *length_problems("body", body, MAX_BODY),
    ]
    if event_type not in NAMES:
        params: JsonObject = {"value": event_type.value, "known": [one.value for one in NAMES]}
        problems.insert(0, Problem(path="eventType", key="services.notice_template.event_type", params=params))
    if language not in LANGUAGES:
        params = {"value": language[:80], "known": list(LANGUAGES)}
        problems.append(Problem(path="language", key="services.notice_template.language", params=params))
    return problems


def _facts(template: NoticeTemplate | None) -> JsonObject | None:
    if template is None:
        return None
    facts: JsonObject = msgspec.to_builtins(template)
    return facts


def _stale(found: NoticeTemplate | None) -> StaleRevision:
    details = {"revision": 0} if found is None else {
        "revision": found.version, "updatedBy": found.created_by, "updatedAt": found.created_at
    }  # fmt: skip
    return StaleRevision("services.notice_template.stale", details=details)


__all__ = ["MAX_BODY", "MAX_TITLE", "TemplateService", "Text"]
