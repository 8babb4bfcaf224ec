"""What the operations answer with beside the instance: rights, and what a dry run found."""

from __future__ import annotations

import msgspec

from webapp.engine.errors import Problem
from webapp.engine.runtime.jumping import Jump
from webapp.engine.runtime.migration import Migration

__all__ = ["InstanceRights", "Jump", "JumpReport", "Migration", "MigrationReport"]


class InstanceRights(msgspec.Struct, frozen=True, kw_only=True):
    """Which operations on an instance are possible now, for the account that asks.

    ``withdraw`` is what is allowed until somebody else has approved; whether that has happened the withdrawal checks.
    """

    suspend: bool = False
    resume: bool = False
    cancel: bool = False
    terminate: bool = False
    retry: bool = False
    jump: bool = False
    migrate: bool = False
    update_variables: bool = False
    withdraw: bool = False


class JumpReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a jump would take away; ``revision`` is the instance's that was looked at."""

    revision: int
    canceled_node_ids: list[str]
    task_ids: list[str]
    dropped_token_node_ids: list[str]
    dropped_join_ids: list[str]


class MigrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes in use with what they become, and all that does not map."""

    revision: int
    nodes: dict[str, str]
    problems: list[Problem]
