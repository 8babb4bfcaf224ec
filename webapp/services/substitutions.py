"""Absences: who acts for whom, from when to when, in which workflows (spec 6.7, decision D34)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from webapp.accounts.model import Actor, Substitution
from webapp.accounts.permissions import ADMIN_USERS
from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import InputInvalid, NotFound, Problem
from webapp.services.access import NOT_FOUND, require
from webapp.services.directory import AccountDirectory
from webapp.services.storage import answered, asked
from webapp.services.texts import require_text

MAX_NAME = 128
MAX_DEFINITIONS = 100


class SubstitutionService:
    """The use cases of absences: everybody sets their own, administrators those of others."""

    def __init__(self, *, accounts: AccountStore, directory: AccountDirectory, clock: Clock, ids: IdSource) -> None:
        self._accounts = accounts
        self._directory = directory
        self._clock = clock
        self._ids = ids

    def list(self, actor: Actor) -> Sequence[Substitution]:
        """Return the substitutions that the actor has a part in; administrators see those of the whole partition."""
        account = None if actor.may(ADMIN_USERS) else actor.name
        return asked(lambda: self._accounts.substitutions(actor.partition, account))

    def create(
        self,
        actor: Actor,
        *,
        substitute: str,
        starts_at: datetime,
        ends_at: datetime,
        absent: str | None = None,
        definitions: Sequence[str] = (),
    ) -> Substitution:
        """Have *substitute* act for the actor, or as administrator for *absent*, from one moment to before another.

        :raises Denied: another's absence needs the permission to manage accounts.
        :raises InputInvalid: an unknown or disabled account, oneself as substitute, an end that is not after the start.
        """
        away = actor.name if absent is None else require_text("absentId", absent.strip(), MAX_NAME)
        if away != actor.name:
            require(actor, ADMIN_USERS)
        for_whom = require_text("substituteId", substitute.strip(), MAX_NAME)
        names = tuple(dict.fromkeys(name.strip() for name in definitions if name.strip()))
        self._check(actor, away, for_whom, starts_at, ends_at, names)
        made = Substitution(
            id=self._ids.new(),
            tenant_id=actor.partition,
            absent_id=away,
            substitute_id=for_whom,
            starts_at=starts_at,
            ends_at=ends_at,
            definitions=names,
            created_at=self._clock.now(),
            created_by=actor.name,
        )
        answered(lambda: self._accounts.insert_substitution(made))
        self._directory.forget()
        return made

    def delete(self, actor: Actor, substitution_id: str) -> None:
        """End a substitution: one's own absence, or as administrator anybody's.

        :raises NotFound: there is none, or it is not the actor's to end.
        """
        found = asked(lambda: self._accounts.find_substitution(actor.partition, substitution_id))
        if found is None or (found.absent_id != actor.name and not actor.may(ADMIN_USERS)):
            raise NotFound("services.substitution.not_found", code=NOT_FOUND, params={"id": substitution_id})
        answered(lambda: self._accounts.delete_substitution(actor.partition, substitution_id))
        self._directory.forget()

    def _check(
        self, actor: Actor, away: str, substitute: str, starts_at: datetime, ends_at: datetime, names: Sequence[str]
    ) -> None:
        self._directory.refresh()
        known = self._directory.known(actor.partition, (away, substitute))
        disabled = self._directory.disabled(actor.partition, (substitute,))
        problems = [
            Problem(path=path, key="services.substitution.unknown", params={"name": name})
            for path, name in (("absentId", away), ("substituteId", substitute))
            if name not in known or name in disabled
        ]
        if away == substitute:
            problems.append(Problem(path="substituteId", key="services.substitution.oneself"))
        if ends_at <= starts_at:
            problems.append(Problem(path="to", key="services.substitution.span"))
        if len(names) > MAX_DEFINITIONS:
            problems.append(Problem(path="definitions", key="services.input.too_many", params={"max": MAX_DEFINITIONS}))
        for index, name in enumerate(names):
            if len(name) > MAX_NAME:
                params = {"max": MAX_NAME, "length": len(name)}
                problems.append(Problem(path=f"definitions[{index}]", key="workflow.input.too_long", params=params))
        if problems:
            raise InputInvalid("services.substitution.invalid", problems=problems)
