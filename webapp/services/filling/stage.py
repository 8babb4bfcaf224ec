"""The stage: a story is played once by the real services on stores in memory; what they wrote becomes a pattern."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from webapp.accounts.model import Account, Actor
from webapp.accounts.permissions import PERMISSIONS, USER
from webapp.engine.clock import Clock, IdSource
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.notifications.model import Notice
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.filling import Pattern
from webapp.engine.ports.notices import NoticeQuery
from webapp.engine.ports.stores import Stores, UnitOfWork
from webapp.engine.schedules import instant_text
from webapp.services.inbox import InboxService
from webapp.services.instances import InstanceService
from webapp.services.operations import OperationService

ID_PREFIX = "0f5a0000-0000-7000-8000-"
FIRST_MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
APART = timedelta(days=1_000)

# What stands for the words of a copy. The order is that of the copies' words.
SUBJECT = "zqsubjectqz"
STARTER = "zqstarterqz"
APPROVER = "zqapproverqz"
GROUP = "zqgroupqz"
MEMBER = "zqmemberqz"
ORDER = "zqorderqz"
REMARK = "zqremarkqz"
AMOUNT = "918273640"
MARKS = (SUBJECT, STARTER, APPROVER, GROUP, MEMBER, ORDER, REMARK, AMOUNT)
OPERATOR = "demo"


def signer(number: int) -> str:
    """Return what stands for the signer of that number, from 0."""
    return f"zqsigner{number:03d}qz"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """An installation in memory: its services, and its stores to read what they wrote."""

    stores: Stores
    instances: InstanceService
    operations: OperationService
    inbox: InboxService


MakeStage = Callable[[Clock, IdSource, Sequence[Account]], Stage]
"""Makes a stage whose directory knows these accounts: nobody else is told anything."""


def audience(partition: str | None, language: str, signers: int) -> list[Account]:
    """Return the accounts that are told what happens on the stage, all of one language.

    Of a group one member stands for all; a signer that is a group has none, so that nobody is told of those tasks.
    """
    roles = {MEMBER: (USER, GROUP)}
    names = (STARTER, APPROVER, MEMBER, *(signer(number) for number in range(signers)))
    return [
        Account(
            id=f"{ID_PREFIX}{number:012x}",
            tenant_id=partition,
            name=name,
            display_name=name,
            language=language,
            created_at=FIRST_MOMENT,
            roles=roles.get(name, (USER,)),
        )
        for number, name in enumerate(names)
    ]


class StageClock:
    """Stands at one moment until the play goes on."""

    def __init__(self) -> None:
        self.moments = [FIRST_MOMENT]

    def now(self) -> datetime:
        """Return the present moment."""
        return self.moments[-1]

    def go_on(self) -> datetime:
        """Go to the next moment."""
        self.moments.append(self.moments[-1] + APART)
        return self.moments[-1]

    def rewind(self) -> None:
        """Go back to the first moment: another play begins."""
        self.moments = [FIRST_MOMENT]


class StageIds:
    """Rising ids, all with the mark's prefix."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # it looks like an id; nobody must be unable to guess it
        self._number = 0

    def new(self) -> str:
        """Return the next id."""
        self._number += 1
        return f"{ID_PREFIX}{(self._number << 24) + self._random.getrandbits(24):012x}"


