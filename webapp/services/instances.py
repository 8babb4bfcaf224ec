"""Instances: start, cancel, retry, and what may be asked about them (spec 3.2, 3.13, 3.16, 3.19, 3.21, 6.7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_OPERATE, INSTANCES_READ, INSTANCES_START
from webapp.engine.cancellation import CancellationToken
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    CONFLICT_CORRELATION,
    CONFLICT_DEFINITION,
    NOTFOUND_BOOKMARK,
    Conflict,
    InputInvalid,
    NotFound,
)
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.limits import MAX_CORRELATION, MAX_REMARK
from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.instances.requests import StartRequest, check_document
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.queries import (
    INSTANCE_SORTS,
    MAX_CORRELATION_IDS,
    BookmarkSummary,
    DefinitionSummary,
    InstanceQuery,
    InstanceSummary,
    Page,
    Paging,
    Sort,
    check_page,
)
from webapp.engine.ports.stores import WHOLE, InstanceSnapshot, Partition, UnitOfWork
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.engine import Engine
from webapp.services.access import (
    instance_missing,
    lacking,
    may_operate,
    may_read,
    may_start,
    require,
    require_read,
)
from webapp.services.commands import Commands, scoped
from webapp.services.definitions import DefinitionCache, Prepared, definition_missing
from webapp.services.storage import Storage
from webapp.services.texts import check_text
from webapp.services.views import StartResult

T = TypeVar("T")

ALLOW_DUPLICATE = "AllowDuplicate"
REJECT_DUPLICATE = "RejectDuplicate"
USE_EXISTING = "UseExisting"
OF_PARTITION = "partition"
OF_DEFINITION = "definition"
REUSE_SCOPES = (OF_PARTITION, OF_DEFINITION)
REUSE_POLICIES = (ALLOW_DUPLICATE, REJECT_DUPLICATE, USE_EXISTING)


class Starting(msgspec.Struct, frozen=True, kw_only=True):
    """What a start asks for, as it came in."""

    name: str | None
    definition_id: str | None
    version: int | None
    title: str | None
    variables: JsonObject
    correlation_id: str | None
    reuse_policy: str
    reuse_scope: str
    cancellation: CancellationToken | None = None


class InstanceService:
    """The use cases of running instances."""

    def __init__(self, *, engine: Engine, storage: Storage, commands: Commands, definitions: DefinitionCache) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._definitions = definitions

    def start(
        self,
        actor: Actor,
        *,
        name: str | None = None,
        definition_id: str | None = None,
        version: int | None = None,
        title: str | None = None,
        variables: JsonObject | None = None,
        correlation_id: str | None = None,
        reuse_policy: str = ALLOW_DUPLICATE,
        reuse_scope: str = OF_PARTITION,
        cancellation: CancellationToken | None = None,
    ) -> StartResult:
        """Start a published definition, by id or by name, and return the instance after its first wave.

        :raises NotFound: no such definition, or none of the name is published.
        :raises Conflict: the definition is not Published, or an unfinished instance forbids it (``reuse_policy``).
        :raises InputInvalid: a variable is missing or of another type, a text too long, neither name nor id given.
        """
        require(actor, INSTANCES_START)
        asked = Starting(
            name=name,
            definition_id=definition_id,
            version=version,
            title=title,
            variables=variables if variables is not None else {},
            correlation_id=correlation_id or None,
            reuse_policy=reuse_policy,
            reuse_scope=reuse_scope,
            cancellation=cancellation,
        )
        _check_start(asked)
        if asked.reuse_policy == ALLOW_DUPLICATE:
            wave = self._start(actor, asked, settle=True)
        else:
            # Looked up and started under one lock, so that two starts at once make one instance (3.19).
            with self._commands.locked(f"start:{scoped(actor.partition) or ':'}{asked.correlation_id}"):
                existing = self._existing(actor, asked)
                if existing is not None:
                    return existing
                wave = self._start(actor, asked, settle=False)
            self._commands.settle_afterwards(wave)
        return StartResult(instance=self._commands.as_it_stands(wave), created=True)

    def cancel(self, actor: Actor, instance_id: str, reason: str | None = None) -> WorkflowInstance:
        """Cancel an instance; one that has ended otherwise than Faulted stays as it is (3.13, D9)."""
        return self._operate(actor, instance_id, "cancel", reason, self._engine.cancel)

    def retry(
        self,
        actor: Actor,
        instance_id: str,
        reason: str | None = None,
        *,
        restart: bool = False,
        force: bool = False,
    ) -> WorkflowInstance:
        """Run the node that made a Faulted instance fail once more (3.13). :raises Conflict: it is not Faulted.

        What the fault has undone is not done again: then a retry needs *force*, and is a conflict without it (3.22).

        A node that failed with its child waits for it again, and the child is retried; *restart*: with a new child.
        """
        return self._operate(
            actor, instance_id, "retry", reason, partial(self._engine.retry, restart=restart, force=force)
        )

    def resume_bookmark(
        self,
        actor: Actor,
        bookmark_id: str,
        inputs: JsonObject,
        expected_key: str | None = None,
        *,
        cancellation: CancellationToken | None = None,
    ) -> WorkflowInstance:
        """Resume any waiting point with inputs as they are: for operators and tests (3.16).

        :raises OperationCancelled: the token was set while an activity looked at it; nothing was stored.
        """
        check_document(inputs, "inputs")
        bookmark = self._storage.read(actor.partition, lambda work: work.bookmarks.find(actor.partition, bookmark_id))
        if bookmark is None or bookmark.instance_id is None:
            raise NotFound("workflow.bookmark.not_found", code=NOTFOUND_BOOKMARK, params={"id": bookmark_id})
        self._require_operate(actor, self.find(actor, bookmark.instance_id))
        command = self._commands.command(actor, "resumeBookmark", as_operator=True, cancellation=cancellation)

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            try:
                return self._engine.resume(
                    snapshot, prepared.compiled, bookmark_id, inputs, command, expected_key=expected_key
                )
            except NotFound as missing:
                # It was there a moment ago: somebody else was faster, which is no 404 (9.4).
                raise _bookmark_gone() from missing

        wave = self._commands.change(actor.partition, bookmark.instance_id, decide, lost=_bookmark_gone)
        return self._commands.as_it_stands(wave)

    def get(self, actor: Actor, instance_id: str) -> WorkflowInstance:
        """Return the instance to somebody who may read it."""
        return self._readable(actor, instance_id, lambda work, instance: instance)

    def nodes(self, actor: Actor, instance_id: str, paging: Paging = WHOLE) -> Page[NodeInstance]:
        """Return what was executed, oldest first."""
        _check_window(paging)
        return self._readable(
            actor,
            instance_id,
            lambda work, instance: work.instances.node_instances(actor.partition, instance_id, paging),
        )

    def bookmarks(self, actor: Actor, instance_id: str, paging: Paging = WHOLE) -> Page[BookmarkSummary]:
        """Return the waiting points, without payloads."""
        _check_window(paging)

        def block(work: UnitOfWork, instance: WorkflowInstance) -> Page[BookmarkSummary]:
            waiting = work.bookmarks.summaries(actor.partition, instance_id)
            return Page(list(waiting[paging.offset : paging.offset + paging.limit]), len(waiting))

        return self._readable(actor, instance_id, block)

    def history(self, actor: Actor, instance_id: str, paging: Paging = WHOLE) -> Page[AuditEntry]:
        """Return the audit trail, oldest first."""
        _check_window(paging)
        return self._readable(
            actor, instance_id, lambda work, instance: work.audit.by_instance(actor.partition, instance_id, paging)
        )

    def children(self, actor: Actor, instance_id: str, paging: Paging = WHOLE) -> Page[InstanceSummary]:
        """Return the children of an instance that the actor may read, those of them that he may read, oldest first."""
        _check_window(paging)
        self.get(actor, instance_id)
        oldest_first = msgspec.structs.replace(paging, sorts=(Sort("createdAt"),))
        return self.query(actor, InstanceQuery(parent_instance_id=instance_id, paging=oldest_first))

    def parent(self, actor: Actor, instance: WorkflowInstance) -> WorkflowInstance | None:
        """Return the parent of an instance; None for one at the top, and for one whose parent the actor may not read.

        *instance* is one that the actor was given.
        """
        if instance.parent_instance_id is None:
            return None
        parent_id = instance.parent_instance_id
        found = self._storage.read(actor.partition, lambda work: work.instances.find(actor.partition, parent_id))
        return found if found is not None and self._may_read(actor, found) else None

    def query(self, actor: Actor, query: InstanceQuery | None = None) -> Page[InstanceSummary]:
        """Return a page of the instances that the actor may read."""
        asked = self._limited(actor, query or InstanceQuery())
        check_page("instances", asked.paging, INSTANCE_SORTS)
        return self._storage.read(actor.partition, lambda work: work.instances.list(actor.partition, asked))

    def counts(self, actor: Actor, query: InstanceQuery | None = None) -> dict[str, int]:
        """Return the number of instances by status, under the other filters."""
        asked = self._limited(actor, query or InstanceQuery())
        return self._storage.read(actor.partition, lambda work: work.instances.counts(actor.partition, asked))

    def may_operate(self, actor: Actor, instance: WorkflowInstance) -> bool:
        """Whether the actor may cancel, retry … this instance: by permission, or as owner of its definition."""
        if actor.may(INSTANCES_OPERATE):
            return True
        return may_operate(actor, self._definitions.get(actor.partition, instance.definition_id).definition)

    def find(self, actor: Actor, instance_id: str) -> WorkflowInstance:
        """Return the instance whatever the actor may read. :raises NotFound: it is not in the partition."""
        instance = self._storage.read(actor.partition, lambda work: work.instances.find(actor.partition, instance_id))
        if instance is None:
            raise instance_missing(instance_id)
        return instance

    def _operate(
        self, actor: Actor, instance_id: str, action: str, reason: str | None, operation: Callable[..., Wave]
    ) -> WorkflowInstance:
        check_text("reason", reason, MAX_REMARK)
        command = self._commands.command(actor, action, as_operator=actor.may(INSTANCES_OPERATE))
        if not actor.may(INSTANCES_OPERATE):
            self._require_operate(actor, self.find(actor, instance_id))
        wave = self._commands.change(
            actor.partition,
            instance_id,
            lambda snapshot, prepared: operation(snapshot, prepared.compiled, command, reason=reason),
        )
        return self._commands.as_it_stands(wave)

    def _require_operate(self, actor: Actor, instance: WorkflowInstance) -> None:
        if not self.may_operate(actor, instance):
            raise lacking(INSTANCES_OPERATE)

    def _start(self, actor: Actor, asked: Starting, *, settle: bool) -> Wave:
        prepared = self._startable(actor, asked)
        request = StartRequest(
            variables=asked.variables,
            title=asked.title,
            correlation_id=asked.correlation_id,
            starter_id=actor.name,
            instance_id=self._commands.new_instance_id(actor.partition),
        )
        command = self._commands.command(actor, "start", cancellation=asked.cancellation)
        return self._commands.start(
            lambda: self._engine.start(prepared.compiled, request, command, actor.partition), settle=settle
        )

    def _startable(self, actor: Actor, asked: Starting) -> Prepared:
        header = self._storage.read(actor.partition, lambda work: _resolve(work, actor.partition, asked))
        if header is None:
            raise definition_missing(asked.definition_id or asked.name or "")
        if header.status is not DefinitionStatus.PUBLISHED:
            raise Conflict(
                "services.definition.not_published", code=CONFLICT_DEFINITION, details={"status": header.status.value}
            )
        prepared = self._definitions.startable(actor.partition, header.id)
        if not may_start(actor, prepared.definition):
            raise lacking(INSTANCES_START)
        return prepared

    def _existing(self, actor: Actor, asked: Starting) -> StartResult | None:
        correlation_id = asked.correlation_id or ""
        narrow = asked.reuse_scope == OF_DEFINITION
        of_definition = self._startable(actor, asked).definition.name if narrow else None

        def block(work: UnitOfWork) -> WorkflowInstance | None:
            found = work.instances.find_unfinished(actor.partition, correlation_id, of_definition)
            return work.instances.find(actor.partition, found.id) if found is not None else None

        existing = self._storage.read(actor.partition, block)
        if existing is None:
            return None
        wanted = self._startable(actor, asked).definition
        # Who knows a correlation id must not read somebody else's instance by "starting" it.
        readable = self._may_read(actor, existing)
        if asked.reuse_policy == USE_EXISTING and existing.definition_name == wanted.name and readable:
            return StartResult(instance=existing, created=False)
        raise Conflict(
            "services.instance.correlation_taken",
            code=CONFLICT_CORRELATION,
            params={"correlationId": correlation_id},
            details={"instanceId": existing.id} if readable else {},
        )

    def _may_read(self, actor: Actor, instance: WorkflowInstance) -> bool:
        definition = self._definitions.get(actor.partition, instance.definition_id).definition
        return self._storage.read(actor.partition, lambda work: may_read(actor, instance, definition, work))

    def _readable(self, actor: Actor, instance_id: str, block: Callable[[UnitOfWork, WorkflowInstance], T]) -> T:
        instance = self.find(actor, instance_id)
        definition = None
        if not actor.may(INSTANCES_READ):
            definition = self._definitions.get(actor.partition, instance.definition_id).definition

        def allowed(work: UnitOfWork) -> T:
            require_read(actor, instance, definition, work)
            return block(work, instance)

        return self._storage.read(actor.partition, allowed)

    def _limited(self, actor: Actor, query: InstanceQuery) -> InstanceQuery:
        if query.correlation_ids is not None and len(query.correlation_ids) > MAX_CORRELATION_IDS:
            raise InputInvalid(
                "services.query.correlation_ids", path="correlationId", params={"max": MAX_CORRELATION_IDS}
            )
        return query if actor.may(INSTANCES_READ) else msgspec.structs.replace(query, readable_by=actor.name)


def _bookmark_gone() -> Conflict:
    return Conflict("services.bookmark.gone", code=CONFLICT_BOOKMARK)


def _check_start(asked: Starting) -> None:
    if asked.name is None and asked.definition_id is None:
        raise InputInvalid("services.start.no_definition", path="name")
    if asked.reuse_policy not in REUSE_POLICIES:
        known = ", ".join(REUSE_POLICIES)
        raise InputInvalid(
            "services.start.reuse_policy", path="reusePolicy", params={"value": asked.reuse_policy, "known": known}
        )
    if asked.reuse_scope not in REUSE_SCOPES:
        params = {"value": asked.reuse_scope, "known": ", ".join(REUSE_SCOPES)}
        raise InputInvalid("services.start.reuse_scope", path="reuseScope", params=params)
    if asked.reuse_policy != ALLOW_DUPLICATE and asked.correlation_id is None:
        raise InputInvalid("services.start.no_correlation", path="correlationId")
    # The rest of a start's input the engine checks; this text names a lease before the engine sees it.
    check_text("correlationId", asked.correlation_id, MAX_CORRELATION)


def _check_window(paging: Paging) -> None:
    # These lists have one order; a sort field is as wrong as an offset below zero.
    check_page("instances", paging, ())


def _resolve(work: UnitOfWork, partition: Partition, asked: Starting) -> DefinitionSummary | None:
    if asked.definition_id is not None:
        return work.definitions.header(partition, asked.definition_id)
    name = asked.name or ""
    if asked.version is not None:
        return work.definitions.header_by_version(partition, name, asked.version)
    return work.definitions.latest_published(partition, name)
