"""Rules of the catalog that need no service: what a definition's status, revision and names allow (spec 2.1, 25)."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from webapp.engine.definitions.model import NAME_PATTERN, DefinitionStatus, WorkflowDefinition
from webapp.engine.errors import CONFLICT_DEFINITION, Conflict, InputInvalid, StaleRevision
from webapp.engine.expressions import TextKind
from webapp.engine.instances.limits import MAX_TITLE
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.services.definitions import definition_missing
from webapp.services.texts import check_text

_NAME = re.compile(NAME_PATTERN)

Change = Callable[[WorkflowDefinition], WorkflowDefinition]
"""Makes the new content of a stored definition; returning it untouched writes nothing."""


def stored_definition(work: UnitOfWork, partition: Partition, id: str) -> WorkflowDefinition:
    """Return the stored definition. :raises NotFound: it is not in the partition."""
    stored = work.definitions.find(partition, id)
    if stored is None:
        raise definition_missing(id)
    return stored


def copied(source: WorkflowDefinition) -> WorkflowDefinition:
    """Return the content for a new version."""
    # Models are immutable and nothing changes the JSON inside them, so a new version may share the content.
    return msgspec.structs.replace(source, published_at=None, published_by=None, publish_note=None)


def with_status(status: DefinitionStatus) -> Change:
    """Return the change that only moves a definition on; one that is there already stays untouched."""

    def change(stored: WorkflowDefinition) -> WorkflowDefinition:
        return stored if stored.status is status else msgspec.structs.replace(stored, status=status)

    return change


def facts(definition: WorkflowDefinition) -> JsonObject:
    """Return what the trail keeps of a definition before and after a change."""
    return {"revision": definition.revision, "status": definition.status.value}


def require_status(stored: WorkflowDefinition, allowed: tuple[DefinitionStatus, ...]) -> None:
    """Refuse a change that the definition's status forbids (2.1)."""
    if stored.status not in allowed:
        wanted = "draft" if DefinitionStatus.DRAFT in allowed else "published"
        raise Conflict(
            f"services.definition.not_{wanted}", code=CONFLICT_DEFINITION, details={"status": stored.status.value}
        )


def require_revision(stored: WorkflowDefinition, expected: int | None) -> None:
    """Refuse a change of something that was read too long ago."""
    if expected is not None and stored.revision != expected:
        raise stale(stored)


def stale(stored: WorkflowDefinition) -> StaleRevision:
    """Return the refusal of a stale change: who saved what since, and when."""
    details = {"revision": stored.revision, "updatedBy": stored.updated_by, "updatedAt": stored.updated_at}
    return StaleRevision("services.definition.stale", details=details)


def check_name(content: WorkflowDefinition) -> None:
    """Refuse a name out of the grammar (1.1)."""
    if not _NAME.fullmatch(content.name):
        raise InputInvalid("services.definition.name", path="name", params={"name": content.name})


def check_display_name(content: WorkflowDefinition) -> None:
    """Refuse a title that is blank or too long; a missing one becomes the name (25)."""
    if content.display_name and not content.display_name.strip():
        raise InputInvalid("workflow.input.blank", path="displayName")
    check_text("displayName", content.display_name, MAX_TITLE)


def text_kind(kind: str) -> TextKind:
    """Return the kind of a text to check or evaluate."""
    try:
        return TextKind(kind)
    except ValueError:
        known = ", ".join(TextKind)
        raise InputInvalid("services.expression.kind", path="kind", params={"value": kind, "known": known}) from None
