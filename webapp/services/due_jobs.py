"""What the poller's threads do, one at a time: groups that are run together, a follow-up, a visit (spec 8.10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from webapp.engine.instances.bookmarks import Lane
from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.partitions import PolledDatabase
from webapp.services.due_groups import Group


class Visit(NamedTuple):
    """A look into a separate database, and the work found there: one thread's job, so that nobody else waits for it."""

    database: PolledDatabase
    lane: Lane
    follow_ups: bool

    @property
    def entry(self) -> str:
        """What opens the database."""
        return self.database.entry or ""

    @property
    def background(self) -> bool:
        """Whether it runs nodes in the background."""
        return self.lane is Lane.BACKGROUND


class Together(NamedTuple):
    """Groups that are run together, or one alone."""

    groups: tuple[Group, ...]

    @property
    def background(self) -> bool:
        """Whether they run nodes in the background."""
        return self.groups[0].background


Due = Group | FollowUp | Visit
Job = Together | FollowUp | Visit
"""What one thread does at a time."""

MOST_TOGETHER = 50
"""How many groups are run together: more gain little, and hold their leases longer."""


def name_of(job: Due) -> str:
    """Return what must not run twice at once: an instance, a definition's bookmark, a follow-up, a visit."""
    if isinstance(job, Visit):
        return f"visit {job.lane} {job.entry}"
    if isinstance(job, Group):
        what = f"instance {job.instance_id}" if job.instance_id is not None else f"bookmark {job.due[0].id}"
        return f"{what} of {job.partition}"
    return f"follow-up {job.id} of {job.tenant_id}"


def is_slow(job: Due | Job) -> bool:
    """Whether it runs nodes in the background."""
    return not isinstance(job, FollowUp) and job.background


def joining(first: Group, queue: deque[Due], busy: Collection[str]) -> list[Group]:
    """Take from the queue what is run together with a group; *busy* are the names of what runs."""
    found: list[Group] = []
    names = {name_of(first)}
    for _ in range(len(queue)):
        due = queue.popleft()
        name = name_of(due)
        free = len(found) < MOST_TOGETHER - 1 and name not in names and name not in busy
        if free and isinstance(due, Group) and due.joins and due.partition == first.partition:
            names.add(name)
            found.append(due)
        else:
            queue.append(due)
    return found
