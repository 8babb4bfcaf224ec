"""The in-app channel: a notice and what goes out of it, as rows of the command's own transaction (spec 10)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from webapp.engine.errors import Unexpected
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.notifications.choices import Way, Ways, ways
from webapp.engine.notifications.model import (
    Delivery,
    DeliveryContent,
    EventType,
    Notice,
    NoticePreferences,
    NoticeTemplate,
    delivery_id,
    notice_id,
)
from webapp.engine.notifications.recipients import PEOPLE, Telling
from webapp.engine.notifications.templates import Rendered, TemplateKey, Text, render_notice, render_text
from webapp.engine.notifications.timing import going, zone_of
from webapp.engine.ports.stores import Partition, WriteSet
from webapp.engine.schedules import instant_text, parse_instant
from webapp.services.directory import AccountDirectory, Person
from webapp.services.notice_copy import NoticeCopy
from webapp.services.notice_texts import BuiltInTexts, spoken

log = logging.getLogger("waypost.notices")


CODES = "workflow"
"""What codes of notices begin with: an inbox may hold other products' too."""


class Told(NamedTuple):
    """What one person is told: the notice, and what goes out of it."""

    notice: Notice
    deliveries: Sequence[Delivery]


class Occasion(NamedTuple):
    """What all notices of a command have in common."""

    instance: WorkflowInstance
    category: str | None
    office_id: str | None
    at: datetime


class NoticeChannel(Protocol):
    """How a notice reaches a person inside a command; the in-app channel is the one that there is."""

    def compose(self, telling: Telling, occasion: Occasion) -> Told | None:
        """Return what is written for one recipient, None when the recipient wants nothing of it.

        Any exception fails the command, once the other recipients have been tried.
        """


class InAppChannel:
    """Composes notices in the words of templates, as the recipient wishes to be told; reads nothing."""

    def __init__(
        self, directory: AccountDirectory, copy: NoticeCopy, texts: BuiltInTexts, *, zone: str, language: str
    ) -> None:
        self._directory = directory
        self._copy = copy
        self._texts = texts
        self._zone = zone
        self._language = spoken(language)

    def compose(self, telling: Telling, occasion: Occasion) -> Told | None:
        """Return the notice and its deliveries, None when the recipient has switched all of it off."""
        instance = occasion.instance
        partition, person = instance.tenant_id, self._directory.person(instance.tenant_id, telling.recipient_id)
        preferences, chosen = self._wishes(partition, telling, person)
        if not chosen.any:
            return None
        text = self._text(telling, occasion, person, preferences)
        notice = _notice(telling, occasion, text, in_inbox=chosen.inbox)
        deliveries = [self._delivery(notice, telling, way, preferences) for way in chosen.external]
        return Told(notice, deliveries)

    def _wishes(
        self, partition: Partition, telling: Telling, person: Person | None
    ) -> tuple[NoticePreferences | None, Ways]:
        """Look up how somebody wants to be told; who cannot be looked up is told in the inbox."""
        try:
            preferences = self._copy.preferences(partition, telling.recipient_id)
            offered = self._copy.offered(partition)
            return preferences, ways(preferences, telling.event_type, offered, None if person is None else person.email)
        except Exception:
            log.warning("somebody's preferences cannot be looked up: the notice goes to the inbox", exc_info=True)
            return None, Ways(inbox=True, external=())

    def _text(
        self, telling: Telling, occasion: Occasion, person: Person | None, preferences: NoticePreferences | None
    ) -> Rendered:
        language = spoken((person and person.language) or self._language)
        if telling.text is not None:
            said = render_text(Text(*telling.text), {})
            return Rendered(said.title or telling.event_type, said.body, None, None, language)
        partition = occasion.instance.tenant_id
        zone = (preferences and preferences.time_zone) or self._zone
        made = render_notice(
            telling.event_type,
            self._templates(partition),
            occasion.category,
            language,
            self._language,
            self._shown(partition, telling.names, zone),
            self._texts.text(telling.event_type, language),
        )
        for one in made.passed_over:
            log.warning("version %d of template %s was passed over: %s", one.version, one.template_id, one.why)
        return made

    def _templates(self, partition: Partition) -> Mapping[TemplateKey, NoticeTemplate]:
        try:
            return self._copy.templates(partition)
        except Exception:
            log.warning("templates cannot be looked up: the built-in text is told", exc_info=True)
            return {}

    def _shown(self, partition: Partition, names: Mapping[str, str | None], zone: str) -> dict[str, str | None]:
        """Return the values as people read them: names of people, and moments on the clock on the wall."""
        shown = dict(names)
        for name in PEOPLE:
            login = shown.get(name)
            person = self._directory.person(partition, login) if login else None
            if person is not None:
                shown[name] = person.label
        due = parse_instant(shown.get("dueAt") or "")
        if due is not None:
            shown["dueAt"] = due.astimezone(zone_of(zone)).strftime("%Y-%m-%d %H:%M")
        return shown

    def _delivery(self, notice: Notice, telling: Telling, way: Way, preferences: NoticePreferences | None) -> Delivery:
        endpoint, at = way.endpoint, going(notice.created_at, preferences, way.endpoint.id, self._zone)
        bundle = f"{endpoint.id}/{notice.recipient_id}/{instant_text(at.at)}" if at.together else None
        return Delivery(
            id=delivery_id(notice.id, endpoint.id),
            tenant_id=notice.tenant_id,
            line=f"{endpoint.id}/{notice.recipient_id}/{notice.instance_id}",
            kind=endpoint.kind,
            endpoint_id=endpoint.id,
            notice_id=notice.id,
            recipient_id=notice.recipient_id,
            instance_id=notice.instance_id,
            address=way.address,
            next_attempt_at=at.at,
            bundle=bundle,
            created_at=notice.created_at,
            content=DeliveryContent(
                title=notice.title,
                body=notice.body,
                language=notice.language,
                task_id=telling.task_id,
                template_id=notice.template_id,
                template_version=notice.template_version,
            ),
        )


