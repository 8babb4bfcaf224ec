"""What somebody wants to be told, where and when: event types by channel, quiet hours, digests (spec 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import available_timezones

import msgspec
from flask import Blueprint, redirect, render_template, request
from werkzeug.wrappers import Response

from webapp.engine.errors import InputInvalid, StaleRevision
from webapp.engine.notifications.choices import switched_on
from webapp.engine.notifications.model import (
    ChannelKind,
    Digest,
    Endpoint,
    EventRule,
    EventType,
    NoticePreferences,
    NoticeType,
    QuietHours,
)
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, problem_text, refusal_text
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("notice_preferences", __name__, url_prefix="/account/notifications")
blueprint.before_request(require_sign_in)

PATH: Final = "/account/notifications"

GROUPS: Final[Mapping[NoticeType, Sequence[EventType]]] = {
    NoticeType.APPROVAL: (
        EventType.TASK_CREATED,
        EventType.TASK_TRANSFERRED,
        EventType.TASK_ADDED,
        EventType.TASK_RETURNED,
        EventType.TASK_URGED,
        EventType.TASK_REMINDER,
        EventType.TASK_OVERDUE,
        EventType.TASK_ESCALATED,
        EventType.TASK_COMPLETED,
        EventType.DECISION_FAILED,
    ),
    NoticeType.TODO: (EventType.CARBON_COPY, EventType.MENTION),
    NoticeType.BUSINESS: (
        EventType.INSTANCE_COMPLETED,
        EventType.INSTANCE_REJECTED,
        EventType.INSTANCE_CANCELED,
        EventType.INSTANCE_TERMINATED,
        EventType.INSTANCE_FAULTED,
        EventType.NODE_LISTENER,
    ),
}

CHATS: Final = (ChannelKind.DINGTALK, ChannelKind.WECOM, ChannelKind.FEISHU, ChannelKind.SLACK)
"""Where a person has a name of their own, to be mentioned by."""


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A way on which the person may be told: its column of the table and its fields below."""

    id: str
    name: str
    icon: str
    digest: FormField
    handle: FormField | None


@dataclass(kw_only=True)
class Refused:
    """What was typed, and why it was not kept; ``stale`` when somebody saved since the page was read."""

    preferences: NoticePreferences
    errors: Mapping[str, str]
    lines: Sequence[str] = ()
    stale: bool = False


@blueprint.get("")
def preferences() -> str:
    """Show what is chosen; without a choice what holds for everybody."""
    return _page(services().notice_preferences.get(current_actor()))


@blueprint.post("")
def save() -> Response | tuple[str, int]:
    """Keep what was chosen; a refusal shows it again with what is wrong."""
    actor, text = current_actor(), page_text().text
    stored = services().notice_preferences.get(actor)
    wanted = read_preferences(request.form, stored, services().notice_preferences.choices(actor))
    try:
        services().notice_preferences.save(actor, wanted, _revision(request.form))
    except StaleRevision:
        return _page(stored, Refused(preferences=wanted, errors={}, stale=True)), 412
    except InputInvalid as refusal:
        errors = {_field_of(problem.path): problem_text(problem, text) for problem in refusal.problems}
        lines = [line for name, line in errors.items() if not name]
        if not refusal.problems:
            lines = [refusal_text(refusal, text)]
        return _page(stored, Refused(preferences=wanted, errors=errors, lines=lines)), 422
    toast("completed", text("notifications.preferences.saved"))
    return redirect(PATH, 303)


def _revision(form: Mapping[str, str]) -> int:
    given = form.get("revision", "")
    return int(given) if given.isdecimal() and len(given) < 10 else 0


_FIELDS: Final = {
    "quiet.start": "start",
    "quiet.end": "end",
    "quiet.timeZone": "zone",
    "timeZone": "zone",
    "dailyAt": "daily_at",
}


def _field_of(path: str) -> str:
    """Return the field that a problem is about, or nothing."""
    if path in _FIELDS:
        return _FIELDS[path]
    return path if path.startswith("handles.") else ""


