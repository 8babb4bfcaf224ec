"""The stories that fill an installation: how instances of the sample workflows went, by the status they are in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webapp.engine.instances.model import InstanceStatus
from webapp.services.filling.stage import AMOUNT, APPROVER, GROUP, MEMBER, REMARK, Play, signer

SAMPLES = ("expense-claim", "payment-approval", "contract-review", "quick-answer", "stock-count", "repair-ticket")

EXPENSE, PAYMENT, CONTRACT, ANSWER, COUNT, REPAIR = SAMPLES

APPROVED, REJECTED = "approved", "rejected"
_CLAIM = {"amount": int(AMOUNT), "group": f"role:{GROUP}", "approver": APPROVER}


@dataclass(frozen=True)
class Story:
    """What happened to an instance.

    ``tasks`` is the number of open tasks that are listed; ``signers`` are so many people, or groups (*by_groups*).
    *ahead*: its last moment is still to come.
    """

    status: InstanceStatus
    play: Callable[[Play], None]
    weight: int = 1
    tasks: int = 0
    signers: int = 0
    by_groups: bool = False
    ahead: bool = False


def _claimed(play: Play) -> None:
    play.start(EXPENSE, **_CLAIM)
    play.go_on()
    play.claim()


def _checked(play: Play) -> None:
    _claimed(play)
    play.go_on()
    play.decide(MEMBER, APPROVED)


def _refused(play: Play) -> None:
    _claimed(play)
    play.go_on()
    play.decide(MEMBER, REJECTED, REMARK)


def _paid_back(play: Play) -> None:
    _checked(play)
    play.go_on()
    play.decide(APPROVER, APPROVED)


def _payment(priority: str = "normal") -> Callable[[Play], None]:
    def play(play: Play) -> None:
        play.start(PAYMENT, amount=int(AMOUNT), approver=APPROVER, priority=priority)

    return play


def _then(first: Callable[[Play], None], *more: Callable[[Play], None]) -> Callable[[Play], None]:
    """Return a play that goes on, a moment later each time."""

    def play(play: Play) -> None:
        first(play)
        for one in more:
            play.go_on()
            one(play)

    return play


def _decided(outcome: str, comment: str | None = None) -> Callable[[Play], None]:
    return lambda play: play.decide(APPROVER, outcome, comment)


def _signing(count: int, signed: int = 0) -> Callable[[Play], None]:
    def play(play: Play) -> None:
        play.start(CONTRACT, amount=int(AMOUNT), signers=[signer(number) for number in range(count)])
        for number in range(signed):
            play.go_on()
            play.decide(signer(number), APPROVED)

    return play


def _asked(count: int) -> Callable[[Play], None]:
    return lambda play: play.start(ANSWER, candidates=[signer(number) for number in range(count)])


def _counting(count: int) -> Callable[[Play], None]:
    return lambda play: play.start(COUNT, groups=[f"role:{signer(number)}" for number in range(count)])


def _repair(path: str) -> Callable[[Play], None]:
    return lambda play: play.start(REPAIR, path=path)


def _visit(play: Play) -> None:
    play.start(REPAIR, path="visit", visitAt=play.future())
    play.keep_future()


_S = InstanceStatus

WAITING = (
    Story(_S.RUNNING, _repair("parts")),
    Story(_S.RUNNING, _visit, ahead=True),
)
"""Running, without a task."""

ONE_TASK = (
    Story(_S.RUNNING, lambda play: play.start(EXPENSE, **_CLAIM), weight=4, tasks=1),
    Story(_S.RUNNING, _claimed, weight=1, tasks=1),
    Story(_S.RUNNING, _checked, weight=2, tasks=1),
    Story(_S.RUNNING, _payment(), weight=3, tasks=1),
    Story(_S.RUNNING, _payment("high"), weight=1, tasks=1),
    Story(_S.RUNNING, _then(_payment("urgent"), lambda play: play.open_first(APPROVER)), weight=1, tasks=1),
)

ENDED = (
    Story(_S.SUSPENDED, _then(lambda play: play.start(EXPENSE, **_CLAIM), Play.suspend)),
    Story(_S.SUSPENDED, _then(_payment(), Play.suspend)),
    Story(_S.COMPLETED, _paid_back, weight=3),
    Story(_S.COMPLETED, _refused),
    Story(_S.COMPLETED, _then(_payment(), _decided(APPROVED)), weight=3),
    Story(_S.COMPLETED, _then(_payment("high"), _decided(REJECTED, REMARK))),
    Story(_S.COMPLETED, _signing(3, 3), signers=3),
    Story(_S.COMPLETED, _then(_asked(3), lambda play: play.decide(signer(0), APPROVED, REMARK)), signers=3),
    Story(_S.COMPLETED, _repair("done")),
    Story(_S.CANCELED, _then(_checked, Play.cancel)),
    Story(_S.CANCELED, _then(_payment(), Play.cancel), weight=2),
    Story(_S.FAULTED, _repair("broken")),
    Story(_S.TERMINATED, _repair("withdrawn"), weight=2),
    Story(_S.TERMINATED, _then(_payment(), Play.terminate)),
)
"""Every other status; of a suspended instance no task is listed."""


def several_tasks(count: int) -> tuple[Story, ...]:
    """Return the stories that leave so many open tasks (two or more)."""
    return (
        Story(_S.RUNNING, _signing(count), weight=2, tasks=count, signers=count),
        Story(_S.RUNNING, _asked(count), tasks=count, signers=count),
        Story(_S.RUNNING, _counting(count), weight=2, tasks=count, signers=count, by_groups=True),
    )