def write_notices(channel: NoticeChannel, tellings: Sequence[Telling], occasion: Occasion, write_set: WriteSet) -> None:
    """Add to the write set what each recipient is told; the numbers continue the instance's write order.

    :raises Unexpected: some of them could not be told; all were tried, and their number is in it.
    """
    instance = occasion.instance
    failures: list[Exception] = []
    notices: list[Notice] = []
    deliveries: list[Delivery] = []
    for telling in tellings:
        try:
            told = channel.compose(telling, occasion)
        except Exception as failure:
            log.exception("instance %s: a notice of %s could not be made", instance.id, telling.event_type)
            failures.append(failure)
            continue
        if told is None:
            continue
        instance.last_sequence += 1
        told.notice.sequence = instance.last_sequence
        notices.append(told.notice)
        for delivery in told.deliveries:
            instance.last_sequence += 1
            delivery.sequence = instance.last_sequence
            deliveries.append(delivery)
    if failures:
        raise Unexpected("services.notices.failed", params={"count": len(failures)}) from failures[0]
    write_set.notices, write_set.deliveries = notices, deliveries


def _notice(telling: Telling, occasion: Occasion, text: Rendered, *, in_inbox: bool) -> Notice:
    instance, event_type = occasion.instance, telling.event_type
    partition, recipient = instance.tenant_id, telling.recipient_id
    return Notice(
        id=notice_id(partition, instance.id, telling.origin, event_type, recipient, telling.occurrence),
        tenant_id=partition,
        recipient_id=recipient,
        event_type=event_type,
        code=f"{CODES}.{event_type.value}",
        type=telling.type,
        severity=telling.severity,
        category=occasion.category,
        title=text.title,
        body=text.body,
        language=text.language,
        template_id=text.template_id,
        template_version=text.template_version,
        instance_id=instance.id,
        instance_title=instance.title,
        definition_name=instance.definition_name,
        node_id=telling.node_id,
        task_id=telling.task_id,
        origin=telling.origin,
        occurrence=telling.occurrence,
        metadata=_metadata(occasion, event_type),
        in_inbox=in_inbox,
        created_at=occasion.at,
    )


def _metadata(occasion: Occasion, event_type: EventType) -> dict[str, str | None]:
    """Return the five members that a notice's metadata have, and no variable (spec 10)."""
    instance = occasion.instance
    return {
        "instanceId": instance.id,
        "businessKey": instance.correlation_id,
        "eventType": event_type.value,
        "definitionKey": instance.definition_name,
        "officeId": occasion.office_id,
    }
