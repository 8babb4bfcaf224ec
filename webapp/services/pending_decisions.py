"""Decisions that can be undone for a moment, and what carries them out (spec 6.7, Undo)."""

from __future__ import annotations

import threading

from webapp.accounts.model import Actor
from webapp.engine.clock import Clock
from webapp.engine.errors import NOTFOUND_INSTANCE, NotFound
from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.engine import Engine
from webapp.engine.runtime.pending_decisions import DECIDE, ON_BEHALF_OF
from webapp.engine.tasks.user_tasks import ACTOR
from webapp.services.commands import Commands
from webapp.services.definitions import Prepared
from webapp.services.follow_ups import FollowUpRunner


class PendingDecisions:
    """Carries decisions out when their time is up: at the person's next request in this process, else by the poller."""

    def __init__(self, *, engine: Engine, commands: Commands, follow_ups: FollowUpRunner, clock: Clock) -> None:
        self._engine = engine
        self._commands = commands
        self._follow_ups = follow_ups
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[tuple[str | None, str], list[FollowUp]] = {}
        follow_ups.register(DECIDE, self._carry_out)

    def remember(self, actor: Actor, wave: Wave) -> None:
        """Note a decision that this person has just made."""
        owed = [one for one in wave.write_set.new_follow_ups if one.action == DECIDE]
        with self._lock:
            self._held.setdefault((actor.partition, actor.name), []).extend(owed)

    def catch_up(self, actor: Actor) -> None:
        """Carry out what this person decided and can no longer undo; costs nothing when there is nothing."""
        key = (actor.partition, actor.name)
        if key not in self._held:
            return
        now = self._clock.now()
        with self._lock:
            held = self._held.pop(key, [])
            later = [one for one in held if one.due_at > now]
            if later:
                self._held[key] = later
        for owed in held:
            if owed.due_at <= now:
                self._follow_ups.run_one(owed)

    def _carry_out(self, owed: FollowUp) -> Wave | None:
        said = owed.payload
        command = Command(
            id=owed.id,
            action=DECIDE,
            actor_id=said.get(ACTOR),
            on_behalf_of=said.get(ON_BEHALF_OF),
            request_id=said.get("requestId"),
        )

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            return self._engine.carry_out_decision(snapshot, prepared.compiled, owed, command)

        try:
            wave = self._commands.change(owed.tenant_id, owed.target_instance_id or "", decide, settle=False)
        except NotFound as error:
            if error.code != NOTFOUND_INSTANCE:
                raise
            return None
        return None if wave.write_set.instance is None else wave