class Play:
    """One instance on the stage: what its people do, one moment after the other."""

    def __init__(
        self, stage: Stage, clock: StageClock, partition: str | None, definitions: Mapping[str, WorkflowDefinition]
    ) -> None:
        self._stage = stage
        self._clock = clock
        self._partition = partition
        self._definitions = definitions
        self._instance_id = ""

    def start(self, name: str, **variables: object) -> None:
        """Start the instance."""
        given: JsonObject = {"subject": SUBJECT, **variables}
        started = self._stage.instances.start(
            self._actor(STARTER),
            definition_id=self._definitions[name].id,
            title=f"{self._definitions[name].title}: {SUBJECT}",
            variables=given,
            correlation_id=ORDER,
        )
        self._instance_id = started.instance.id

    def go_on(self) -> None:
        """Let time pass."""
        self._clock.go_on()

    def future(self) -> str:
        """Return, as text, a moment that lies ahead of all others of the play."""
        return instant_text(self._clock.moments[-1] + APART)

    def keep_future(self) -> None:
        """Make the moment that ``future`` told one of the play's."""
        self._clock.go_on()

    def tasks(self) -> list[str]:
        """Return the ids of the open tasks, oldest first."""
        page = self._stage.inbox.of_instances(self._actor(OPERATOR, *PERMISSIONS), [self._instance_id])
        return [task.id for task in page]

    def open_first(self, name: str) -> None:
        """Let the assignee open the first open task."""
        self._stage.inbox.mark_opened(self._actor(name), self.tasks()[0])

    def claim(self) -> None:
        """Let a member of the group claim the first open task."""
        self._stage.inbox.claim(self._member(), self.tasks()[0])

    def decide(self, name: str, outcome: str, comment: str | None = None, *, task: int = 0) -> None:
        """Let somebody decide an open task."""
        actor = self._member() if name == MEMBER else self._actor(name)
        self._stage.inbox.complete(actor, self.tasks()[task], outcome, comment)

    def suspend(self) -> None:
        """Let an operator suspend the instance."""
        self._stage.operations.suspend(self._actor(OPERATOR, *PERMISSIONS), self._instance_id, REMARK)

    def terminate(self) -> None:
        """Let an operator terminate the instance."""
        self._stage.operations.terminate(self._actor(OPERATOR, *PERMISSIONS), self._instance_id, REMARK)

    def cancel(self) -> None:
        """Let an operator cancel the instance."""
        self._stage.instances.cancel(self._actor(OPERATOR, *PERMISSIONS), self._instance_id, REMARK)

    def written(self, signers: Sequence[str]) -> Pattern:
        """Return what was written."""
        with self._stage.stores.reading(self._partition) as work:
            return self._pattern(work, signers)

    def _pattern(self, work: UnitOfWork, signers: Sequence[str]) -> Pattern:
        partition, instance_id = self._partition, self._instance_id
        instance = work.instances.find(partition, instance_id)
        if instance is None:
            raise RuntimeError("the play has no instance")
        records = work.task_records.by_instance(partition, instance_id)
        for record in records:
            # It is kept in the folded text only.
            record.correlation_id = instance.correlation_id
        return Pattern(
            instance=instance,
            node_instances=tuple(work.instances.history(partition, instance_id)),
            bookmarks=tuple(work.bookmarks.by_instance(partition, instance_id)),
            task_records=tuple(records),
            audit=tuple(work.audit.by_instance(partition, instance_id).items),
            notices=self._notices(work, signers),
            id_prefix=ID_PREFIX,
            moments=tuple(self._clock.moments),
            words=(*MARKS, *signers),
        )

    def _notices(self, work: UnitOfWork, signers: Sequence[str]) -> tuple[Notice, ...]:
        """Return what was told, under ids of this pattern; what it asked for and is settled now was read."""
        query = NoticeQuery(instance_id=self._instance_id)
        people = (STARTER, APPROVER, MEMBER, *signers)
        told = [one for name in people for one in work.notices.list(self._partition, name, query).items]
        waiting = {bookmark.id for bookmark in work.bookmarks.by_instance(self._partition, self._instance_id)}
        for number, one in enumerate(told):
            # Ids of notices are digests: a copy could not make them its own.
            one.id = f"{ID_PREFIX}{number:012x}"
            if one.task_id is not None and one.task_id not in waiting:
                one.read_at = self._clock.now()
        return tuple(told)

    def _member(self) -> Actor:
        return msgspec.structs.replace(self._actor(MEMBER), roles=(GROUP,))

    def _actor(self, name: str, *permissions: str) -> Actor:
        return Actor(
            account_id=name,
            name=name,
            display_name=name,
            partition=self._partition,
            permissions=frozenset(permissions) or frozenset({"instances:start"}),
        )
