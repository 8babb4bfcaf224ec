"""Connections to Redis by kombu and redis; imported when the first message goes there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from kombu.connection import Connection
from kombu.exceptions import KombuError
from kombu.messaging import Producer
from kombu.transport import redis as kombu_redis

from webapp.channels.broker import BrokerUrl, Dial, Library, Link, option
from webapp.channels.envelopes import envelope, topic
from webapp.channels.signatures import DELIVERY_HEADER
from webapp.engine.ports.channels import OutgoingMessage

DEFAULT_STREAM = "waypost"


class RedisLink(Link):
    """A connection by which entries are added and messages are put into queues."""

    def __init__(self, url: BrokerUrl, dial_it: Dial) -> None:
        client = Connection(
            hostname=url.host,
            port=url.port,
            userid=url.user,
            password=url.password,
            virtual_host=url.path or "0",
            transport=_Transport,
            transport_options={"dial": dial_it},
        )
        self._transport = client.transport
        self._channel = self._transport.create_channel(self._transport)

    def publish(self, message: OutgoingMessage) -> str:
        """Add the entry, or put the message into the queue."""
        queue = option(message.endpoint, "queue")
        if queue is not None:
            return self._put(queue, message)
        stream = option(message.endpoint, "stream") or DEFAULT_STREAM
        fields = {"id": message.delivery_id, "topic": topic(message), "body": envelope(message)}
        entry = self._channel.client.xadd(stream, fields)
        return f"{stream} {entry.decode() if isinstance(entry, bytes) else entry}"

    def close(self) -> None:
        """Drop the connection."""
        self._channel._disconnect_pools()  # kombu's own close would ask the server to put back what was not consumed
        self._transport.cycle.close()

    def _put(self, queue: str, message: OutgoingMessage) -> str:
        Producer(self._channel, auto_declare=False).publish(
            envelope(message),
            content_type="application/json",
            content_encoding="utf-8",
            exchange="",
            routing_key=queue,
            message_id=message.delivery_id,
            type=topic(message),
            headers={DELIVERY_HEADER: message.delivery_id},
        )
        return f"queue {queue}"


class _DialledConnection(redis.Connection):
    """Gets its socket from us, checked and, with ``rediss``, secured."""

    def __init__(self, *args: Any, dial: Dial, **kwargs: Any) -> None:
        self._dial = dial
        super().__init__(*args, **kwargs)

    def _connect(self) -> socket.socket:
        return self._dial()


class _Channel(kombu_redis.Channel):
    connection_class: type[redis.Connection] | None = _DialledConnection

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        # Set before what is asked for, which makes a subclass of the connection that takes what it is given.
        found: dict[str, Any] = super()._connparams(asynchronous)
        return {**found, "dial": self.connection.client.transport_options["dial"]}

    @contextmanager
    def conn_or_acquire(self, client: redis.Redis | None = None) -> Iterator[redis.Redis]:
        """Use the connection that there is; kombu would make a second one to publish by."""
        yield client or self.client


class _Transport(kombu_redis.Transport):
    Channel = _Channel


LIBRARY = Library(RedisLink, (redis.RedisError, KombuError))
