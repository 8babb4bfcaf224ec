"""Definitions that a signal starts (spec 3.17, 3.18, decision D24)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection
from datetime import datetime

import msgspec

from webapp.engine.errors import WorkflowError
from webapp.engine.instances.requests import StartRequest
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.stores import DuplicateRecord, Partition
from webapp.engine.runtime.engine import Engine
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.storage import Storage

log = logging.getLogger("waypost.signals")


class Signal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A signal on its way, as a follow-up carries it.

    ``owners`` are the principals of a publisher who may only reach what is owned; ``at`` bounds who counts as waiting.
    """

    name: str
    payload: JsonObject
    correlation_id: str | None
    at: datetime
    publisher: str
    owners: tuple[str, ...] | None = None
    request_id: str | None = None

    def may_reach(self, owners: Collection[str]) -> bool:
        """Whether the publisher may operate what has these owners."""
        return self.owners is None or any(who in owners for who in self.owners)


class Started(msgspec.Struct, kw_only=True):
    """What a signal started; ``refusal``: why the first that did not start did not."""

    instance_ids: list[str] = []
    permitted: int = 0
    refusal: WorkflowError | None = None


class SignalStarts:
    """Starts definitions whose Start names the signal."""

    def __init__(self, *, engine: Engine, storage: Storage, commands: Commands, definitions: DefinitionCache) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._definitions = definitions

    def start(self, partition: Partition, signal: Signal, *, seed: str | None = None) -> Started:
        """Start one instance of each definition that the signal starts: of each name the latest published version.

        Its variables are the payload, its correlation id the signal's. One that cannot be started does not stop the
        others. With a *seed* the same call again starts nothing twice.
        """
        started = Started()
        found = self._storage.read(partition, lambda work: work.signals.starts(partition, signal.name))
        for header in found:
            try:
                prepared = self._definitions.startable(partition, header.id)
                if not signal.may_reach(prepared.definition.owners):
                    continue
                started.permitted += 1
                started.instance_ids.append(self._start(partition, signal, prepared, seed))
            except DuplicateRecord:
                # Started by an earlier run that did not come to its end.
                continue
            except WorkflowError as refusal:
                log.warning("signal %s did not start %s: %s", signal.name, header.name, refusal)
                started.refusal = started.refusal or refusal
        return started

    def _start(self, partition: Partition, signal: Signal, prepared: Prepared, seed: str | None) -> str:
        request = StartRequest(
            variables=signal.payload,
            correlation_id=signal.correlation_id,
            starter_id=signal.publisher,
            instance_id=None if seed is None else _instance_id(seed, prepared.definition.id),
        )
        command = msgspec.structs.replace(
            self._commands.system_command("start"), actor_id=signal.publisher, request_id=signal.request_id
        )
        wave = self._commands.start(lambda: self._engine.start(prepared.compiled, request, command, partition))
        return wave.instance.id


def _instance_id(seed: str, definition_id: str) -> str:
    """Return the id of the one instance that this follow-up starts of this definition (a UUID of our own making)."""
    digest = bytearray(hashlib.sha256(f"signal\0{seed}\0{definition_id}".encode()).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
