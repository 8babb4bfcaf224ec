"""Templates, preferences and endpoints for people as a process knows them, at most a few seconds old (spec 10).

Asked between wave and write, where nothing is read: a failure keeps the copy that is there, and without one everybody
is told in the inbox, in the built-in words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from webapp.engine.clock import Clock
from webapp.engine.notifications.model import Endpoint, NoticePreferences, NoticeTemplate
from webapp.engine.notifications.templates import TemplateKey, latest
from webapp.engine.ports.notices import NoticeSettingsStore
from webapp.engine.ports.stores import Partition, StoreFailure
from webapp.services.endpoint_copy import EndpointCopy
from webapp.services.process_copies import ProcessCopy

log = logging.getLogger("waypost.notices")

BuiltIn = Callable[[Partition], Sequence[Endpoint]]
"""Returns the endpoints of a partition that nobody had to make: e-mail, where there is a server for it."""


class NothingKnown(Exception):
    """There is no copy yet, and the settings cannot be read."""


class _Copy(msgspec.Struct, frozen=True):
    """What people and administrators had chosen at one moment."""

    templates: dict[Partition, dict[TemplateKey, NoticeTemplate]]
    preferences: dict[tuple[Partition, str], NoticePreferences]


class NoticeCopy:
    """What the dispatcher knows without asking; *endpoints*, which the outbox keeps fresh, and *built_in* do so too."""

    def __init__(
        self,
        settings: NoticeSettingsStore,
        endpoints: EndpointCopy,
        clock: Clock,
        seconds: float = 5,
        *,
        built_in: BuiltIn = lambda partition: (),
    ) -> None:
        self._copy = ProcessCopy(lambda: _read(settings), clock, seconds, _failed)
        self._endpoints = endpoints
        self._built_in = built_in

    def refresh(self) -> None:
        """Read again if the copy is too old; a failure keeps the copy that is there."""
        self._copy.refresh()

    def forget(self) -> None:
        """Make the next refresh read again: something was changed in this process."""
        self._copy.forget()

    def templates(self, partition: Partition) -> Mapping[TemplateKey, NoticeTemplate]:
        """Return the templates of a partition that count; none when nothing is known of them."""
        copy = self._copy.value
        return {} if copy is None else copy.templates.get(partition, {})

    def preferences(self, partition: Partition, user_id: str) -> NoticePreferences | None:
        """Return what somebody chose, None when that is nothing. :raises NothingKnown: nobody can say."""
        copy = self._copy.value
        if copy is None:
            raise NothingKnown
        return copy.preferences.get((partition, user_id))

    def offered(self, partition: Partition) -> Sequence[Endpoint]:
        """Return the endpoints that the partition's people may be told by, those that are built in first."""
        made = [one for one in self._endpoints.of(partition) if one.for_notices and one.enabled]
        return [*self._built_in(partition), *made]


def _read(settings: NoticeSettingsStore) -> _Copy:
    templates: dict[Partition, list[NoticeTemplate]] = {}
    for template in settings.templates():
        templates.setdefault(template.tenant_id, []).append(template)
    return _Copy(
        templates={partition: latest(found) for partition, found in templates.items()},
        preferences={(one.tenant_id, one.user_id): one for one in settings.all_preferences()},
    )


def _failed(failure: StoreFailure, has_copy: bool) -> None:
    kept = "the old copy is used" if has_copy else "everybody is told as always, in the built-in words"
    log.warning("what was settled about notices could not be read; %s", kept, exc_info=failure)
