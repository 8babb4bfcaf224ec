"""RabbitMQ and Redis, the real ones of this machine, and what is between them and us (spec 10, Amendments)."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from kombu.connection import Connection
from kombu.entity import Exchange, Queue

from tests.support.brokers import Proxy, amqp_url, rabbitmq, redis_server, redis_url
from tests.support.mail_server import certificate
from tests.support.outgoing import LOCAL, TASK, endpoint, event, notice, soon
from webapp.channels.addresses import AddressPolicy
from webapp.channels.broker import BrokerChannel
from webapp.channels.rabbitmq import RabbitMqChannel
from webapp.channels.redis_stream import RedisChannel
from webapp.engine.cancellation import Cancellation
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import SendingFailed

KINDS = (ChannelKind.AMQP, ChannelKind.REDIS)
SCHEMES = {ChannelKind.AMQP: "amqp", ChannelKind.REDIS: "redis"}
STREAM = "waypost-test-stream"


@pytest.fixture
def rabbit() -> Iterator[RabbitMqChannel]:
    channel = RabbitMqChannel(LOCAL)
    yield channel
    channel.close()


@pytest.fixture
def redis_channel() -> Iterator[RedisChannel]:
    channel = RedisChannel(LOCAL)
    yield channel
    channel.close()


@pytest.fixture
def queue() -> Iterator[Queue]:
    """Yield a queue of the test's own, which takes every ``workflow.…`` of the exchange of topics."""
    with rabbitmq() as connection:
        made = Queue(
            f"waypost-test-{time.monotonic_ns()}",
            exchange=Exchange("amq.topic", "topic", durable=True, no_declare=True),
            routing_key="workflow.#",
            channel=connection.channel(),
            durable=False,
            exclusive=True,
        )
        made.declare()
        yield made
        made.delete()


def broken(kind: ChannelKind, policy: AddressPolicy = LOCAL) -> BrokerChannel:
    return RabbitMqChannel(policy) if kind is ChannelKind.AMQP else RedisChannel(policy)


def failure(channel: BrokerChannel, to: Endpoint, seconds: float = 20) -> SendingFailed:
    with pytest.raises(SendingFailed) as caught:
        channel.send(event(to), soon(seconds))
    assert "hidden-word" not in caught.value.reason
    return caught.value


# --- RabbitMQ -------------------------------------------------------------------------------------


def test_an_event_is_persistent_confirmed_and_carries_its_id(rabbit: RabbitMqChannel, queue: Queue) -> None:
    assert rabbit.send(event(endpoint(ChannelKind.AMQP, amqp_url())), soon()) == "confirmed, exchange amq.topic"
    message = queue.get(no_ack=True)
    assert json.loads(message.body) == {
        "id": "d-2",
        "topic": "workflow.task.created",
        "tenantId": "north",
        "instanceId": "i-1",
        "sequence": 8,
        "occurredAt": "2026-07-16T08:00:00Z",
        "data": {"taskId": "t-1"},
    }
    assert message.delivery_info["routing_key"] == "workflow.task.created"
    assert message.headers == {"X-Delivery-Id": "d-2"}
    wanted = {"delivery_mode": 2, "message_id": "d-2", "type": "workflow.task.created", "timestamp": 1784188800}
    assert {name: message.properties[name] for name in wanted} == wanted
    assert (message.content_type, message.content_encoding) == ("application/json", "utf-8")
    assert queue.get(no_ack=True) is None


def test_exchange_and_routing_key_are_chosen_by_the_endpoint(rabbit: RabbitMqChannel, queue: Queue) -> None:
    to = endpoint(ChannelKind.AMQP, amqp_url(), exchange="amq.direct", routingKey="to-us")
    queue.bind_to("amq.direct", routing_key="to-us")
    assert rabbit.send(notice(to, address="anna"), soon()) == "confirmed, exchange amq.direct"
    message = queue.get(no_ack=True)
    assert json.loads(message.body)["data"]["parts"][0]["title"] == TASK.title


