"""Notices, what carries them out of the house, and what people choose about them (spec 10)."""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum

import msgspec

from webapp.engine.numbers import JsonObject


class EventType(StrEnum):
    """What people are told of (spec 10, Events)."""

    TASK_CREATED = "TaskCreated"
    TASK_TRANSFERRED = "TaskTransferred"
    TASK_ADDED = "TaskAdded"
    TASK_RETURNED = "TaskReturned"
    TASK_URGED = "TaskUrged"
    TASK_REMINDER = "TaskReminder"
    TASK_OVERDUE = "TaskOverdue"
    TASK_ESCALATED = "TaskEscalated"
    TASK_COMPLETED = "TaskCompleted"
    DECISION_FAILED = "DecisionFailed"
    CARBON_COPY = "CarbonCopy"
    INSTANCE_COMPLETED = "InstanceCompleted"
    INSTANCE_REJECTED = "InstanceRejected"
    INSTANCE_CANCELED = "InstanceCanceled"
    INSTANCE_TERMINATED = "InstanceTerminated"
    INSTANCE_FAULTED = "InstanceFaulted"
    MENTION = "Mention"
    NODE_LISTENER = "NodeListener"


class NoticeType(StrEnum):
    """What a notice asks of its reader."""

    APPROVAL = "Approval"
    TODO = "Todo"
    BUSINESS = "Business"


class Severity(StrEnum):
    """How loud a notice is: urgent is Error, high is Warning, everything else Info."""

    INFO = "Info"
    WARNING = "Warning"
    ERROR = "Error"


class Notice(msgspec.Struct, kw_only=True, rename="camel"):
    """One recipient's notice of one transition; its id is made of what makes it unique (see ``notice_id``).

    ``origin`` and ``occurrence``: the node instance, bookmark or instance it is about, and which of its turns (try
    count, urge count, reminder number, round, revision): of the state, never of a clock. ``title``, ``body``,
    ``template_id``, ``template_version`` and ``language`` are the evidence of what was told. ``in_inbox`` false: only
    deliveries of it go out, the page does not show it. ``link_used_at``: when its link to the decision was used.
    """

    id: str
    tenant_id: str | None = None
    sequence: int = 0
    recipient_id: str
    event_type: EventType
    code: str
    type: NoticeType
    severity: Severity = Severity.INFO
    category: str | None = None
    title: str
    body: str
    language: str
    template_id: str | None = None
    template_version: int | None = None
    instance_id: str
    instance_title: str
    definition_name: str
    node_id: str | None = None
    task_id: str | None = None
    origin: str
    occurrence: int
    metadata: JsonObject
    in_inbox: bool = True
    created_at: datetime
    read_at: datetime | None = None
    link_used_at: datetime | None = None


def notice_id(
    partition: str | None, instance_id: str, origin: str, event_type: str, recipient_id: str, occurrence: int
) -> str:
    """Return the notice's id: the same transition told again has the same, so that it is written once."""
    parts = (partition or "", instance_id, origin, event_type, recipient_id, str(occurrence))
    return _digest("notice", *parts)


def delivery_id(of: str, endpoint: str) -> str:
    """Return the id of what goes out of a notice or an event to one endpoint; receivers drop repeats by it."""
    return _digest("delivery", of, endpoint)


def _digest(*parts: str) -> str:
    text = "\n".join(part.replace("\\", "\\\\").replace("\n", "\\n") for part in parts)
    found = hashlib.sha256(text.encode()).hexdigest()
    return f"{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:32]}"


