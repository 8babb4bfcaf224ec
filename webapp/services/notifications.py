"""The chain inside a command: listeners hear what happened, and people's notices join its write (spec 10, D1).

Runs between wave and write and reads nothing. What fails here fails the command before anything of it is written.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from msgspec import structs

from webapp.engine.clock import Clock
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Unexpected
from webapp.engine.instances.journal import TaskCopy
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.notifications.model import EventType
from webapp.engine.notifications.recipients import TOLD, Telling, tellings
from webapp.engine.notifications.stand_ins import with_stand_ins
from webapp.engine.numbers import copy_json
from webapp.engine.ports.applicants import ApplicantResolver
from webapp.engine.ports.listeners import Listeners
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.transitions import transition_of
from webapp.engine.tasks.user_tasks import DECIDE_FAILED
from webapp.services.directory import AccountDirectory
from webapp.services.notice_writing import NoticeChannel, Occasion, write_notices

log = logging.getLogger("waypost.notices")

APPLICANT = "currentApplicantId"
"""The variable that names whose request an instance is now, where that is not who started it."""


class NotificationDispatcher:
    """Tells listeners of a wave, then the people whom it concerns."""

    def __init__(
        self,
        *,
        channel: NoticeChannel,
        directory: AccountDirectory,
        clock: Clock,
        listeners: Listeners | None = None,
        applicants: ApplicantResolver | None = None,
    ) -> None:
        self._channel = channel
        self._directory = directory
        self._clock = clock
        self._listeners = listeners or Listeners()
        self._applicants = applicants

    def collect(self, wave: Wave) -> None:
        """Fill ``wave.write_set.notices`` and ``deliveries``.

        :raises Unexpected: somebody could not be told. What a listener raises is raised again.
        """
        if wave.definition is None or wave.write_set.instance is None:
            return
        if self._listeners:
            self._hear(wave)
        told = any(event.topic in TOLD for event in wave.events)
        if told or wave.node_messages or any(entry.action == DECIDE_FAILED for entry in wave.write_set.audit):
            self._tell(wave, wave.definition)

    def _hear(self, wave: Wave) -> None:
        instance = structs.replace(wave.instance, variables=copy_json(wave.instance.variables))
        for event in wave.events:
            for listener in self._listeners.of(event.topic):
                try:
                    listener.heard(event, instance)
                except Exception:
                    name = type(listener).__name__
                    log.exception("instance %s: the listener %s failed at %s", instance.id, name, event.topic)
                    raise

    def _tell(self, wave: Wave, definition: WorkflowDefinition) -> None:
        for message in wave.node_messages:
            if message.failure is not None:
                log.error("instance %s: the listener of node %s failed", wave.instance.id, message.node_id)
                params = {"node": message.node_id}
                raise Unexpected("services.notices.listener_failed", params=params) from message.failure
        instance = wave.instance
        people = _People(instance, definition, self._directory, self._applicants)
        asked = with_stand_ins(tellings(transition_of(wave, definition), people), people.stand_ins)
        found = people.present(asked)
        if not found:
            return
        self._let_in(found, wave)
        starter = self._directory.person(instance.tenant_id, instance.starter_id or "")
        occasion = Occasion(
            instance=instance,
            category=definition.category,
            office_id=None if starter is None else starter.department,
            at=self._clock.now(),
        )
        write_notices(self._channel, found, occasion, wave.write_set)

    def _let_in(self, found: Sequence[Telling], wave: Wave) -> None:
        """Give the mentioned a copy of the task, and so the right to read what they are told of (6.7)."""
        at, instance_id = self._clock.now(), wave.instance.id
        mentions = [one for one in found if one.event_type is EventType.MENTION]
        if mentions:
            copies = [
                TaskCopy(task_id=one.origin, instance_id=instance_id, user_id=one.recipient_id, created_at=at)
                for one in mentions
            ]
            wave.write_set.task_copies = [*wave.write_set.task_copies, *copies]


class _People:
    """Who there is in the instance's partition, by the directory's copy."""

    def __init__(
        self,
        instance: WorkflowInstance,
        definition: WorkflowDefinition,
        directory: AccountDirectory,
        applicants: ApplicantResolver | None,
    ) -> None:
        self._instance = instance
        self._definition = definition
        self._partition = instance.tenant_id
        self._directory = directory
        self._applicants = applicants
        self._applicant: str | None = None
        self._asked = False

    def members(self, group: str) -> Collection[str]:
        """Return the enabled accounts of a group."""
        return self._directory.members(self._partition, group)

    def known(self, names: Collection[str]) -> Collection[str]:
        """Return those that are accounts of the partition."""
        return self._directory.known(self._partition, names)

    def applicant(self) -> str | None:
        """Return whose request it is: what the resolver says, else the variable, else who started it."""
        if not self._asked:
            self._asked = True
            self._applicant = self._resolved() or _named(self._instance) or self._instance.starter_id
        return self._applicant

    def stand_ins(self, name: str) -> Collection[str]:
        """Return who stands in for an account now, in this workflow."""
        return self._directory.stand_ins(self._partition, name, self._instance.definition_name)

    def present(self, found: Sequence[Telling]) -> list[Telling]:
        """Return what goes to enabled accounts of the partition; what goes to strangers is dropped, and logged."""
        names = {one.recipient_id for one in found}
        strangers = names.difference(self.known(names))
        if strangers:
            shown = ", ".join(sorted(_masked(name) for name in strangers)[:5])
            log.info("instance %s: %d not told, no accounts of its partition: %s",
                     self._instance.id, len(strangers), shown)  # fmt: skip
        gone = strangers | self._directory.disabled(self._partition, names)
        return [one for one in found if one.recipient_id not in gone]

    def _resolved(self) -> str | None:
        if self._applicants is None:
            return None
        try:
            found = self._applicants.applicant(self._instance, self._definition)
        except Exception:
            log.warning("instance %s: its applicant could not be resolved", self._instance.id, exc_info=True)
            return None
        return found.strip() if isinstance(found, str) else None


def _named(instance: WorkflowInstance) -> str | None:
    found = instance.variables.get(APPLICANT)
    return found.strip() if isinstance(found, str) else None


def _masked(name: str) -> str:
    """Return enough of a login name to look for it: it may be an address."""
    return f"{name[:2]}…"
