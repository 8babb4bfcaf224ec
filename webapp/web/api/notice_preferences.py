"""What the caller wants to be told, where and when (spec 10 Preferences, 11 Notifications)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from webapp.engine.errors import InputInvalid, Problem
from webapp.engine.json_input import member_path
from webapp.engine.notifications.model import (
    ChannelKind,
    Digest,
    Endpoint,
    EventRule,
    EventType,
    NoticePreferences,
    QuietHours,
)
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, Shape
from webapp.web.wire import Instant, optional_instant

section = Section("Notifications")

_DIGESTS = Literal["Now", "Hourly", "Daily"]
_Told = Annotated[Any, Meta(description="Told by GET; not read")]


class RuleBody(Body, frozen=True, kw_only=True):
    """What is wanted of an event type; an endpoint that is not named is as always: e-mail on, others off."""

    inbox: bool = True
    endpoints: dict[str, bool] = field(default_factory=dict)


class QuietBody(Body, frozen=True, kw_only=True):
    """Hours without messages outside, ``HH:MM``; an end before the start is that of the next day."""

    start: str
    end: str
    time_zone: str


class PreferencesBody(Body, frozen=True, kw_only=True):
    """All choices at once: rules by event type, digests and names in chats by endpoint id. What is missing is reset."""

    rules: dict[str, RuleBody] = field(default_factory=dict)
    quiet: QuietBody | None = None
    digest: dict[str, _DIGESTS] = field(default_factory=dict)
    daily_at: str = "08:00"
    time_zone: str | None = None
    handles: dict[str, str] = field(default_factory=dict)
    channels: _Told = None
    revision: _Told = None
    updated_at: _Told = None


class ChannelItem(Shape, frozen=True, kw_only=True):
    """A way out that may be chosen; neither its address nor its secret is told."""

    id: str
    kind: ChannelKind
    name: str


class Preferences(Shape, frozen=True, kw_only=True):
    """What was chosen; revision 0: nothing yet. ``channels``: what there is to choose from."""

    rules: dict[str, RuleBody]
    quiet: QuietBody | None
    digest: dict[str, Digest]
    daily_at: str
    time_zone: str | None
    handles: dict[str, str]
    channels: list[ChannelItem]
    revision: int
    updated_at: Instant | None


@section.call("GET", "/notification-preferences", answers={200: Preferences}, sends_revision=True)
def get_notification_preferences(call: Call[None, None]) -> Reply:
    """Return what the caller chose, and the channels there are."""
    service = call.services.notice_preferences
    return _told(service.get(call.actor), service.choices(call.actor))


@section.call(
    "PUT", "/notification-preferences", body=PreferencesBody, answers={200: Preferences},
    refuses=(412, 428), if_match="required", sends_revision=True,
)  # fmt: skip
def replace_notification_preferences(call: Call[PreferencesBody, None]) -> Reply:
    """Replace the caller's choices, whose revision is the one that was read."""
    service = call.services.notice_preferences
    saved = service.save(call.actor, _model(call.body, call.actor.name), call.revision_read)
    return _told(saved, service.choices(call.actor))


def _model(body: PreferencesBody, user_id: str) -> NoticePreferences:
    known = {one.value: one for one in EventType}
    unknown = [
        Problem(path=member_path("rules", name), key="api.body.choice", params={"known": list(known)})
        for name in body.rules
        if name not in known
    ]
    if unknown:
        raise InputInvalid("api.body.invalid", problems=unknown)
    quiet = body.quiet
    return NoticePreferences(
        user_id=user_id,
        rules={
            known[name]: EventRule(inbox=rule.inbox, endpoints=dict(rule.endpoints))
            for name, rule in body.rules.items()
        },
        quiet=None if quiet is None else QuietHours(start=quiet.start, end=quiet.end, time_zone=quiet.time_zone),
        digest={endpoint: Digest(chosen) for endpoint, chosen in body.digest.items()},
        daily_at=body.daily_at,
        time_zone=body.time_zone,
        handles=dict(body.handles),
    )


def _told(chosen: NoticePreferences, channels: Sequence[Endpoint]) -> Reply:
    quiet = chosen.quiet
    shape = Preferences(
        rules={
            event.value: RuleBody(inbox=rule.inbox, endpoints=dict(rule.endpoints))
            for event, rule in chosen.rules.items()
        },
        quiet=None if quiet is None else QuietBody(start=quiet.start, end=quiet.end, time_zone=quiet.time_zone),
        digest=dict(chosen.digest),
        daily_at=chosen.daily_at,
        time_zone=chosen.time_zone,
        handles=dict(chosen.handles),
        channels=[ChannelItem(id=one.id, kind=one.kind, name=one.name) for one in channels],
        revision=chosen.revision,
        updated_at=optional_instant(chosen.updated_at),
    )
    return Reply(value=shape, revision=chosen.revision)