def read_preferences(
    form: Mapping[str, str], stored: NoticePreferences, choices: Sequence[Endpoint]
) -> NoticePreferences:
    """Return what a form says; what was chosen for a channel that is not offered at present stays as it was."""
    offered = {one.id for one in choices}
    rules = {}
    for event_type in EventType:
        before = _rule(stored, event_type)
        kept = {name: value for name, value in before.endpoints.items() if name not in offered}
        chosen = {one.id: f"out.{event_type}.{one.id}" in form for one in choices}
        rules[event_type] = EventRule(inbox=f"inbox.{event_type}" in form, endpoints={**kept, **chosen})
    if not choices:
        # Times and digests are for what goes out: without a way out the page does not ask for them.
        return msgspec.structs.replace(stored, rules=rules)
    zone = form.get("zone", "").strip()
    quiet = (
        QuietHours(start=form.get("start", ""), end=form.get("end", ""), time_zone=zone) if "quiet" in form else None
    )
    return NoticePreferences(
        tenant_id=stored.tenant_id,
        user_id=stored.user_id,
        revision=stored.revision,
        rules=rules,
        quiet=quiet,
        digest={**_kept(stored.digest, offered), **_digests(form, choices)},
        daily_at=form.get("daily_at", ""),
        time_zone=zone or None,
        handles={**_kept(stored.handles, offered), **_handles(form, choices)},
    )


def _rule(preferences: NoticePreferences, event_type: EventType) -> EventRule:
    return preferences.rules.get(event_type, EventRule())


def _kept(values: Mapping[str, Any], offered: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in offered}


def _digests(form: Mapping[str, str], choices: Sequence[Endpoint]) -> dict[str, Digest]:
    known = {one.value: one for one in Digest}
    given = {one.id: known.get(form.get(f"digest.{one.id}", "")) for one in choices}
    return {name: value for name, value in given.items() if value is not None}


def _handles(form: Mapping[str, str], choices: Sequence[Endpoint]) -> dict[str, str]:
    given = {one.id: form.get(f"handles.{one.id}", "").strip() for one in choices}
    return {name: value for name, value in given.items() if value}


def _page(stored: NoticePreferences, refused: Refused | None = None) -> str:
    actor = current_actor()
    shown = refused.preferences if refused else stored
    errors = refused.errors if refused else {}
    choices = services().notice_preferences.choices(actor)
    account = services().accounts.find(actor.account_id)
    return render_template(
        "notifications/preferences.html",
        revision=stored.revision,
        saved_at=stored.updated_at,
        groups=GROUPS,
        inbox={event: _rule(shown, event).inbox for event in EventType},
        outside={event: {one.id: switched_on(_rule(shown, event), one) for one in choices} for event in EventType},
        channels=[_channel(one, shown, errors) for one in choices],
        email=account.email if account else None,
        by_mail=any(one.kind is ChannelKind.EMAIL for one in choices),
        quiet=shown.quiet is not None,
        fields=_fields(shown, errors),
        zones=sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")),
        refused=refused,
    )


def _channel(one: Endpoint, shown: NoticePreferences, errors: Mapping[str, str]) -> Channel:
    text = page_text().text
    name = text("notifications.channel.email") if one.kind is ChannelKind.EMAIL else one.name
    digest = FormField(
        name=f"digest.{one.id}",
        label=text("notifications.preferences.digest_of", name=name),
        kind="choice",
        value=shown.digest.get(one.id, Digest.NOW).value,
        options=[(kind.value, text(f"notifications.digest.{kind}")) for kind in Digest],
    )
    handle = FormField(
        name=f"handles.{one.id}",
        label=text("notifications.preferences.handle_of", name=name),
        value=shown.handles.get(one.id, ""),
        help=text(f"notifications.handle.{one.kind}") if one.kind in CHATS else "",
        error=errors.get(f"handles.{one.id}", ""),
        attrs={"autocomplete": "off", "maxlength": "200"},
    )
    icon = "at-sign" if one.kind is ChannelKind.EMAIL else "message-square"
    return Channel(id=one.id, name=name, icon=icon, digest=digest, handle=handle if one.kind in CHATS else None)


def _fields(shown: NoticePreferences, errors: Mapping[str, str]) -> dict[str, FormField]:
    text, quiet = page_text().text, shown.quiet
    zone = (quiet.time_zone if quiet else None) or shown.time_zone or str(page_text().zone)
    values = {
        "start": quiet.start if quiet else "20:00",
        "end": quiet.end if quiet else "07:00",
        "daily_at": shown.daily_at,
        "zone": zone,
    }
    return {
        name: FormField(
            name=name,
            label=text(f"notifications.preferences.{name}"),
            input_type="text" if name == "zone" else "time",
            value=value,
            error=errors.get(name, ""),
            attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"} if name == "zone" else {},
        )
        for name, value in values.items()
    }
