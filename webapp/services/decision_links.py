"""Links to a decision in messages: signed, for one person, once, for some days (spec 10).

A link opens the task after sign-in as its recipient; it decides nothing and signs nobody in. Whoever else gets hold of
it, out of a chat or a forwarded mail, can do nothing with it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

import msgspec
from itsdangerous import BadData, SignatureExpired, URLSafeTimedSerializer
from itsdangerous.timed import TimestampSigner

from webapp.accounts.model import Actor
from webapp.engine.clock import Clock
from webapp.engine.errors import DENIED_ACTOR, Conflict, Denied, NotFound, WorkflowError
from webapp.engine.notifications.model import Delivery, Notice
from webapp.engine.ports.stores import UnitOfWork
from webapp.services.access import NOT_FOUND
from webapp.services.storage import Storage

PATH: Final = "/d/"
_SALT: Final = "waypost.decision-link"
_LONGEST: Final = 2_000


class _Subject(msgspec.Struct, frozen=True, array_like=True):
    """What a token says: whose notice, of which task."""

    partition: str | None
    notice_id: str
    task_id: str
    recipient_id: str


class DecisionLinks:
    """Makes links, and opens what they lead to. Without *base_url* messages carry none."""

    def __init__(self, *, storage: Storage, clock: Clock, key: str, base_url: str | None, days: float) -> None:
        self._storage = storage
        self._clock = clock
        self._base_url = None if base_url is None else base_url.rstrip("/")
        self._seconds = int(timedelta(days=days).total_seconds())
        self._serializer = URLSafeTimedSerializer(key, salt=_SALT, signer=_signer(clock))

    def url(self, of: Notice | Delivery) -> str | None:
        """Return the absolute address for what somebody is told, or None: there is no task, or no host is known."""
        if self._base_url is None:
            return None
        if isinstance(of, Notice):
            notice_id, task_id = of.id, of.task_id
        else:
            notice_id, task_id = of.notice_id or "", of.content.task_id
        if not task_id or not notice_id or of.recipient_id is None:
            return None
        subject = _Subject(of.tenant_id, notice_id, task_id, of.recipient_id)
        return f"{self._base_url}{PATH}{quote(str(self._serializer.dumps(msgspec.to_builtins(subject))))}"

    def open(self, actor: Actor, token: str) -> str:
        """Use a link up, mark its notice as read, and return the id of the task.

        :raises NotFound: it is none of this installation, or leads to nothing any more.
        :raises Denied: it is somebody else's. :raises Conflict: it was used, its time is over, or the task is done;
            the details name the task, so that a page can offer it.
        """
        subject, expired = self._read(token)
        if subject is None:
            raise NotFound("services.link.invalid", code=NOT_FOUND)
        if (subject.partition, subject.recipient_id) != (actor.partition, actor.name):
            raise Denied("services.link.not_yours", code=DENIED_ACTOR)
        if expired:
            raise _refused("services.link.expired", subject)
        refusal = self._storage.write(subject.partition, lambda work: self._use(work, subject))
        if refusal is not None:
            raise refusal
        return subject.task_id

    def _use(self, work: UnitOfWork, subject: _Subject) -> WorkflowError | None:
        partition, now = subject.partition, self._clock.now()
        notice = work.notices.find(partition, subject.notice_id)
        if notice is None or (notice.recipient_id, notice.task_id) != (subject.recipient_id, subject.task_id):
            return NotFound("services.link.gone", code=NOT_FOUND)
        if work.bookmarks.find(partition, subject.task_id) is None:
            work.notices.mark_task_read(partition, subject.recipient_id, subject.task_id, now)
            return _refused("services.link.over", subject)
        if not work.notices.use_link(partition, notice.id, now):
            return _refused("services.link.used", subject)
        work.notices.mark_task_read(partition, subject.recipient_id, subject.task_id, now)
        return None

    def _read(self, token: str) -> tuple[_Subject | None, bool]:
        """Return what a token says and whether its time is over; None: it is no token of ours."""
        if len(token) > _LONGEST:
            return None, False
        try:
            found, expired = self._serializer.loads(token, max_age=self._seconds), False
        except SignatureExpired as late:
            found, expired = self._payload(late.payload), True
        except BadData:
            return None, False
        try:
            return msgspec.convert(found, _Subject), expired
        except msgspec.ValidationError:
            return None, False

    def _payload(self, payload: Any) -> Any:
        """Return what an expired token says; its signature was good."""
        try:
            return self._serializer.load_payload(payload)
        except BadData:
            return None


def _refused(key: str, subject: _Subject) -> Conflict:
    return Conflict(key, details={"taskId": subject.task_id})


def _signer(clock: Clock) -> type[TimestampSigner]:
    """Return a signer that goes by the installation's clock."""

    class ClockedSigner(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(clock.now().timestamp())

    return ClockedSigner
