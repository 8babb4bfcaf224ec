"""What people choose about their notices: which, where, when (spec 10, Preferences)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from webapp.accounts.model import Actor
from webapp.engine.clock import Clock
from webapp.engine.errors import InputInvalid, Problem, StaleRevision
from webapp.engine.instances.limits import length_problems
from webapp.engine.notifications.model import ChannelKind, Endpoint, EventRule, NoticePreferences
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.notices import NoticeSettingsStore
from webapp.engine.ports.stores import Partition, RevisionConflict
from webapp.engine.schedules import is_zone
from webapp.services.storage import answered, asked

MAX_HANDLE = 200

_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class PreferenceService:
    """Everybody's own preferences: nobody reads or changes another's.

    ``built_in`` returns what a partition's people may choose beside the endpoints that were made for them: e-mail,
    where there is a server for it. ``changed`` is called after each change: the process's copy is read anew.
    """

    def __init__(self, *, settings: NoticeSettingsStore, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self.built_in: Callable[[Partition], Sequence[Endpoint]] = lambda partition: ()
        self.changed: Callable[[], None] = lambda: None

    def get(self, actor: Actor) -> NoticePreferences:
        """Return what the actor chose; revision 0: nothing yet, so everything is as always."""
        return self._stored(actor) or NoticePreferences(tenant_id=actor.partition, user_id=actor.name)

    def choices(self, actor: Actor) -> Sequence[Endpoint]:
        """Return what the actor may switch on: what is built in, then endpoints by name; no addresses, no secrets."""
        return [_shown(one) for one in self._offered(actor.partition)]

    def save(self, actor: Actor, preferences: NoticePreferences, expected_revision: int) -> NoticePreferences:
        """Store what the actor chose, whoever *preferences* says it is of.

        An endpoint that is not offered any more may stay among the choices that were made of it before. What says
        nothing (a rule like the usual one, a blank handle) is left out.

        :raises InputInvalid: with every reason. :raises StaleRevision: it was saved since it was read.
        """
        stored = self._stored(actor)
        before = 0 if stored is None else stored.revision
        if before != expected_revision:
            raise _stale(stored)
        wanted = _tidied(preferences)
        problems = list(_problems(wanted, stored, self._offered(actor.partition)))
        if problems:
            raise InputInvalid("services.notice_preferences.invalid", problems=problems)
        made = msgspec.structs.replace(
            wanted,
            tenant_id=actor.partition,
            user_id=actor.name,
            revision=before + 1,
            updated_at=self._clock.now(),
        )
        try:
            answered(lambda: self._settings.save_preferences(made, before))
        except RevisionConflict as conflict:
            raise _stale(self._stored(actor)) from conflict
        self.changed()
        return made

    def _offered(self, partition: Partition) -> Sequence[Endpoint]:
        own = [one for one in asked(self._settings.endpoints) if one.tenant_id == partition]
        return [*self.built_in(partition), *(one for one in own if one.for_notices and one.enabled)]

    def _stored(self, actor: Actor) -> NoticePreferences | None:
        return asked(lambda: self._settings.preferences(actor.partition, actor.name))


def _shown(endpoint: Endpoint) -> Endpoint:
    return msgspec.structs.replace(endpoint, address="", secret=None, topics=[], options={})


def _tidied(preferences: NoticePreferences) -> NoticePreferences:
    handles = {endpoint: handle.strip() for endpoint, handle in preferences.handles.items()}
    return msgspec.structs.replace(
        preferences,
        rules={event_type: rule for event_type, rule in preferences.rules.items() if rule != EventRule()},
        handles={endpoint: handle for endpoint, handle in handles.items() if handle},
    )


def _problems(
    wanted: NoticePreferences, stored: NoticePreferences | None, offered: Sequence[Endpoint]
) -> Iterator[Problem]:
    yield from _endpoint_problems(wanted, _named(stored) | {one.id for one in offered}, [one.id for one in offered])
    if wanted.quiet is not None:
        yield from _time_problems("quiet.start", wanted.quiet.start)
        yield from _time_problems("quiet.end", wanted.quiet.end)
        yield from _zone_problems("quiet.timeZone", wanted.quiet.time_zone)
        if wanted.quiet.start == wanted.quiet.end:
            yield Problem(path="quiet.end", key="services.notice_preferences.no_hours")
    yield from _time_problems("dailyAt", wanted.daily_at)
    if wanted.time_zone is not None:
        yield from _zone_problems("timeZone", wanted.time_zone)
    by_mail = {one.id for one in offered if one.kind is ChannelKind.EMAIL}
    for endpoint, handle in wanted.handles.items():
        yield from _handle_problems(f"handles.{endpoint[:80]}", handle, by_mail=endpoint in by_mail)


def _named(stored: NoticePreferences | None) -> set[str]:
    """Return the endpoints that something was chosen for."""
    if stored is None:
        return set()
    ruled = (endpoint for rule in stored.rules.values() for endpoint in rule.endpoints)
    return {*ruled, *stored.digest, *stored.handles}


def _endpoint_problems(wanted: NoticePreferences, known: Collection[str], offered: Sequence[str]) -> Iterator[Problem]:
    named: dict[str, Collection[str]] = {
        **{f"rules.{event.value}.endpoints": rule.endpoints for event, rule in wanted.rules.items()},
        "digest": wanted.digest,
        "handles": wanted.handles,
    }
    for path, chosen in named.items():
        for endpoint in chosen:
            if endpoint not in known:
                params: JsonObject = {"id": endpoint[:80], "known": list(offered)}
                yield Problem(
                    path=f"{path}.{endpoint[:80]}", key="services.notice_preferences.unknown_endpoint", params=params
                )


def _time_problems(path: str, text: str) -> Iterator[Problem]:
    if not _TIME.fullmatch(text):
        yield Problem(path=path, key="services.notice_preferences.time", params={"value": text[:80]})


def _zone_problems(path: str, name: str) -> Iterator[Problem]:
    if not is_zone(name):
        yield Problem(path=path, key="services.notice_preferences.zone", params={"value": name[:80]})


def _handle_problems(path: str, handle: str, *, by_mail: bool) -> Iterator[Problem]:
    if by_mail:
        yield Problem(path=path, key="services.notice_preferences.mail_handle")
    yield from length_problems(path, handle, MAX_HANDLE)
    if _UNSEEN.search(handle) and "\0" not in handle:
        yield Problem(path=path, key="services.notice_preferences.handle")


def _stale(found: NoticePreferences | None) -> StaleRevision:
    details = {"revision": 0} if found is None else {
        "revision": found.revision, "updatedBy": found.user_id, "updatedAt": found.updated_at
    }  # fmt: skip
    return StaleRevision("services.notice_preferences.stale", details=details)
