"""Brokers (WAYPOST_TEST_AMQP_URL, WAYPOST_TEST_REDIS_URL), and a proxy that fails as networks do."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

import pytest
import redis
from kombu.connection import Connection

from webapp.engine.notifications.model import ChannelKind


def amqp_url() -> str:
    """Return the address of RabbitMQ."""
    return os.environ.get("WAYPOST_TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672")


def redis_url() -> str:
    """Return the address of Redis, with a database of the tests' own."""
    return os.environ.get("WAYPOST_TEST_REDIS_URL", "redis://127.0.0.1:6379/9")


def rabbitmq() -> Any:
    """Return a connection to RabbitMQ; without one the test is skipped, and fails when CI=true."""
    connection = Connection(amqp_url(), connect_timeout=5)
    try:
        connection.ensure_connection(max_retries=1, interval_start=0)
    except Exception as error:
        connection.release()
        _unreachable("RABBITMQ", error)
    return connection


def redis_server() -> Any:
    """Return a client of Redis; without one the test is skipped, and fails when CI=true."""
    client = redis.Redis.from_url(redis_url(), socket_connect_timeout=5)
    try:
        client.ping()
    except redis.RedisError as error:
        client.close()
        _unreachable("REDIS", error)
    return client


def _unreachable(name: str, error: Exception) -> NoReturn:
    reason = f"{name} IS NOT REACHABLE: {error}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Proxy:
    """Stands between a channel and its broker, with *tls* as one that is secured; ``connections`` counts."""

    def __init__(self, kind: ChannelKind, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        if kind is ChannelKind.AMQP:
            rabbitmq().release()
        else:
            redis_server().close()
        self.connections = 0
        self._target = urlsplit(amqp_url() if kind is ChannelKind.AMQP else redis_url())
        # A stream that is deleted again, or (once the block is entered) a queue of the block's own.
        self.options: dict[str, str] = {"stream": "waypost-test-proxy"}
        self._kind = kind
        self._queue: Any = None
        self._consumer: Any = None
        self._flowing = threading.Event()
        self._pairs: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The broker's address by way of the proxy."""
        login, at, _ = self._target.netloc.rpartition("@")
        return urlunsplit(self._target._replace(netloc=f"{login}{at}127.0.0.1:{self._port}"))

    def __enter__(self) -> Proxy:
        if self._kind is ChannelKind.AMQP:
            self._queue = rabbitmq()
            channel = self._queue.channel()
            name = channel.queue_declare(exclusive=True).queue
            self.options = {"exchange": "amq.direct", "routingKey": name}
            channel.queue_bind(name, "amq.direct", name)
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self._queue is not None:
            self._queue.release()
        else:
            with redis_server() as server:
                server.delete("waypost-test-proxy")

    def get(self) -> Any:
        """Return the next message of the block's queue, past the proxy; None: there is none."""
        if self._consumer is None:
            self._consumer = self._queue.channel()
        return self._consumer.basic_get(self.options["routingKey"], no_ack=True)

    def open(self) -> None:
        """Listen, after a closing at the same port."""
        self._flowing.set()
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Listen no more, and cut what there is."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.cut()

    def cut(self) -> None:
        """End every connection."""
        self._flowing.set()
        pairs, self._pairs = self._pairs, []
        for one in pairs:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def hold(self) -> None:
        """Let nothing through, but end nothing."""
        self._flowing.clear()

    def go_on(self) -> None:
        """Let everything through again."""
        self._flowing.set()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
                if self._tls is not None:
                    client = self._tls.wrap_socket(client, server_side=True)
                server = socket.create_connection((self._target.hostname or "127.0.0.1", self._target.port or 0))
            except OSError:
                return
            self.connections += 1
            self._pairs += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flowing.wait()
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
