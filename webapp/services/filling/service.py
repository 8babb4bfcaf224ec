"""The service of ``demo fill``: accounts, definitions, then copies of what was played on the stage."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from webapp.accounts.model import Account, Actor, Tenant
from webapp.accounts.passwords import Passwords
from webapp.accounts.permissions import PERMISSIONS, USER
from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock, IdSource
from webapp.engine.definitions.model import DefinitionStatus, WorkflowDefinition
from webapp.engine.errors import Conflict, InputInvalid
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.filling import BulkStore, Pattern
from webapp.engine.ports.queries import DefinitionQuery
from webapp.services.catalog import CatalogService
from webapp.services.filling.plan import LANGUAGES, MOST_TASKS, Amounts, People, Plan
from webapp.services.filling.stage import (
    OPERATOR,
    MakeStage,
    Play,
    Stage,
    StageClock,
    StageIds,
    audience,
    signer,
)
from webapp.services.filling.stories import SAMPLES, Story
from webapp.services.storage import answered


class Told(Protocol):
    """Hears how far it has come."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Hear that *done* of *total* ``accounts``, ``definitions`` or ``instances`` are there."""


@dataclass(frozen=True, kw_only=True)
class FillReport:
    """What is there now."""

    accounts: int
    instances: int
    tasks: int
    rows: int


class FillService:
    """Fills a partition that has no instances yet."""

    def __init__(
        self,
        *,
        bulk: BulkStore,
        stage: MakeStage,
        catalog: CatalogService,
        accounts: AccountStore,
        passwords: Passwords,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._bulk = bulk
        self._stage = stage
        self._catalog = catalog
        self._accounts = accounts
        self._passwords = passwords
        self._clock = clock
        self._ids = ids

    def fill(
        self,
        partition: str | None,
        amounts: Amounts,
        samples: Mapping[str, JsonObject],
        *,
        password: str | None = None,
        told: Told,
    ) -> FillReport:
        """Fill a partition; *samples* are the documents of :data:`SAMPLES`. Done again after a break, it goes on.

        :raises Conflict: the partition has instances. :raises InputInvalid: an account's name is somebody else's.
        """
        if answered(lambda: self._bulk.holds_instances(partition)):
            raise Conflict("services.fill.not_empty")
        people = People(amounts, partition)
        self._make_accounts(partition, people, password, told)
        definitions = self._publish(partition, samples, told)
        salt = zlib.crc32(f"{amounts.seed}:{partition}".encode())
        plan = Plan(amounts, people, self._clock.now(), salt)
        patterns = list(self._played(partition, definitions, plan.stories, amounts.seed))
        copies = plan.copies([len(pattern.moments) for pattern in patterns])
        rows = answered(
            lambda: self._bulk.load(partition, patterns, copies, lambda done: told("instances", done, plan.instances))
        )
        return FillReport(accounts=len(people.users), instances=plan.instances, tasks=plan.tasks, rows=rows)

    def _make_accounts(self, partition: str | None, people: People, password: str | None, told: Told) -> None:
        if partition is not None and answered(lambda: self._accounts.find_tenant(partition)) is None:
            tenant = Tenant(id=partition, name=partition, created_at=self._clock.now())
            answered(lambda: self._accounts.insert_tenant(tenant))
        known = {account.name: account for account in answered(self._accounts.directory)}
        foreign = [name for name in people.users if name in known and known[name].tenant_id != partition]
        if foreign:
            raise InputInvalid("services.fill.name_taken", path="users", params={"name": foreign[0]})
        # One hash for all: what takes the time is made to take it.
        hashed = None if password is None else self._passwords.hash(password)
        new = [
            self._account(partition, people, number, hashed)
            for number, name in enumerate(people.users)
            if name not in known
        ]
        if new:
            answered(lambda: self._accounts.insert_all(new))
        told("accounts", len(people.users), len(people.users))

    def _account(self, partition: str | None, people: People, number: int, hashed: str | None) -> Account:
        return Account(
            id=self._ids.new(),
            tenant_id=partition,
            name=people.users[number],
            display_name=people.shown_name(number),
            password_hash=hashed,
            language=people.language_of(number),
            created_at=self._clock.now(),
            roles=(USER, *people.groups_of[number]),
        )

    def _publish(
        self, partition: str | None, samples: Mapping[str, JsonObject], told: Told
    ) -> dict[str, WorkflowDefinition]:
        actor = Actor(
            account_id=OPERATOR, name=OPERATOR, display_name=OPERATOR, partition=partition, permissions=PERMISSIONS
        )
        found = {}
        for number, name in enumerate(SAMPLES, 1):
            query = DefinitionQuery(name=name, status=DefinitionStatus.PUBLISHED)
            rows = self._catalog.query(actor, query).items
            if not rows:
                draft = self._catalog.import_document(actor, samples[name])
                self._catalog.publish(actor, draft.id, note="Sample")
                rows = self._catalog.query(actor, query).items
            found[name] = self._catalog.get(actor, rows[0].id)
            told("definitions", number, len(SAMPLES))
        return found

    def _played(
        self,
        partition: str | None,
        definitions: Mapping[str, WorkflowDefinition],
        stories: tuple[Story, ...],
        seed: int,
    ) -> Iterator[Pattern]:
        """Return every story as it is told in the first language, then every one as in the next."""
        for language in LANGUAGES:
            clock = StageClock()
            stage = self._set(partition, definitions, clock, StageIds(seed), language)
            for story in stories:
                clock.rewind()
                play = Play(stage, clock, partition, definitions)
                story.play(play)
                yield play.written([signer(number) for number in range(story.signers)])

    def _set(
        self,
        partition: str | None,
        definitions: Mapping[str, WorkflowDefinition],
        clock: Clock,
        ids: IdSource,
        language: str,
    ) -> Stage:
        stage = self._stage(clock, ids, audience(partition, language, MOST_TASKS))
        with stage.stores.writing(partition) as work:
            for definition in definitions.values():
                work.definitions.insert(partition, definition)
        return stage
