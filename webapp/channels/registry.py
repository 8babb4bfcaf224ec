"""All channels there are, by kind. Adding one is one class, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from webapp.channels.addresses import AddressPolicy
from webapp.channels.dingtalk import DingTalkChannel
from webapp.channels.email import EmailChannel
from webapp.channels.feishu import FeishuChannel
from webapp.channels.http_calls import HttpCalls
from webapp.channels.mail_text import MailText, mailbox
from webapp.channels.posting import Posting
from webapp.channels.rabbitmq import RabbitMqChannel
from webapp.channels.redis_stream import RedisChannel
from webapp.channels.slack import SlackChannel
from webapp.channels.smtp import MailServer, Security
from webapp.channels.webhook import WebhookChannel
from webapp.channels.wecom import WeComChannel
from webapp.config import Settings
from webapp.engine.clock import Clock
from webapp.engine.notifications.model import ChannelKind
from webapp.engine.ports.channels import Channel
from webapp.messages.catalog import Catalog

LONGEST_ANSWER_BYTES = 64 * 1024
"""Of a webhook or a robot: nothing but a code and a word is read from it."""


@dataclass(frozen=True)
class ChannelSet:
    """The channels by kind; ``close`` lets go of the connections that some of them keep."""

    channels: Mapping[ChannelKind, Channel]
    close: Callable[[], None]


def build_channels(settings: Settings, *, catalog: Catalog, clock: Clock, templates: Path) -> ChannelSet:
    """Return every channel, set up as the installation is; ``templates`` is the folder of the templates."""
    policy = AddressPolicy(settings.http_allow)
    posting = Posting(HttpCalls(policy, max_bytes=LONGEST_ANSWER_BYTES, follow=False), policy, clock)
    sender = mailbox(settings.mail_from) if settings.mail_from else None
    brokers = (RabbitMqChannel(policy), RedisChannel(policy))
    every: tuple[Channel, ...] = (
        EmailChannel(_mail_server(settings), sender, MailText(catalog, templates), clock),
        WebhookChannel(posting),
        DingTalkChannel(posting, catalog),
        WeComChannel(posting, catalog),
        FeishuChannel(posting, catalog),
        SlackChannel(posting, catalog),
        *brokers,
    )

    def close() -> None:
        for broker in brokers:
            broker.close()

    return ChannelSet({channel.kind: channel for channel in every}, close)


def _mail_server(settings: Settings) -> MailServer | None:
    if settings.smtp_host is None:
        return None
    return MailServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=cast("Security", settings.smtp_security.lower()),
        user=settings.smtp_user,
        password=settings.smtp_password,
    )
