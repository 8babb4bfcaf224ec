"""What a filled installation holds: how many of what, whose, when and about what; the same seed gives the same."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeVar

from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.filling import Copy
from webapp.services.filling.stories import ENDED, ONE_TASK, WAITING, Story, several_tasks
from webapp.services.filling.words import FAMILY, GIVEN, KINDS, PLACES, RARE, RARITY, REMARKS, spread

T = TypeVar("T")

MOST_TASKS = 40
"""Open tasks of one instance."""

USUAL_TASKS = 25
"""Open tasks of an instance on the average, at most: more tasks get more instances."""

GROUPS_OF_A_USER = 3
LANGUAGES = ("en", "zh")
"""Of the users in turn."""

YEAR = timedelta(days=365)
LONGEST_STEP = timedelta(days=9)
AHEAD = timedelta(days=60)
_TICK = timedelta(milliseconds=1)
_SUBJECTS = spread(KINDS)


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """How much is wanted. ``instances`` are all, those of the tasks among them; more tasks than they hold make more."""

    tasks: int
    instances: int
    users: int
    groups: int
    seed: int = 1


class People:
    """The accounts and groups, by number from 1, and who is in which group."""

    def __init__(self, amounts: Amounts, tenant: str | None) -> None:
        self._tenant = tenant
        self.users = [self._login(number) for number in range(1, amounts.users + 1)]
        self.groups = [f"g{number}" for number in range(1, amounts.groups + 1)]
        self.members: list[list[str]] = [[] for _ in self.groups]
        self.groups_of: list[list[str]] = [[] for _ in self.users]
        self._join()

    def _login(self, number: int) -> str:
        # A login name is unique over the installation.
        return f"u{number}" if self._tenant is None else f"u{number}@{self._tenant}"

    def _join(self) -> None:
        """Give each group somebody and each user a few groups, the same ones every time."""
        for number in range(max(len(self.groups), GROUPS_OF_A_USER * len(self.users))):
            group = number % len(self.groups)
            # Every further round of the groups begins one user later.
            user = (number + number // len(self.groups)) % len(self.users)
            if self.groups[group] not in self.groups_of[user]:
                self.groups_of[user].append(self.groups[group])
                self.members[group].append(self.users[user])

    def language_of(self, number: int) -> str:
        """Return the language of the user of that number, from 0."""
        return LANGUAGES[number % len(LANGUAGES)]

    def shown_name(self, number: int) -> str:
        """Return the shown name of the user of that number, from 0."""
        return f"{GIVEN[number % len(GIVEN)]} {FAMILY[number // len(GIVEN) % len(FAMILY)]}"


class Plan:
    """The copies to be made, and the stories they are copies of."""

    def __init__(self, amounts: Amounts, people: People, now: datetime, salt: int) -> None:
        self._people = people
        self._now = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._random = random.Random(amounts.seed)  # noqa: S311  # plausible, not secret
        self._salt = salt & 0x3FFF
        self._counts: Sequence[int] = ()
        self._most = min(MOST_TASKS, max(len(people.users), len(people.groups)))
        share = -(-amounts.instances // len(InstanceStatus))
        usual = max(1, min(USUAL_TASKS, self._most * 5 // 8))
        self.tasks = amounts.tasks
        self.running = max(share, -(-amounts.tasks // usual))
        self.instances = max(amounts.instances, self.running)

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        """The stories that may be needed; a copy names one by its place here."""
        most = self._most if self.tasks else 1
        users, groups = len(self._people.users), len(self._people.groups)
        several = [
            story
            for count in range(2, most + 1)
            for story in several_tasks(count)
            if count <= (groups if story.by_groups else users)
        ]
        return (*WAITING, *ONE_TASK, *ENDED, *several)

    def copies(self, moments: Sequence[int]) -> Iterator[Copy]:
        """Return the copies, oldest first; *moments* says how many each pattern has."""
        self._counts = moments
        by_status = self._by_status()
        by_tasks = self._by_tasks()
        left, running_left = self.tasks, self.running
        step = YEAR / max(1, self.instances)
        created = self._now - YEAR
        for number, status in enumerate(self._statuses()):
            if status is InstanceStatus.RUNNING:
                tasks = self._tasks_of_next(left, running_left)
                left, running_left = left - tasks, running_left - 1
                story = self._one_of(by_tasks[tasks])
            else:
                story = self._one_of(by_status[status])
            yield self._copy(number, story, _milliseconds(created + step * number))

    def _statuses(self) -> Iterator[InstanceStatus]:
        """Return the status of each instance: running ones as many as wanted, the others in equal parts."""
        others = [status for status in InstanceStatus if status is not InstanceStatus.RUNNING]
        running = self.running
        for number in range(self.instances):
            left = self.instances - number
            if self._random.random() * left < running:
                running -= 1
                yield InstanceStatus.RUNNING
            else:
                yield others[(number + number // len(others)) % len(others)]

    def _tasks_of_next(self, left: int, instances: int) -> int:
        """Return how many open tasks the next running instance has, so that they come out even in the end."""
        mean = left / instances
        wanted = int(mean * self._random.uniform(0.2, 1.8) + self._random.random())
        least = left - self._most * (instances - 1)
        return max(least, min(wanted, left, self._most), 0)

    def _by_status(self) -> dict[InstanceStatus, list[int]]:
        found: dict[InstanceStatus, list[int]] = {}
        for place, story in enumerate(self.stories):
            if story.status is not InstanceStatus.RUNNING:
                found.setdefault(story.status, []).extend([place] * story.weight)
        return found

    def _by_tasks(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for place, story in enumerate(self.stories):
            if story.status is InstanceStatus.RUNNING:
                found.setdefault(story.tasks, []).extend([place] * story.weight)
        return found

    def _any(self, count: int) -> int:
        return int(self._random.random() * count)

    def _one_of(self, values: Sequence[T]) -> T:
        return values[int(self._random.random() * len(values))]

    def _copy(self, number: int, place: int, created: datetime) -> Copy:
        story = self.stories[place]
        group = int(self._random.random() * len(self._people.groups))
        users = self._people.users
        subject, starter, approver = self._subject(number), self._one_of(users), self._any(len(users))
        words = (
            subject,
            starter,
            users[approver],
            self._people.groups[group],
            self._one_of(self._people.members[group]),
            f"{created.year}-{number + 1:07d}",
            self._one_of(REMARKS),
            str(int(self._random.random() * 9_900) + 100),
            *self._signers(story),
        )
        # All of an instance's notices are in one language, that of its approver.
        language = LANGUAGES.index(self._people.language_of(approver))
        pattern = place + language * len(self.stories)
        return Copy(pattern, self._id_prefix(number, created), self._moments(place, created), words)

    def _subject(self, number: int) -> str:
        rare = f" {self._one_of(RARE)}" if self._random.random() * RARITY < 1 else ""
        return f"{self._one_of(_SUBJECTS)} {self._one_of(PLACES)}{rare} {number + 1}"

    def _signers(self, story: Story) -> Sequence[str]:
        if not story.signers:
            return ()
        names = self._people.groups if story.by_groups else self._people.users
        first = int(self._random.random() * len(names))
        if first + story.signers <= len(names):
            return names[first : first + story.signers]
        return [*names[first:], *names[: first + story.signers - len(names)]]

    def _moments(self, place: int, created: datetime) -> tuple[datetime, ...]:
        """Return when the story began and went on: steps of days at most, never after now but for what lies ahead."""
        found = [created]
        ahead = self.stories[place].ahead
        for _ in range(self._counts[place] - 1 - ahead):
            longest = min((self._now - found[-1]) / 2, LONGEST_STEP)
            found.append(_milliseconds(found[-1] + longest * self._random.random()) + _TICK)
        if ahead:
            found.append(_milliseconds(self._now + AHEAD * (0.1 + self._random.random())))
        return tuple(found)

    def _id_prefix(self, number: int, created: datetime) -> str:
        """Return the first 24 characters of a UUID v7: when it was created, and what makes it this copy's."""
        stamp = int(created.timestamp() * 1000)
        head = f"{stamp:012x}"
        return f"{head[:8]}-{head[8:]}-7{number & 0xFFF:03x}-{0x8000 | self._salt:04x}-"


def _milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
