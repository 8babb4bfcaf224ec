"""Templates, preferences and endpoints in memory; they belong to the platform, whatever the partition."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from webapp.engine.notifications.model import Endpoint, EventType, NoticePreferences, NoticeTemplate
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict

_Text = tuple[str, str, str, str]


class MemoryNoticeSettings:
    """The store of settings; what it holds is immutable, so it is handed out as it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._templates: dict[_Text, dict[int, NoticeTemplate]] = {}
        self._preferences: dict[tuple[str, str], NoticePreferences] = {}
        self._endpoints: dict[str, Endpoint] = {}

    def templates(self) -> Sequence[NoticeTemplate]:
        """Return the highest version of each text of all partitions."""
        with self._lock:
            return [versions[max(versions)] for _, versions in sorted(self._templates.items())]

    def template_versions(
        self, partition: Partition, event_type: EventType, business_type: str | None, language: str
    ) -> Sequence[NoticeTemplate]:
        """Return all versions of one text, the newest first."""
        with self._lock:
            versions = self._templates.get((partition or "", event_type.value, business_type or "", language), {})
            return [versions[number] for number in sorted(versions, reverse=True)]

    def add_template(self, template: NoticeTemplate) -> None:
        """Store a version. :raises DuplicateRecord: the version is taken."""
        text = (template.tenant_id or "", template.event_type.value, template.business_type or "", template.language)
        with self._lock:
            if self._templates.setdefault(text, {}).setdefault(template.version, template) is not template:
                raise DuplicateRecord(f"version {template.version} of a template")

    def all_preferences(self) -> Sequence[NoticePreferences]:
        """Return the preferences of all partitions."""
        with self._lock:
            return [self._preferences[key] for key in sorted(self._preferences)]

    def preferences(self, partition: Partition, user_id: str) -> NoticePreferences | None:
        """Return a person's preferences, or None."""
        with self._lock:
            return self._preferences.get((partition or "", user_id))

    def save_preferences(self, preferences: NoticePreferences, expected_revision: int) -> None:
        """Store a person's preferences. :raises RevisionConflict: the revision is not the expected one."""
        key = (preferences.tenant_id or "", preferences.user_id)
        with self._lock:
            found = self._preferences.get(key)
            if (0 if found is None else found.revision) != expected_revision:
                raise RevisionConflict(f"preferences are not at revision {expected_revision}")
            self._preferences[key] = preferences

    def endpoints(self) -> Sequence[Endpoint]:
        """Return the endpoints of all partitions, by name, then id."""
        with self._lock:
            return sorted(self._endpoints.values(), key=lambda one: (one.name, one.id))

    def endpoint(self, partition: Partition, endpoint_id: str) -> Endpoint | None:
        """Return the endpoint, or None."""
        with self._lock:
            found = self._endpoints.get(endpoint_id)
        return found if found is not None and found.tenant_id == partition else None

    def insert_endpoint(self, endpoint: Endpoint) -> None:
        """Store an endpoint. :raises DuplicateRecord: the partition has one of that name."""
        with self._lock:
            if endpoint.id in self._endpoints:
                raise DuplicateRecord(f"endpoint {endpoint.id}")
            self._check_name(endpoint)
            self._endpoints[endpoint.id] = endpoint

    def replace_endpoint(self, endpoint: Endpoint, expected_revision: int) -> None:
        """Replace an endpoint. :raises RevisionConflict: it is gone or another's."""
        with self._lock:
            self._expect(endpoint.tenant_id, endpoint.id, expected_revision)
            self._check_name(endpoint)
            self._endpoints[endpoint.id] = endpoint

    def delete_endpoint(self, partition: Partition, endpoint_id: str, expected_revision: int) -> None:
        """Delete an endpoint. :raises RevisionConflict: it is gone or another's."""
        with self._lock:
            self._expect(partition, endpoint_id, expected_revision)
            del self._endpoints[endpoint_id]

    def _check_name(self, endpoint: Endpoint) -> None:
        wanted = (endpoint.tenant_id, endpoint.name)
        if any((one.tenant_id, one.name) == wanted for one in self._endpoints.values() if one.id != endpoint.id):
            raise DuplicateRecord(f"endpoint {endpoint.name}")

    def _expect(self, partition: Partition, endpoint_id: str, revision: int) -> None:
        found = self._endpoints.get(endpoint_id)
        if found is None or (found.tenant_id, found.revision) != (partition, revision):
            raise RevisionConflict(f"endpoint {endpoint_id} is not at revision {revision}")
