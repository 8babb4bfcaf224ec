"""``kill -9`` between commit, send and bookkeeping: every message goes out, under one id, and is told once inside."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.faults.nodes import wait_until
from tests.faults.posts import CLAIM_SECONDS, SECRET, TOPICS, PostOffice, post_office
from tests.faults.receivers import by_instance
from tests.faults.test_two_nodes import ELSEWHERE

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

KINDS = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgresql),
]


@pytest.fixture(scope="module", params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostOffice]:
    with post_office(request.param, tmp_path_factory.mktemp("sending")) as made:
        made.endpoint("webhook", made.receiver.url, secret=SECRET)
        yield made


@pytest.fixture
def post(opened: PostOffice) -> Iterator[PostOffice]:
    """An installation whose senders of earlier tests are gone."""
    opened.receiver.taken.clear()
    opened.mailbox.mails.clear()
    yield opened
    opened.receiver.held.clear()
    opened.mailbox.held.clear()
    for each in opened.site.nodes[1:]:
        each.kill()


def test_what_was_committed_goes_out_although_its_process_died_before_it_sent(post: PostOffice) -> None:
    dying, survivor = post.site.start_nodes(2)
    instances = post.approve(dying, number=3)
    dying.kill()
    assert (post.receiver.taken, post.mailbox.mails) == ([], [])
    survivor.ask("poll")
    assert post.all_sent(), post.counts()
    # Of each approval two events, and a mail to who was to decide.
    assert Counter((one["instanceId"], one["topic"]) for one in post.receiver.taken) == {
        (instance, topic): 1 for instance in instances for topic in TOPICS
    }
    assert all(places == sorted(places) for places in by_instance(post.receiver.taken).values())
    assert len(set(post.mailbox.ids)) == len(post.mailbox.mails) == 3
    told = post.inbox("manager")
    assert [told[instance, "TaskCreated"] for instance in instances] == [1, 1, 1]


def test_what_was_sent_and_not_written_down_is_sent_again_under_the_same_id(post: PostOffice) -> None:
    """On a server it was of another host: whether it lives nobody can tell, so its claim must run out first."""
    prefix = ELSEWHERE if post.shared else ()
    if prefix and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no process can be put into a host name and a process table of its own here")
    post.receiver.held.set()
    post.mailbox.held.set()
    (dying,), (survivor,) = post.site.start_nodes(1, prefix=prefix), post.site.start_nodes(1)
    dying.ask("poll")
    (instance,) = post.start(dying)
    assert wait_until(lambda: len(post.receiver.taken) == len(post.mailbox.mails) == 1, 30)
    dying.kill()
    post.receiver.held.clear()
    post.mailbox.held.clear()
    survivor.ask("poll")
    if prefix:
        (after,) = post.start(survivor)
        assert wait_until(lambda: {after} == {one["instanceId"] for one in post.receiver.taken[1:]}, 30)
        # The sender has been at work, and has left alone what the other one has.
        assert {one["status"] for one in post.deliveries(f"?instanceId={instance}")} == {"sending"}
        survivor.ask("clock", seconds=CLAIM_SECONDS + 1)
    assert post.all_sent(), post.counts()
    first, again = [one for one in post.receiver.taken if one["instanceId"] == instance]
    assert first == again, "a receiver can drop the repeat by its id, and the document is the same"
    assert post.mailbox.ids.count(post.mailbox.ids[0]) == 2
    sent = post.deliveries(f"?instanceId={instance}")
    assert {one["kind"] for one in sent} == {"webhook", "email"}
    for one in sent:
        assert post.attempts(one["id"]) == [(1, "lost"), (2, "sent")], one
    assert post.inbox("manager")[instance, "TaskCreated"] == 1


def test_a_kill_amid_the_work_loses_nothing_and_tells_nobody_twice(post: PostOffice) -> None:
    site, quiet = post.site, post.quiet
    dying, survivor = site.start_nodes(2)
    dying.ask("poll")
    before = {one["id"] for one in post.deliveries()}
    for _ in range(12):
        site.send(dying, "admin", "POST", "/instances", {"name": "approval"})
    # Some are started, some sent, some neither.
    assert wait_until(lambda: len(post.receiver.taken) >= 6, 30)
    for one in site.items(quiet, "manager", "/tasks")[:4]:
        site.complete(dying, one["id"])
    assert wait_until(lambda: any(one["topic"] == TOPICS[1] for one in post.receiver.taken), 30)
    dying.kill()
    survivor.ask("poll")
    assert post.all_sent(), post.counts()
    started = site.items(quiet, "admin", "/instances?definitionName=approval")
    expected = {(one["id"], TOPICS[0]) for one in started}
    expected |= {(one["id"], TOPICS[1]) for one in started if one["status"] == "Completed"}
    events = [one for one in post.deliveries() if one["topic"]]
    assert Counter((one["instanceId"], one["topic"]) for one in events) == dict.fromkeys(expected, 1)
    assert set(post.receiver.ids) == {one["id"] for one in events} - before
    assert all(places == sorted(places) for places in by_instance(post.receiver.taken).values())
    told = {key: number for key, number in post.inbox("manager").items() if key[1] == "TaskCreated"}
    assert told == {(one["id"], "TaskCreated"): 1 for one in started}
