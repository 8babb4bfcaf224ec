"""Definitions ready to run: content of published versions is immutable, so it is decoded and compiled once (2.5)."""

from __future__ import annotations

import threading
from collections import OrderedDict

import msgspec

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.definitions.model import DefinitionStatus, WorkflowDefinition
from webapp.engine.errors import NOTFOUND_DEFINITION, DefinitionInvalid, NotFound, Problem
from webapp.engine.ports.stores import Partition
from webapp.engine.runtime.engine import Engine
from webapp.services.storage import Storage


def definition_missing(what: str) -> NotFound:
    """Return the answer for a definition that is not there, or in another partition."""
    return NotFound("services.definition.not_found", code=NOTFOUND_DEFINITION, params={"id": what})


class Prepared(msgspec.Struct, kw_only=True):
    """A definition and what runs it; ``errors`` is None until the definition has been validated."""

    definition: WorkflowDefinition
    compiled: CompiledDefinition
    errors: list[Problem] | None = None


class DefinitionCache:
    """The definitions that this process has used last, by partition and id.

    Status and "latest published" are never taken from here: a start reads them from the row.
    """

    def __init__(self, storage: Storage, engine: Engine, capacity: int) -> None:
        self._storage = storage
        self._engine = engine
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[Partition, str], Prepared] = OrderedDict()

    def get(self, partition: Partition, definition_id: str) -> Prepared:
        """Return the definition, compiled. :raises NotFound: there is none with that id in the partition."""
        key = (partition, definition_id)
        with self._lock:
            known = self._entries.get(key)
            if known is not None:
                self._entries.move_to_end(key)
                return known
        definition = self._storage.read(partition, lambda work: work.definitions.find(partition, definition_id))
        if definition is None:
            raise definition_missing(definition_id)
        prepared = Prepared(definition=definition, compiled=self._engine.compile(definition))
        if definition.status is not DefinitionStatus.DRAFT:
            self._keep(key, prepared)
        return prepared

    def startable(self, partition: Partition, definition_id: str) -> Prepared:
        """Return the definition for a start. :raises DefinitionInvalid: it does not pass the validation (2.3)."""
        prepared = self.get(partition, definition_id)
        if prepared.errors is None:
            prepared.errors = errors_of(self._engine.validate(prepared.definition))
        if prepared.errors:
            raise DefinitionInvalid("services.definition.invalid", problems=prepared.errors)
        return prepared

    def _keep(self, key: tuple[Partition, str], prepared: Prepared) -> None:
        with self._lock:
            self._entries[key] = prepared
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)


def errors_of(problems: list[Problem]) -> list[Problem]:
    """Return those problems that forbid publishing and starting."""
    return [problem for problem in problems if problem.severity == "error"]
