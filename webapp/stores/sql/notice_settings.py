"""Templates, preferences and endpoints in SQL; each method is a transaction of its own, in the platform's database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import Executable, bindparam, delete, func, insert, select, tuple_, update

from webapp.engine.notifications.model import Endpoint, EventType, NoticePreferences, NoticeTemplate
from webapp.engine.numbers import decode
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict
from webapp.stores.notice_rows import endpoint_row, preferences_row, template_row
from webapp.stores.sql.database import Database
from webapp.stores.sql.platform_tables import ENDPOINTS, NOTICE_PREFERENCES, NOTICE_TEMPLATES

_TEMPLATE, _PERSON, _ENDPOINT = NOTICE_TEMPLATES.c, NOTICE_PREFERENCES.c, ENDPOINTS.c

_TEXT = (_TEMPLATE.scope, _TEMPLATE.event_type, _TEMPLATE.business_type, _TEMPLATE.language)
_HIGHEST = select(*_TEXT, func.max(_TEMPLATE.version)).group_by(*_TEXT)
_TEMPLATES = select(_TEMPLATE.document).where(tuple_(*_TEXT, _TEMPLATE.version).in_(_HIGHEST)).order_by(*_TEXT)
_VERSIONS = (
    select(_TEMPLATE.document)
    .where(*(column == bindparam(f"p_{column.name}") for column in _TEXT))
    .order_by(_TEMPLATE.version.desc())
)
_ADD_TEMPLATE = insert(NOTICE_TEMPLATES)

_OWN = (_PERSON.scope == bindparam("p_scope"), _PERSON.user_id == bindparam("p_user_id"))
_ALL_PREFERENCES = select(_PERSON.document).order_by(_PERSON.scope, _PERSON.user_id)
_PREFERENCES = select(_PERSON.document).where(*_OWN)
_ADD_PREFERENCES = insert(NOTICE_PREFERENCES)
_SAVE_PREFERENCES = update(NOTICE_PREFERENCES).where(*_OWN, _PERSON.revision == bindparam("p_revision"))

_ONE = (_ENDPOINT.id == bindparam("p_id"), _ENDPOINT.scope == bindparam("p_scope"))
_AT_REVISION = (*_ONE, _ENDPOINT.revision == bindparam("p_revision"))
_ENDPOINTS = select(_ENDPOINT.document).order_by(_ENDPOINT.name, _ENDPOINT.id)
_FIND_ENDPOINT = select(_ENDPOINT.document).where(*_ONE)
_ADD_ENDPOINT = insert(ENDPOINTS)
_REPLACE_ENDPOINT = update(ENDPOINTS).where(*_AT_REVISION)
_DELETE_ENDPOINT = delete(ENDPOINTS).where(*_AT_REVISION)

Model = TypeVar("Model")


class SqlNoticeSettings:
    """The store of settings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def templates(self) -> Sequence[NoticeTemplate]:
        """Return the highest version of each text of all partitions."""
        return self._many(NoticeTemplate, _TEMPLATES)

    def template_versions(
        self, partition: Partition, event_type: EventType, business_type: str | None, language: str
    ) -> Sequence[NoticeTemplate]:
        """Return all versions of one text, the newest first."""
        return self._many(
            NoticeTemplate,
            _VERSIONS,
            p_scope=partition or "",
            p_event_type=event_type.value,
            p_business_type=business_type or "",
            p_language=language,
        )

    def add_template(self, template: NoticeTemplate) -> None:
        """Store a version. :raises DuplicateRecord: the version is taken."""
        with self._database.writing() as transaction:
            transaction.write(_ADD_TEMPLATE, template_row(template))

    def all_preferences(self) -> Sequence[NoticePreferences]:
        """Return the preferences of all partitions."""
        return self._many(NoticePreferences, _ALL_PREFERENCES)

    def preferences(self, partition: Partition, user_id: str) -> NoticePreferences | None:
        """Return a person's preferences, or None."""
        found = self._many(NoticePreferences, _PREFERENCES, p_scope=partition or "", p_user_id=user_id)
        return found[0] if found else None

    def save_preferences(self, preferences: NoticePreferences, expected_revision: int) -> None:
        """Store a person's preferences. :raises RevisionConflict: the revision is not the expected one."""
        row = preferences_row(preferences)
        if expected_revision:
            key = {"p_scope": row["scope"], "p_user_id": row["user_id"]}
            self._expecting(_SAVE_PREFERENCES, expected_revision, {**row, **key})
            return
        try:
            with self._database.writing() as transaction:
                transaction.write(_ADD_PREFERENCES, row)
        except DuplicateRecord as error:
            raise RevisionConflict("there are preferences already") from error

    def endpoints(self) -> Sequence[Endpoint]:
        """Return the endpoints of all partitions, by name, then id."""
        return self._many(Endpoint, _ENDPOINTS)

    def endpoint(self, partition: Partition, endpoint_id: str) -> Endpoint | None:
        """Return the endpoint, or None."""
        found = self._many(Endpoint, _FIND_ENDPOINT, p_scope=partition or "", p_id=endpoint_id)
        return found[0] if found else None

    def insert_endpoint(self, endpoint: Endpoint) -> None:
        """Store an endpoint. :raises DuplicateRecord: the partition has one of that name."""
        with self._database.writing() as transaction:
            transaction.write(_ADD_ENDPOINT, endpoint_row(endpoint))

    def replace_endpoint(self, endpoint: Endpoint, expected_revision: int) -> None:
        """Replace an endpoint. :raises RevisionConflict: it is gone or another's."""
        row = endpoint_row(endpoint)
        key = {"p_id": row.pop("id"), "p_scope": row.pop("scope")}
        self._expecting(_REPLACE_ENDPOINT, expected_revision, {**row, **key})

    def delete_endpoint(self, partition: Partition, endpoint_id: str, expected_revision: int) -> None:
        """Delete an endpoint. :raises RevisionConflict: it is gone or another's."""
        self._expecting(_DELETE_ENDPOINT, expected_revision, {"p_id": endpoint_id, "p_scope": partition or ""})

    def _many(self, model: type[Model], statement: Executable, **parameters: Any) -> Sequence[Model]:
        with self._database.reading() as transaction:
            return [decode(text, model) for text in transaction.read(statement, parameters).scalars()]

    def _expecting(self, statement: Executable, revision: int, parameters: dict[str, Any]) -> None:
        with self._database.writing() as transaction:
            if transaction.write_counted(statement, {**parameters, "p_revision": revision}) == 0:
                raise RevisionConflict(f"not at revision {revision}")
