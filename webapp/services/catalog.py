"""The catalog: the life cycle of definitions, their lists, their check and their portable form (spec 2, 25)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import DEFINITIONS_PUBLISH, DEFINITIONS_READ, DEFINITIONS_WRITE, INSTANCES_START
from webapp.engine.clock import Clock, IdSource, next_sequence
from webapp.engine.definitions import codec
from webapp.engine.definitions.diff import DefinitionDiff, diff_definitions
from webapp.engine.definitions.model import DefinitionStatus, WorkflowDefinition
from webapp.engine.descriptors import ActivityDescriptor
from webapp.engine.errors import (
    CONFLICT_DEFINITION,
    Conflict,
    DefinitionInvalid,
    InputInvalid,
    Problem,
)
from webapp.engine.expressions import Diagnostic, TextKind
from webapp.engine.expressions.functions import FUNCTIONS
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.limits import MAX_REMARK
from webapp.engine.instances.requests import check_document
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.engine.ports.queries import (
    DEFINITION_SORTS,
    DefinitionQuery,
    DefinitionSummary,
    Page,
    check_page,
)
from webapp.engine.ports.stores import WHOLE, DuplicateRecord, Partition, RevisionConflict, UnitOfWork
from webapp.engine.runtime.engine import Engine
from webapp.services.access import may_start, require
from webapp.services.calendars import CalendarCopy
from webapp.services.child_definitions import child_warnings
from webapp.services.definition_rules import (
    Change,
    check_display_name,
    check_name,
    copied,
    facts,
    require_revision,
    require_status,
    stale,
    stored_definition,
    text_kind,
    with_status,
)
from webapp.services.definition_timers import DefinitionTimers
from webapp.services.definitions import DefinitionCache, definition_missing, errors_of
from webapp.services.storage import Storage
from webapp.services.texts import check_text
from webapp.services.views import FunctionHelp

MAX_NAME = 128
CREATE_ATTEMPTS = 20
TIMED_ACTIONS = ("publish", "disable", "archive")


class CatalogService:
    """The use cases of definitions."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        definitions: DefinitionCache,
        timers: DefinitionTimers,
        calendars: CalendarCopy,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._definitions = definitions
        self._timers = timers
        self._calendars = calendars
        self._clock = clock
        self._ids = ids

    def create(self, actor: Actor, document: JsonObject) -> WorkflowDefinition:
        """Create a draft, the next version of its name; only its shape and its name are looked at (2.1)."""
        require(actor, DEFINITIONS_WRITE)
        return self._insert(actor, "create", codec.read_definition(document))

    def import_document(self, actor: Actor, document: JsonObject) -> WorkflowDefinition:
        """Create a draft from a portable document, ours or version 4's: the next version of its name."""
        require(actor, DEFINITIONS_WRITE)
        return self._insert(actor, "import", codec.import_definition(document))

    def duplicate(self, actor: Actor, definition_id: str) -> WorkflowDefinition:
        """Create a draft with the same content under a new name."""
        source = self.get(actor, definition_id)
        require(actor, DEFINITIONS_WRITE)
        name, number = self._free_name(actor.partition, source.name)
        copy = msgspec.structs.replace(copied(source), name=name, display_name=f"{source.title} ({number})")
        return self._insert(actor, "duplicate", copy)

    def new_version(self, actor: Actor, *, id: str | None = None, name: str | None = None) -> WorkflowDefinition:
        """Create a draft from a version: the one with that id, or the highest of the name in any status."""
        require(actor, DEFINITIONS_WRITE)
        source = self._find(actor.partition, id) if id is not None else self._highest(actor.partition, name or "")
        return self._insert(actor, "newVersion", copied(source))

    def update(self, actor: Actor, id: str, document: JsonObject, expected_revision: int) -> WorkflowDefinition:
        """Replace a draft's content; name, version and history stay as stored (2.1).

        :raises Conflict: it is no draft. :raises StaleRevision: somebody saved it since; details say who and when.
        """
        require(actor, DEFINITIONS_WRITE)
        # The stored name stays whatever the document says, so that it need not say it.
        given = codec.read_definition({"name": "unnamed", **document})
        check_display_name(given)
        # A missing display name becomes the name that stays, not the one in the document.
        unnamed = document.get("displayName") is None

        def change(stored: WorkflowDefinition) -> WorkflowDefinition:
            return msgspec.structs.replace(
                given,
                id=stored.id,
                tenant_id=stored.tenant_id,
                name=stored.name,
                display_name=stored.name if unnamed else given.display_name,
                version=stored.version,
                status=DefinitionStatus.DRAFT,
                created_at=stored.created_at,
                created_by=stored.created_by,
                published_at=None,
                published_by=None,
                publish_note=None,
            )

        return self._change(actor, id, "update", change, expected_revision, (DefinitionStatus.DRAFT,))

    def publish(
        self, actor: Actor, id: str, note: str | None = None, expected_revision: int | None = None
    ) -> WorkflowDefinition:
        """Publish a draft that has no error. :raises DefinitionInvalid: with every error at once (2.1)."""
        require(actor, DEFINITIONS_PUBLISH)
        check_text("note", note, MAX_REMARK)
        at, known = self._clock.now(), self._known_calendars(actor.partition)

        def change(stored: WorkflowDefinition) -> WorkflowDefinition:
            errors = errors_of(self._engine.validate(stored, known))
            if errors:
                raise DefinitionInvalid("services.definition.invalid", problems=errors)
            return msgspec.structs.replace(
                stored,
                status=DefinitionStatus.PUBLISHED,
                published_at=at,
                published_by=actor.name,
                publish_note=note,
            )

        return self._change_published(actor, id, "publish", change, expected_revision, (DefinitionStatus.DRAFT,))

    def disable(self, actor: Actor, id: str, expected_revision: int | None = None) -> WorkflowDefinition:
        """Refuse new instances of a published version; those that run go on (2.1)."""
        require(actor, DEFINITIONS_PUBLISH)
        return self._change_published(
            actor,
            id,
            "disable",
            with_status(DefinitionStatus.DISABLED),
            expected_revision,
            (DefinitionStatus.PUBLISHED,),
        )

    def archive(self, actor: Actor, id: str, expected_revision: int | None = None) -> WorkflowDefinition:
        """Put a version away, from any status; archiving again changes nothing (2.1)."""
        require(actor, DEFINITIONS_PUBLISH)
        change = with_status(DefinitionStatus.ARCHIVED)
        return self._change_published(actor, id, "archive", change, expected_revision, tuple(DefinitionStatus))

    def delete(self, actor: Actor, id: str, expected_revision: int | None = None) -> None:
        """Delete a draft. :raises Conflict: it is no draft (2.1)."""
        require(actor, DEFINITIONS_WRITE)
        partition = actor.partition

        def block(work: UnitOfWork) -> bool:
            stored = stored_definition(work, partition, id)
            require_status(stored, (DefinitionStatus.DRAFT,))
            require_revision(stored, expected_revision)
            try:
                work.definitions.delete(partition, id, stored.revision)
            except RevisionConflict as conflict:
                raise stale(stored_definition(work, partition, id)) from conflict
            work.audit.append(partition, [self._entry(actor, "delete", stored, before=facts(stored), after=None)])
            return True

        self._storage.write(partition, block, settled=lambda work: work.definitions.find(partition, id) is None or None)

    def get(self, actor: Actor, id: str) -> WorkflowDefinition:
        """Return a definition. :raises NotFound: there is none with that id in the partition."""
        require(actor, DEFINITIONS_READ)
        return self._find(actor.partition, id)

    def get_published(self, actor: Actor, name: str, version: int | None = None) -> WorkflowDefinition:
        """Return the version that a start by this name would take, to somebody who may start it (2.1)."""

        def block(work: UnitOfWork) -> DefinitionSummary | None:
            if version is None:
                return work.definitions.latest_published(actor.partition, name)
            return work.definitions.header_by_version(actor.partition, name, version)

        header = self._storage.read(actor.partition, block)
        if header is None or header.status is not DefinitionStatus.PUBLISHED:
            raise definition_missing(name)
        definition = self._definitions.get(actor.partition, header.id).definition
        if not may_start(actor, definition):
            require(actor, DEFINITIONS_READ)
        return definition

    def query(self, actor: Actor, query: DefinitionQuery | None = None) -> Page[DefinitionSummary]:
        """Return a page of definitions; who may only start gets the published ones that he may start (25, Calls)."""
        asked = query or DefinitionQuery()
        if not actor.may(DEFINITIONS_READ):
            require(actor, INSTANCES_START)
            asked = msgspec.structs.replace(asked, startable_for=actor.principals)
        check_page("definitions", asked.paging, DEFINITION_SORTS)
        return self._storage.read(actor.partition, lambda work: work.definitions.list(actor.partition, asked))

    def startable(self, actor: Actor, keyword: str | None = None) -> list[DefinitionSummary]:
        """Return the latest published version of each name that the actor may start: the start catalogue."""
        require(actor, INSTANCES_START)
        query = DefinitionQuery(
            keyword=keyword,
            status=DefinitionStatus.PUBLISHED,
            latest=True,
            startable_for=actor.principals,
            paging=WHOLE,
        )
        return self._storage.read(actor.partition, lambda work: work.definitions.list(actor.partition, query)).items

    def offered(self, actor: Actor, keyword: str | None = None) -> list[DefinitionSummary]:
        """Return what a person would start: what the actor may start but for what a signal or a schedule starts.

        Published content never changes and is kept by the process, so each definition is read once.
        """
        return [offer for offer in self.startable(actor, keyword) if not self._starts_itself(actor.partition, offer.id)]

    def _starts_itself(self, partition: Partition, definition_id: str) -> bool:
        definition = self._definitions.get(partition, definition_id).definition
        start = next((node for node in definition.nodes if node.activity_type == "Start"), None)
        if start is None:
            return False
        # Written in PascalCase, read in camelCase as well (D35).
        return any(
            start.properties.get(name, start.properties.get(name[0].lower() + name[1:])) not in (None, "")
            for name in ("SignalName", "Cron")
        )

    def categories(self, actor: Actor) -> Sequence[str]:
        """Return the categories in use, sorted."""
        if not actor.may(DEFINITIONS_READ):
            require(actor, INSTANCES_START)
        return self._storage.read(actor.partition, lambda work: work.definitions.categories(actor.partition))

    def validate(self, actor: Actor, id: str, document: JsonObject | None = None) -> list[Problem]:
        """Return every error and warning of the stored definition, or of the document; changes nothing."""
        stored = self.get(actor, id)
        if document is None:
            return self._problems(actor.partition, stored)
        try:
            given = codec.read_definition(document)
        except InputInvalid as invalid:
            # A document that cannot even be read is what the caller asked to know about.
            return list(invalid.problems)
        given = msgspec.structs.replace(given, id=stored.id, name=stored.name, version=stored.version)
        return self._problems(actor.partition, given)

    def _problems(self, partition: Partition, definition: WorkflowDefinition) -> list[Problem]:
        registry = self._engine.registry
        warnings = self._storage.read(partition, lambda work: child_warnings(work, partition, definition, registry))
        return [*self._engine.validate(definition, self._known_calendars(partition)), *warnings]

    def diff(self, actor: Actor, id: str, other_id: str) -> DefinitionDiff:
        """Return what was added, removed and changed between two definitions."""
        return diff_definitions(self.get(actor, id), self.get(actor, other_id))

    def export(self, actor: Actor, id: str) -> JsonObject:
        """Return the portable document: the content, without this installation's ids (spec 11)."""
        return codec.export_definition(self.get(actor, id))

    def history(self, actor: Actor, id: str) -> Sequence[AuditEntry]:
        """Return who did what with the definition, oldest first."""
        self.get(actor, id)
        return self._storage.read(actor.partition, lambda work: work.audit.by_definition(actor.partition, id))

    def descriptors(self) -> list[ActivityDescriptor]:
        """Return the activities that run here, in the palette's order."""
        return self._engine.registry.descriptors()

    def functions(self) -> list[FunctionHelp]:
        """Return the functions of the expression language by name: how each is called, and the key of its help."""
        known = sorted(FUNCTIONS.values(), key=lambda function: function.name.lower())
        return [FunctionHelp(signature=function.signature, help_key=function.help_key) for function in known]

    def check_expression(self, text: str, kind: str, names: Sequence[str] | None = None) -> list[Diagnostic]:
        """Return the mistakes of an expression, condition or template; with *names*, unknown root names too."""
        return self._engine.evaluator.check(text, text_kind(kind), None if names is None else frozenset(names))

    def evaluate_expression(self, text: str, kind: str, variables: JsonObject) -> JsonValue:
        """Return the value over the variables. :raises ExpressionError: with the place of the mistake."""
        check_document(variables, "variables")
        chosen, evaluator = text_kind(kind), self._engine.evaluator
        if chosen is TextKind.TEMPLATE:
            return evaluator.render(text, variables)
        if chosen is TextKind.CONDITION:
            return evaluator.condition(text, variables)
        return evaluator.evaluate(text, variables)

    def _known_calendars(self, partition: Partition) -> Collection[str] | None:
        self._calendars.refresh()
        return self._calendars.names(partition)

    def _insert(self, actor: Actor, action: str, content: WorkflowDefinition) -> WorkflowDefinition:
        check_name(content)
        check_display_name(content)
        for _ in range(CREATE_ATTEMPTS):
            try:
                return self._insert_next(actor, action, content)
            except DuplicateRecord:
                # Another create took the number in between (2.2).
                continue
        raise Conflict("services.definition.crowded", code=CONFLICT_DEFINITION, params={"name": content.name})

    def _insert_next(self, actor: Actor, action: str, content: WorkflowDefinition) -> WorkflowDefinition:
        partition, now = actor.partition, self._clock.now()
        draft = msgspec.structs.replace(
            content,
            id=self._ids.new(),
            tenant_id=partition,
            status=DefinitionStatus.DRAFT,
            revision=1,
            created_at=now,
            created_by=actor.name,
            updated_at=now,
            updated_by=actor.name,
            published_at=None,
            published_by=None,
            publish_note=None,
        )

        def block(work: UnitOfWork) -> WorkflowDefinition:
            version = work.definitions.max_version(partition, draft.name) + 1
            created = msgspec.structs.replace(draft, version=version)
            work.definitions.insert(partition, created)
            work.audit.append(partition, [self._entry(actor, action, created, before=None, after=facts(created))])
            return created

        return self._storage.write(partition, block, settled=lambda work: work.definitions.find(partition, draft.id))

    def _change_published(
        self,
        actor: Actor,
        id: str,
        action: str,
        change: Change,
        expected_revision: int | None,
        allowed: tuple[DefinitionStatus, ...],
    ) -> WorkflowDefinition:
        """Change what is published under a name: its timer follows, and does not fire meanwhile (2.1)."""
        name = self._find(actor.partition, id).name
        with self._timers.changing(actor.partition, name):
            return self._change(actor, id, action, change, expected_revision, allowed)

    def _change(
        self,
        actor: Actor,
        id: str,
        action: str,
        change: Change,
        expected_revision: int | None,
        allowed: tuple[DefinitionStatus, ...],
    ) -> WorkflowDefinition:
        partition, now = actor.partition, self._clock.now()
        written: list[WorkflowDefinition] = []

        def block(work: UnitOfWork) -> WorkflowDefinition:
            stored = stored_definition(work, partition, id)
            require_status(stored, allowed)
            require_revision(stored, expected_revision)
            changed = change(stored)
            if changed is stored:
                return stored
            changed = msgspec.structs.replace(
                changed, revision=stored.revision + 1, updated_at=now, updated_by=actor.name
            )
            try:
                work.definitions.replace(partition, changed, stored.revision)
            except RevisionConflict as conflict:
                raise stale(stored_definition(work, partition, id)) from conflict
            entry = self._entry(actor, action, changed, before=facts(stored), after=facts(changed))
            work.audit.append(partition, [entry])
            if action in TIMED_ACTIONS:
                self._timers.follow(work, changed)
            written.append(changed)
            return changed

        def settled(work: UnitOfWork) -> WorkflowDefinition | None:
            stored = work.definitions.find(partition, id)
            return stored if stored in written else None

        return self._storage.write(partition, block, settled=settled)

    def _entry(
        self,
        actor: Actor,
        action: str,
        definition: WorkflowDefinition,
        *,
        before: JsonObject | None,
        after: JsonObject | None,
    ) -> AuditEntry:
        now = self._clock.now()
        return AuditEntry(
            id=self._ids.new(),
            tenant_id=actor.partition,
            sequence=next_sequence(0, now),
            at=now,
            actor_id=actor.name,
            action=action,
            definition_id=definition.id,
            comment=definition.publish_note if action == "publish" else None,
            request_id=actor.request_id,
            before=before,
            after=after,
        )

    def _find(self, partition: Partition, id: str) -> WorkflowDefinition:
        return self._storage.read(partition, lambda work: stored_definition(work, partition, id))

    def _highest(self, partition: Partition, name: str) -> WorkflowDefinition:
        header = self._storage.read(partition, lambda work: work.definitions.highest(partition, name))
        if header is None:
            raise definition_missing(name)
        return self._find(partition, header.id)

    def _free_name(self, partition: Partition, name: str) -> tuple[str, int]:
        def block(work: UnitOfWork) -> tuple[str, int]:
            for number in range(2, 1_000):
                candidate = f"{name[: MAX_NAME - 4]}-{number}"
                if work.definitions.max_version(partition, candidate) == 0:
                    return candidate, number
            raise InputInvalid("services.definition.no_free_name", path="name", params={"name": name})

        return self._storage.read(partition, block)
