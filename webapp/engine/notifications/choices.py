"""Which ways a person is told something: the one place that decides about preferences (spec 10, Preferences)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from webapp.engine.notifications.model import ChannelKind, Endpoint, EventRule, EventType, NoticePreferences


class Way(NamedTuple):
    """An endpoint and what the person is there: the e-mail address, or the handle for mentions."""

    endpoint: Endpoint
    address: str | None


class Ways(NamedTuple):
    """How a person is told; neither: not at all."""

    inbox: bool
    external: Sequence[Way]

    @property
    def any(self) -> bool:
        """Whether the person is told at all."""
        return self.inbox or bool(self.external)


def switched_on(rule: EventRule, endpoint: Endpoint) -> bool:
    """Whether a rule wants an endpoint: as it says, else e-mail and nothing else outside."""
    return rule.endpoints.get(endpoint.id, endpoint.kind is ChannelKind.EMAIL)


def ways(
    preferences: NoticePreferences | None, event_type: EventType, offered: Iterable[Endpoint], email: str | None
) -> Ways:
    """Return how a person is told of an event type.

    What nothing was chosen for is as always: the inbox, and e-mail where there is an address; other endpoints only when
    they were switched on. *offered*: those of the person's partition.
    """
    rule = _AS_ALWAYS if preferences is None else preferences.rules.get(event_type, _AS_ALWAYS)
    handles = {} if preferences is None else preferences.handles
    external = []
    for one in offered:
        by_mail = one.kind is ChannelKind.EMAIL
        if not one.enabled or not one.for_notices or (by_mail and not email):
            continue
        if switched_on(rule, one):
            external.append(Way(one, email if by_mail else handles.get(one.id)))
    return Ways(rule.inbox, external)


_AS_ALWAYS = EventRule()
