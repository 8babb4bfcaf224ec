"""Connections to RabbitMQ by kombu and amqp; imported when the first message goes there."""

from __future__ import annotations

import socket
from typing import Any

from amqp.exceptions import AMQPError, MessageNacked
from amqp.transport import TCPTransport
from kombu.connection import Connection
from kombu.exceptions import KombuError
from kombu.messaging import Producer
from kombu.transport import pyamqp

from webapp.channels.broker import BrokerUrl, Dial, Library, Link, option
from webapp.channels.envelopes import envelope, topic
from webapp.channels.signatures import DELIVERY_HEADER
from webapp.engine.ports.channels import OutgoingMessage, SendingFailed

DEFAULT_EXCHANGE = "amq.topic"
"""It is there in every virtual host, and queues are bound to it by patterns of topics."""

_PERSISTENT = 2


class RabbitMqLink(Link):
    """A channel of a connection; what is published is confirmed, or comes back."""

    def __init__(self, url: BrokerUrl, dial_it: Dial) -> None:
        client = Connection(
            hostname=url.host,
            port=url.port,
            userid=url.user,
            password=url.password,
            virtual_host=url.path or "/",
            transport=_Transport,
            transport_options={"dial": dial_it, "confirm_publish": True},
        )
        # Not by the client, which would try again by itself and sleep in between.
        self._connection = client.transport.establish_connection()
        self._returned: list[Exception] = []
        self._producer = Producer(self._connection.channel(), auto_declare=False, on_return=self._on_return)

    def publish(self, message: OutgoingMessage) -> str:
        """Publish, and wait for the confirmation."""
        self._returned.clear()
        exchange = option(message.endpoint, "exchange") or DEFAULT_EXCHANGE
        self._producer.publish(
            envelope(message),
            content_type="application/json",
            content_encoding="utf-8",
            exchange=exchange,
            routing_key=option(message.endpoint, "routingKey") or topic(message),
            mandatory=True,
            delivery_mode=_PERSISTENT,
            message_id=message.delivery_id,
            timestamp=int(message.occurred_at.timestamp()),
            type=topic(message),
            app_id="waypost",
            headers={DELIVERY_HEADER: message.delivery_id},
        )
        if self._returned:
            raise SendingFailed(f"no queue takes it from the exchange {exchange}")
        return f"confirmed, exchange {exchange}"

    def close(self) -> None:
        """Drop the connection."""
        self._connection.collect()

    def _on_return(self, error: Exception, *_: object) -> None:
        self._returned.append(error)


class _DialledTransport(TCPTransport):  # type: ignore[misc]  # amqp ships no types
    dial: Dial

    def _connect(self, host: str, port: int, timeout: float | None) -> None:
        self.sock: socket.socket = self.dial()

    def _get_tcp_socket_defaults(self, sock: socket.socket) -> dict[int, int]:
        # What it finds there it sets again, and Linux refuses the segment size of its own loopback after a handshake.
        found: dict[int, int] = super()._get_tcp_socket_defaults(sock)
        found.pop(getattr(socket, "TCP_MAXSEG", -1), None)
        return found


class _DialledConnection(pyamqp.Connection):
    """Gets its socket from us, checked and, with ``amqps``, secured."""

    def __init__(self, *args: Any, dial: Dial, **kwargs: Any) -> None:
        self._dial = dial
        super().__init__(*args, **kwargs)

    def Transport(self, host: str, *args: Any, **kwargs: Any) -> TCPTransport:
        """Return the transport that the connection reads and writes by."""
        made = _DialledTransport(host, raise_on_initial_eintr=True)
        made.dial = self._dial
        return made


class _Transport(pyamqp.Transport):
    Connection = _DialledConnection


# The last one is what a lost connection raises.
LIBRARY = Library(RabbitMqLink, (AMQPError, MessageNacked, KombuError, AttributeError))