def test_a_message_that_no_queue_takes_is_not_sent(rabbit: RabbitMqChannel, queue: Queue) -> None:
    to = endpoint(ChannelKind.AMQP, amqp_url(), routingKey="nobody.binds.this")
    found = failure(rabbit, to)
    assert (found.permanent, found.reason) == (False, "no queue takes it from the exchange amq.topic")
    # The connection is whole: the next one goes out over it.
    rabbit.send(event(endpoint(ChannelKind.AMQP, amqp_url())), soon())
    assert queue.get(no_ack=True) is not None


def test_an_exchange_that_is_not_there_can_be_made_later(rabbit: RabbitMqChannel, queue: Queue) -> None:
    found = failure(rabbit, endpoint(ChannelKind.AMQP, amqp_url(), exchange="waypost-test-none"))
    assert not found.permanent
    assert "no exchange 'waypost-test-none'" in found.reason
    rabbit.send(event(endpoint(ChannelKind.AMQP, amqp_url())), soon())
    assert queue.get(no_ack=True) is not None


def test_a_login_that_is_refused_is_tried_again(rabbit: RabbitMqChannel) -> None:
    rabbitmq().release()
    address = amqp_url().replace("guest:guest@", "guest@")
    found = failure(rabbit, endpoint(ChannelKind.AMQP, address, secret="hidden-word"))
    assert not found.permanent
    assert "ACCESS_REFUSED" in found.reason


# --- Redis ----------------------------------------------------------------------------------------


def test_an_event_is_an_entry_of_a_stream(redis_channel: RedisChannel) -> None:
    with redis_server() as server:
        server.delete(STREAM)
        receipt = redis_channel.send(event(endpoint(ChannelKind.REDIS, redis_url(), stream=STREAM)), soon())
        ((entry, fields),) = server.xrange(STREAM)
        server.delete(STREAM)
    assert receipt == f"{STREAM} {entry.decode()}"
    assert fields[b"id"] == b"d-2"
    assert fields[b"topic"] == b"workflow.task.created"
    assert json.loads(fields[b"body"])["data"] == {"taskId": "t-1"}


def test_a_consumer_with_kombu_takes_from_a_queue(redis_channel: RedisChannel) -> None:
    name = "waypost-test-queue"
    with redis_server() as server:
        server.delete(name)
        assert (
            redis_channel.send(event(endpoint(ChannelKind.REDIS, redis_url(), queue=name)), soon()) == f"queue {name}"
        )
        with Connection(redis_url()) as connection:
            consumed = connection.SimpleQueue(name)
            message = consumed.get(timeout=10)
            message.ack()
            consumed.close()
        server.delete(name)
    assert message.payload["id"] == "d-2"
    assert message.properties["message_id"] == "d-2"


def test_what_redis_refuses_is_tried_again(redis_channel: RedisChannel) -> None:
    with redis_server() as server:
        server.set(STREAM, "no stream")
        found = failure(redis_channel, endpoint(ChannelKind.REDIS, redis_url(), stream=STREAM))
        server.delete(STREAM)
    assert not found.permanent
    assert "wrong kind of value" in found.reason


