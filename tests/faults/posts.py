"""An installation that tells a webhook and a mail server, in real processes, and what tests ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.faults.nodes import Installation, Node, installed, wait_until
from tests.faults.receivers import MailServer, Receiver, receiving
from tests.support.flows import END, START, flow, node
from tests.support.postgresql import new_database, require_server

APPROVAL = flow(
    "approval", [START, node("ask", "UserTask", {"Assignees": ["manager"], "AllowedOutcomes": ["approved"]}), END]
)
TOPICS = ("workflow.task.created", "workflow.task.completed")
"""What the endpoints of the tests take: two events of each approval, which must come in this order."""

SECRET = "a secret of the receivers"
CLAIM_SECONDS = 150.0
"""How long a sender has what it claimed, as the settings are: 30 s for the attempt, two minutes to wait for it."""


class PostOffice:
    """An installation and who is told; its first node is there and sends nothing.

    ``shared``: its database is a server's, which processes of several machines may use.
    """

    def __init__(self, site: Installation, receiver: Receiver, mails: MailServer) -> None:
        self.site, self.receiver, self.mails, self.mailbox = site, receiver, mails, mails.mailbox
        self.shared = "WAYPOST_DATABASE_URL" in site.environment
        (self.quiet,) = site.start_nodes(1)
        site.publish(self.quiet, APPROVAL)

    def endpoint(self, kind: str, address: str, **more: Any) -> str:
        """Make an endpoint for the events of approvals."""
        body = {"kind": kind, "name": f"{kind} {address}", "address": address, "topics": list(TOPICS), **more}
        made = self.site.call(self.quiet, "admin", "POST", "/endpoints", body)
        assert made.status == 201, made
        return str(made.body["id"])

    def start(self, on: Node, number: int = 1) -> list[str]:
        """Have somebody start approvals that another decides, and return their ids."""
        body = {"name": "approval"}
        asked = [self.site.send(on, "admin", "POST", "/instances", body) for _ in range(number)]
        answers = [one.result(60) for one in asked]
        assert {one.status for one in answers} == {201}, answers
        return [one.body["id"] for one in answers]

    def approve(self, *on: Node, number: int) -> set[str]:
        """Have people at several nodes start and decide approvals, and return the ids of what ended."""
        share = number // len(on)
        with ThreadPoolExecutor(len(on)) as people:
            started = {one for found in people.map(lambda each: self.start(each, share), on) for one in found}
        tasks = [one for one in self.site.items(on[0], "manager", "/tasks") if one["instanceId"] in started]
        decided = [self.site.complete(on[place % len(on)], task["id"]) for place, task in enumerate(tasks)]
        assert {one.result(60).status for one in decided} == {200}
        return started

    def inbox(self, who: str) -> Counter[tuple[str, str]]:
        """Return how often somebody has been told of what, by instance and event."""
        return Counter(
            (one["instanceId"], one["eventType"]) for one in self.site.items(self.quiet, who, "/notifications")
        )

    def deliveries(self, query: str = "") -> list[dict[str, Any]]:
        """Return deliveries as the API shows them."""
        return self.site.items(self.quiet, "admin", f"/deliveries{query}")

    def counts(self) -> dict[str, int]:
        """Return the number of deliveries by state, zeros left out."""
        found = self.site.call(self.quiet, "admin", "GET", "/deliveries/counts").body
        return {state: number for state, number in found.items() if number}

    def attempts(self, delivery_id: str) -> list[tuple[int, str]]:
        """Return the attempts of a delivery."""
        found = self.site.call(self.quiet, "admin", "GET", f"/deliveries/{delivery_id}").body
        return [(one["number"], one["outcome"]) for one in found["attempts"]]

    def waiting(self) -> int:
        """Return how many events wait to be handed on to the endpoints."""
        found = self.site.call(self.quiet, "admin", "GET", "/upkeep").body
        return int(found["sending"]["outbox"])

    def all_sent(self, seconds: float = 60) -> bool:
        """Wait until nothing waits, and all there is was sent."""
        return wait_until(lambda: self.waiting() == 0 and set(self.counts()) == {"sent"}, seconds, pause=0.3)


@contextmanager
def post_office(kind: str, folder: Path, *, mail: bool = True) -> Iterator[PostOffice]:
    """Make an installation on a kind of database, a receiver and a mail server, which it may not know."""
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving())
        mails = stack.enter_context(MailServer())
        settings = {"WAYPOST_HTTP_ALLOW": "127.0.0.0/8"}
        if mail:
            settings |= {
                "WAYPOST_SMTP_HOST": "127.0.0.1",
                "WAYPOST_SMTP_PORT": str(mails.port),
                "WAYPOST_SMTP_SECURITY": "NONE",
                "WAYPOST_MAIL_FROM": "waypost@example.org",
            }
        if kind == "postgresql":
            require_server()
            settings["WAYPOST_DATABASE_URL"] = stack.enter_context(new_database()).render_as_string(hide_password=False)
        yield PostOffice(stack.enter_context(installed(folder, logs=None, **settings)), receiver, mails)
