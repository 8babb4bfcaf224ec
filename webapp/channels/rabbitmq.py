"""RabbitMQ by AMQP 0-9-1: persistent, mandatory, and *sent* means confirmed by the broker (spec 10, Amendments)."""

from __future__ import annotations

from typing import ClassVar

from webapp.channels.broker import BrokerChannel, Library
from webapp.engine.notifications.model import ChannelKind


class RabbitMqChannel(BrokerChannel):
    """Publishes to an exchange that is there (option ``exchange``), with the topic or ``routingKey`` as routing key.

    A message that no queue takes comes back and is a failure: an event must not fall into nothing because nobody has
    bound a queue yet.
    """

    kind = ChannelKind.AMQP
    schemes: ClassVar = {"amqp": (5672, False), "amqps": (5671, True)}
    known_options = ("exchange", "routingKey")
    address_key = "channel.address_no_amqp"

    def _load(self) -> Library:
        from webapp.channels import rabbitmq_links  # noqa: PLC0415  # kombu and amqp are loaded when they are needed

        return rabbitmq_links.LIBRARY
