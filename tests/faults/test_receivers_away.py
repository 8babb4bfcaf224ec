"""Webhook, broker and mail server are away while 100 approvals are done: all is told in the end, in order, once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.nodes import Node, wait_until
from tests.faults.posts import SECRET, TOPICS, PostOffice, post_office
from tests.faults.receivers import by_instance
from tests.support.brokers import Proxy
from webapp.engine.notifications.model import ChannelKind

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

APPROVALS = 100
WAITED_SECONDS = 100.0
"""Longer than the waits after the first four failures together, shorter than a claim holds."""


def two_senders(post: PostOffice) -> list[Node]:
    """Start the nodes that share the work; the waits between attempts are passed by putting their clocks on."""
    senders = post.site.start_nodes(2)
    for each in senders:
        each.ask("poll")
    return senders


def put_on(senders: Iterable[Node]) -> None:
    for each in senders:
        each.ask("clock", seconds=WAITED_SECONDS)


def assert_all_came_once_in_order(taken: list[dict[str, Any]], instances: set[str]) -> None:
    everything = {(instance, topic): 1 for instance in instances for topic in TOPICS}
    assert Counter((one["instanceId"], one["topic"]) for one in taken) == everything
    assert all(places == sorted(places) for places in by_instance(taken).values())


def test_a_receiver_that_is_away_or_refuses_gets_everything_in_the_end(tmp_path: Path) -> None:
    with post_office("sqlite", tmp_path, mail=False) as post:
        receiver = post.receiver
        post.endpoint("webhook", receiver.url, secret=SECRET)
        senders = two_senders(post)
        receiver.close()
        instances = post.approve(*senders, number=APPROVALS // 2)
        receiver.refuses = True
        receiver.open()
        instances |= post.approve(*senders, number=APPROVALS // 2)
        # Each first of a line has been tried in vain, and nobody goes past it.
        in_vain = {"failed": APPROVALS, "pending": APPROVALS}
        assert wait_until(lambda: post.counts() == in_vain, 60), post.counts()
        assert receiver.refused >= APPROVALS // 2
        assert receiver.taken == []
        receiver.refuses = False
        put_on(senders)
        assert post.all_sent(), post.counts()
        assert_all_came_once_in_order(receiver.taken, instances)
        assert post.inbox("manager") == {(instance, "TaskCreated"): 1 for instance in instances}


@pytest.mark.postgresql
def test_a_broker_and_a_mail_server_that_are_away_get_everything_in_the_end(tmp_path: Path) -> None:
    with Proxy(ChannelKind.AMQP) as broker, post_office("postgresql", tmp_path) as post:
        post.endpoint("amqp", broker.url, options=broker.options)
        senders = two_senders(post)
        broker.close()
        post.mails.close()
        instances = post.approve(*senders, number=APPROVALS)
        in_vain = {"failed": 2 * APPROVALS, "pending": APPROVALS}
        assert wait_until(lambda: post.counts() == in_vain, 60), post.counts()
        broker.open()
        post.mails.open()
        put_on(senders)
        assert post.all_sent(), post.counts()
        assert_all_came_once_in_order(from_queue(broker), instances)
        assert len(post.mailbox.mails) == len(set(post.mailbox.ids)) == APPROVALS
        assert post.inbox("manager") == {(instance, "TaskCreated"): 1 for instance in instances}


def from_queue(broker: Proxy) -> list[dict[str, Any]]:
    """Return what a consumer of the queue gets, in the queue's order."""
    found = []
    while (message := broker.get()) is not None:
        document = json.loads(message.body)
        assert message.properties["message_id"] == document["id"]
        found.append(document)
    return found