class ChannelKind(StrEnum):
    """How something leaves the house."""

    EMAIL = "email"
    WEBHOOK = "webhook"
    DINGTALK = "dingtalk"
    WECOM = "wecom"
    FEISHU = "feishu"
    SLACK = "slack"
    AMQP = "amqp"
    REDIS = "redis"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where an administrator lets things go out: a subscription of topics, a channel for people's notices, or both.

    ``topics``: as in the settings, ``workflow.task.*`` and the like; empty: no events. ``for_notices``: people may
    switch it on in their preferences. ``address``: a URL (webhook, robot, broker); of e-mail nothing, the server stands
    in the settings. ``options``: of a broker ``exchange``, ``routingKey`` or ``stream``. The secret is never shown
    again. ``unreadable``: which of ``address`` and ``secret`` are stored under a key that is not there.
    ``revision`` rises with every write and is the ETag.
    """

    id: str
    tenant_id: str | None = None
    revision: int = 1
    kind: ChannelKind
    name: str
    address: str = ""
    secret: str | None = None
    topics: list[str] = []
    for_notices: bool = False
    options: JsonObject = {}
    enabled: bool = True
    unreadable: list[str] = []
    created_at: datetime
    created_by: str | None = None
    updated_at: datetime
    updated_by: str | None = None


class DeliveryState(StrEnum):
    """Where a delivery stands. ``failed``: tried in vain and waits for its next attempt; ``dead``: tried for the last
    time; ``dropped``: an administrator marked it as settled."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    DEAD = "dead"
    DROPPED = "dropped"


OPEN_STATES = (DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.FAILED)
"""A delivery waits for the earlier open or dead one of its line."""


class DeliveryContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is sent, decided when it was written: a later change of a template changes nothing of it.

    Of a notice ``title``, ``body``, ``language`` and, when there is a task to decide, ``task_id``; of an event
    ``data``.
    """

    title: str = ""
    body: str = ""
    language: str = "en"
    task_id: str | None = None
    data: JsonObject | None = None
    template_id: str | None = None
    template_version: int | None = None


class Delivery(msgspec.Struct, kw_only=True, rename="camel"):
    """One thing that goes out to one address, accounted for attempt by attempt.

    ``line``: deliveries of one line are sent one after the other in the order of ``sequence``; it names the endpoint,
    the recipient and the instance. ``bundle``: those of one bundle that are due are sent as one message (digest).
    ``address``: the e-mail address or the person's handle in a chat; an endpoint's own address is not copied.
    ``last_error``: no secrets, no body.
    """

    id: str
    tenant_id: str | None = None
    sequence: int = 0
    line: str
    kind: ChannelKind
    endpoint_id: str
    notice_id: str | None = None
    recipient_id: str | None = None
    topic: str | None = None
    instance_id: str | None = None
    address: str | None = None
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    next_attempt_at: datetime
    bundle: str | None = None
    receipt: str | None = None
    last_error: str | None = None
    created_at: datetime
    ended_at: datetime | None = None
    content: DeliveryContent


class AttemptOutcome(StrEnum):
    """How an attempt ended; ``lost``: the process went away before it could say."""

    SENT = "sent"
    FAILED = "failed"
    LOST = "lost"


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt of a delivery: when, how long, how it ended."""

    delivery_id: str
    number: int
    started_at: datetime
    duration_ms: int
    outcome: AttemptOutcome
    error: str | None = None


class NoticeTemplate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One version of the text of an event type, for one category of definitions or all, in one language.

    The highest version counts; one that is not ``enabled`` hands over to what is less specific. Versions are never
    changed.
    """

    id: str
    tenant_id: str | None = None
    event_type: EventType
    business_type: str | None = None
    language: str
    version: int
    title: str
    body: str
    enabled: bool = True
    created_at: datetime
    created_by: str | None = None


class Digest(StrEnum):
    """When external channels tell: at once, or what has gathered, every hour or day."""

    NOW = "Now"
    HOURLY = "Hourly"
    DAILY = "Daily"


class EventRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What somebody wants of an event type: the inbox, and which endpoints by id; what is not named is as always."""

    inbox: bool = True
    endpoints: dict[str, bool] = {}


class QuietHours(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Hours without external messages: ``HH:MM`` to ``HH:MM`` of the next day when it is the earlier one, in a zone."""

    start: str
    end: str
    time_zone: str


class NoticePreferences(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one person chose; without a row everything is told in the inbox, and by e-mail where there is an address.

    ``rules``: by event type. ``handles``: by endpoint id, how the person is called there (a phone number or user id,
    for mentions). ``digest``: by endpoint id. ``daily_at``: when a daily digest comes, ``HH:MM`` in ``time_zone``.
    """

    tenant_id: str | None = None
    user_id: str
    revision: int = 0
    rules: dict[EventType, EventRule] = {}
    quiet: QuietHours | None = None
    digest: dict[str, Digest] = {}
    daily_at: str = "08:00"
    time_zone: str | None = None
    handles: dict[str, str] = {}
    updated_at: datetime | None = None