# --- a broker that is down, slow, or far away -----------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_broker_that_is_not_there_is_tried_again(kind: ChannelKind) -> None:
    found = failure(broken(kind), endpoint(kind, f"{SCHEMES[kind]}://user:hidden-word@127.0.0.1:1"))
    assert not found.permanent
    assert "Connection refused" in found.reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_broker_that_says_nothing_holds_nobody_longer_than_the_attempt_may_take(kind: ChannelKind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        begun = time.monotonic()
        found = failure(broken(kind), endpoint(kind, f"{SCHEMES[kind]}://user:hidden-word@127.0.0.1:{port}"), 0.4)
        assert time.monotonic() - begun < 10
    assert (found.permanent, found.reason) == (False, "no answer within the time of one attempt")
    assert not [one for one in threading.enumerate() if one.name == "waypost-broker-guard"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_broker_that_falls_silent_under_a_kept_connection_holds_nobody_either(kind: ChannelKind) -> None:
    with Proxy(kind) as proxy:
        channel, to = broken(kind), endpoint(kind, proxy.url, **proxy.options)
        channel.send(event(to), soon())
        proxy.hold()
        begun = time.monotonic()
        found = failure(channel, to, 0.4)
        assert time.monotonic() - begun < 10
        assert (found.permanent, found.reason) == (False, "no answer within the time of one attempt")
        proxy.go_on()
        channel.send(event(to), soon())
        channel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_connection_is_kept_and_renewed_when_it_broke(kind: ChannelKind) -> None:
    with Proxy(kind) as proxy:
        channel, to = broken(kind), endpoint(kind, proxy.url, **proxy.options)
        for _ in range(3):
            channel.send(event(to), soon())
        assert proxy.connections == 1
        proxy.cut()
        channel.send(event(to), soon())
        assert proxy.connections == 2
        proxy.close()
        assert not failure(channel, to).permanent
        proxy.open()
        channel.send(event(to), soon())
        channel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_another_address_or_secret_is_another_connection(kind: ChannelKind) -> None:
    with Proxy(kind) as proxy:
        channel = broken(kind)
        channel.send(event(endpoint(kind, proxy.url, **proxy.options)), soon())
        # The same place, written in another way.
        renewed = proxy.url.replace("/9", "/09") if kind is ChannelKind.REDIS else f"{proxy.url}/%2F"
        channel.send(event(endpoint(kind, renewed, **proxy.options)), soon())
        assert proxy.connections == 2
        channel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_connection_that_lay_idle_is_not_trusted(kind: ChannelKind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.channels.broker.IDLE_SECONDS", 0.0)
    with Proxy(kind) as proxy:
        channel, to = broken(kind), endpoint(kind, proxy.url, **proxy.options)
        channel.send(event(to), soon())
        channel.send(event(to), soon())
        assert proxy.connections == 2
        channel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_several_threads_share_a_connection(kind: ChannelKind) -> None:
    failures: list[Exception] = []
    with Proxy(kind) as proxy:
        channel, to = broken(kind), endpoint(kind, proxy.url, **proxy.options)

        def send() -> None:
            try:
                for _ in range(5):
                    channel.send(event(to), soon())
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (failures, proxy.connections) == ([], 1)
        channel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_who_waits_for_the_connection_gives_up_with_its_own_token(kind: ChannelKind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        to = endpoint(kind, f"{SCHEMES[kind]}://127.0.0.1:{silent.getsockname()[1]}")
        channel, first = broken(kind), Cancellation()
        outcome: list[str] = []

        def hang() -> None:
            with pytest.raises(SendingFailed) as caught:
                channel.send(event(to), first)
            outcome.append(caught.value.reason)

        thread = threading.Thread(target=hang)
        thread.start()
        with silent.accept()[0]:
            assert failure(channel, to, 0.3).reason == "no answer within the time of one attempt"
            assert outcome == []
            first.set()
            thread.join()
    assert outcome == ["no answer within the time of one attempt"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.1.2.3", "169.254.169.254", "[::1]"])
def test_an_address_inside_is_refused_unless_it_is_allowed(kind: ChannelKind, host: str) -> None:
    found = failure(broken(kind, AddressPolicy()), endpoint(kind, f"{SCHEMES[kind]}://user:hidden-word@{host}"))
    assert found.permanent
    assert "an address that is not public" in found.reason


@pytest.mark.parametrize("kind", KINDS)
def test_no_password_comes_into_the_log(kind: ChannelKind, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), Proxy(kind) as proxy:
        channel = broken(kind)
        channel.send(event(endpoint(kind, proxy.url, **proxy.options)), soon())
        failure(channel, endpoint(kind, f"{SCHEMES[kind]}://user:hidden-word@127.0.0.1:1"))
        channel.close()
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "hidden-word" not in text and "guest:guest" not in text


# --- what is stored -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        (ChannelKind.AMQP, "amqp://user:pass@mq.example.org:5672/flows"),
        (ChannelKind.AMQP, "amqps://mq.example.org"),
        (ChannelKind.REDIS, "redis://redis.example.org/2"),
        (ChannelKind.REDIS, "rediss://:pass@redis.example.org:6380"),
    ],
)
def test_an_address_of_a_broker_is_taken(kind: ChannelKind, address: str) -> None:
    assert broken(kind).check(endpoint(kind, address)) == []


@pytest.mark.parametrize(
    ("kind", "address", "key"),
    [
        (ChannelKind.AMQP, "", "channel.address_missing"),
        (ChannelKind.AMQP, "http://mq.example.org", "channel.address_no_amqp"),
        (ChannelKind.AMQP, "amqp://", "channel.address_no_amqp"),
        (ChannelKind.AMQP, "amqp://mq.example.org:port", "channel.address_no_amqp"),
        (ChannelKind.AMQP, "amqp://mq.example.org/a?heartbeat=1", "channel.address_no_amqp"),
        (ChannelKind.AMQP, "amqp://mq example.org", "channel.address_no_amqp"),
        (ChannelKind.AMQP, "amqp://10.0.0.1", "channel.address_denied"),
        (ChannelKind.REDIS, "amqp://redis.example.org", "channel.address_no_redis"),
        (ChannelKind.REDIS, "redis://redis.example.org/one", "channel.address_no_redis"),
        (ChannelKind.REDIS, "redis://[::1]", "channel.address_denied"),
    ],
)
def test_an_address_that_is_none_is_told(kind: ChannelKind, address: str, key: str) -> None:
    assert [(one.path, one.key) for one in broken(kind, AddressPolicy()).check(endpoint(kind, address))] == [
        ("address", key)
    ]


def test_options_are_the_known_ones_and_texts() -> None:
    to = endpoint(ChannelKind.AMQP, "amqp://mq.example.org", exchange="e", routingKey="x" * 256, stream="s")
    assert [(one.path, one.key) for one in broken(ChannelKind.AMQP).check(to)] == [
        ("options.routingKey", "channel.option_no_text"),
        ("options.stream", "channel.option_unknown"),
    ]
    to = endpoint(ChannelKind.REDIS, "redis://redis.example.org", stream=3)
    assert [one.key for one in broken(ChannelKind.REDIS).check(to)] == ["channel.option_no_text"]


# --- TLS ------------------------------------------------------------------------------------------


def secured(kind: ChannelKind, trusted: ssl.SSLContext | None) -> BrokerChannel:
    return (RabbitMqChannel if kind is ChannelKind.AMQP else RedisChannel)(LOCAL, tls=trusted)


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the context of a server with a certificate for this machine, and that of a client who trusts it."""
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize("kind", KINDS)
def test_over_tls_a_broker_is_spoken_to_whose_certificate_is_trusted(
    kind: ChannelKind, own_certificate: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    server, trusting = own_certificate
    with Proxy(kind, tls=server) as broker:
        channel = secured(kind, trusting)
        try:
            to = endpoint(kind, broker.url.replace(f"{SCHEMES[kind]}://", f"{SCHEMES[kind]}s://"), **broker.options)
            assert channel.send(event(to), soon())
        finally:
            channel.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", ["nobody vouches", "another name"])
def test_a_broker_whose_certificate_is_not_accepted_learns_nothing(
    kind: ChannelKind, wrong: str, own_certificate: tuple[ssl.SSLContext, ssl.SSLContext], tmp_path: Path
) -> None:
    """Not even the login: the handshake ends before a byte of ours."""
    server, trusted = own_certificate[0], None
    if wrong == "another name":
        server, trusted = certificate(tmp_path, "DNS:elsewhere.example")
    said: list[bytes] = []

    def listen(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with suppress(OSError), server.wrap_socket(connection, server_side=True) as wrapped:
            said.append(wrapped.recv(100))

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        accepting = threading.Thread(target=listen, args=(listener,), daemon=True)
        accepting.start()
        to = endpoint(kind, f"{SCHEMES[kind]}s://me:hidden-word@127.0.0.1:{listener.getsockname()[1]}/")
        refused = failure(secured(kind, trusted), to)
        accepting.join(10)
    assert "certificate" in refused.reason.lower()
    assert not refused.permanent
    assert said in ([], [b""])
