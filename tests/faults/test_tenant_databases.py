"""A tenant's own database goes away while the others go on, and comes back by itself (spec 8.10, 13)."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime
from http.client import HTTPConnection
from typing import Any

import psycopg
import pytest

from tests.faults.caller import Answer, Caller
from tests.faults.nodes import wait_until
from tests.support.flows import END, START, flow, node
from tests.support.postgresql import new_database, require_server, server_url
from tests.support.server import ServerProcess

pytestmark = [
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.timeout(300),
]

TENANTS = ("north", "south", "east")
AWAY, SHARED, WELL = TENANTS
"""One loses its database, one lies in the platform's, one has another of its own."""

SOON = flow("soon", [START, node("wait", "Delay", {"DurationSeconds": "seconds"}), END])
LATE_SECONDS = 6.0
"""How much later than due a timer of those that are well may fire, on a busy machine."""

WAITS_SECONDS = 15 + 5
"""So long after its return a database is served at the latest: the longest back-off, and some time for the machine."""


class Site:
    """A server with a platform and three tenants, and a client for an administrator of each."""

    def __init__(self, server: ServerProcess, tokens: dict[str, str]) -> None:
        self.server = server
        self.callers = {name: Caller(server.port, token) for name, token in tokens.items()}

    def start(self, name: str, seconds: int) -> str:
        """Start an instance that waits so many seconds."""
        answer = self.call(name, "POST", "/instances", {"name": "soon", "variables": {"seconds": seconds}})
        assert answer.status == 201, answer
        return str(answer.body["id"])

    def get(self, name: str, path: str) -> Answer:
        """Ask as the administrator of a partition."""
        return self.call(name, "GET", path)

    def call(self, name: str, method: str, path: str, body: object = None) -> Answer:
        """Call as the administrator of a partition, by a connection of its own: the server closes idle ones."""
        with self.callers[name] as caller:
            return caller(method, path, body)

    def ready(self) -> Any:
        """Return what ``/readyz`` says."""
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        try:
            connection.request("GET", "/readyz")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def lateness(self, name: str, instance: str, seconds: int) -> float:
        """Wait for the end of an instance and return how much later than due its timer has fired."""
        deadline, found = time.monotonic() + seconds + 30, None
        while time.monotonic() < deadline:
            found = self.get(name, f"/instances/{instance}").body
            if found.get("status") == "Completed":
                began, ended = (datetime.fromisoformat(found[key]) for key in ("startedAt", "endedAt"))
                return (ended - began).total_seconds() - seconds
            time.sleep(0.2)
        raise AssertionError(f"{name}: {found}\n{self.server.log[-3000:]}")


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, str]]:
    require_server()
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(new_database()).render_as_string(hide_password=False)
            for name in ("platform", AWAY, WELL)
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, databases: dict[str, str]) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("tenants")
    server = ServerProcess(folder, settings={"WAYPOST_DATABASE_URL": databases["platform"]})
    server.flask(
        "db upgrade",
        f"tenant add {AWAY} --database {databases[AWAY]}",
        f"tenant add {WELL} --database {databases[WELL]}",
        f"tenant add {SHARED}",
        "user create platform --password p --role administrator",
        *(f"user create {name} --password p --role administrator --tenant {name}" for name in TENANTS),
    )
    site = Site(server, server.tokens("platform", *TENANTS))
    server.start()
    try:
        for name in site.callers:
            made = site.call(name, "POST", "/definitions", SOON)
            assert made.status == 201, made
            assert site.call(name, "POST", f"/definitions/{made.body['id']}/publish").status == 200
        yield site
    finally:
        server.stop()


@contextmanager
def away(url: str) -> Iterator[None]:
    """Rename a database and cut off who is connected to it, as an administrator's mistake would; then undo it."""
    name = url.rpartition("/")[2]
    server = server_url().render_as_string(hide_password=False)

    def rename(before: str, after: str) -> None:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{before}" WITH ALLOW_CONNECTIONS false')
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [before])
            connection.execute(f'ALTER DATABASE "{before}" RENAME TO "{after}"')
            connection.execute(f'ALTER DATABASE "{after}" WITH ALLOW_CONNECTIONS true')

    rename(name, f"{name}_away")
    try:
        yield
    finally:
        rename(f"{name}_away", name)


def test_a_tenants_database_that_is_away_keeps_nobody_else_waiting(site: Site, databases: dict[str, str]) -> None:
    others = ("platform", SHARED, WELL)
    caught = site.start(AWAY, 4)
    with away(databases[AWAY]):
        timers = [(name, site.start(name, seconds), seconds) for seconds in (2, 6, 10) for name in others]
        answers = [site.get(AWAY, "/instances") for _ in range(10)]
        assert {answer.status for answer in answers} == {503}
        assert answers[-1].body["code"] == "WORKFLOW_UNAVAILABLE_001"
        assert answers[-1].body["details"] == {"reason": "tenant_database_unreachable"}
        late = {(name, seconds): site.lateness(name, instance, seconds) for name, instance, seconds in timers}
        assert max(late.values()) < LATE_SECONDS, late
        ready = site.ready()
        assert (ready["status"], ready["tenants"][AWAY]) == ("ready", "tenant_database_unreachable")
    back = time.monotonic()
    # Nobody does anything for it: the timer that was due meanwhile fires.
    site.lateness(AWAY, caught, 4)
    assert time.monotonic() - back < WAITS_SECONDS
    assert site.get(AWAY, "/instances").status == 200
    assert AWAY not in site.ready().get("tenants", {})
    # It was told once that it went, and once that it came back, not at every try.
    for words in ("is not served", "is served again"):
        assert sum(words in line and AWAY in line for line in site.server.log.splitlines()) == 1


def test_servers_that_swallow_every_packet_keep_nobody_else_waiting(site: Site, databases: dict[str, str]) -> None:
    """More tenants' databases than the poller has threads accept connections and never answer."""
    with ExitStack() as stack:
        silent = [stack.enter_context(_silent_server()) for _ in range(6)]
        with psycopg.connect(databases["platform"], autocommit=True) as connection:
            for number, port in enumerate(silent):
                connection.execute(
                    "INSERT INTO tenants (id, name, enabled, database_url, created_at)"
                    " VALUES (%s, 'Silent', true, %s, now())",
                    [f"silent{number}", f"postgresql://u:hush@127.0.0.1:{port}/none"],
                )
        # Every process knows of them after five seconds.
        time.sleep(5)
        others = ("platform", SHARED, WELL)
        timers = [(name, site.start(name, seconds), seconds) for seconds in (1, 5, 9) for name in others]
        late = {(name, seconds): site.lateness(name, instance, seconds) for name, instance, seconds in timers}
        shared = {key: value for key, value in late.items() if key[0] != WELL}
        assert max(shared.values()) < LATE_SECONDS, late
        # A thread may be at one of them for the three seconds that a connection may take.
        assert max(late.values()) < LATE_SECONDS + 6, late
        assert sum(name.startswith("silent") for name in site.ready()["tenants"]) == len(silent)
        with psycopg.connect(databases["platform"], autocommit=True) as connection:
            connection.execute("UPDATE tenants SET enabled = false WHERE name = 'Silent'")
    assert "hush" not in site.server.log


def test_what_comes_late_for_a_disabled_tenant_is_written_nowhere(site: Site, databases: dict[str, str]) -> None:
    """The command ends in one process; the server, which has the tenant in its copy, is told by the database."""
    answers: list[Answer] = []
    stop = threading.Event()

    def start_again_and_again() -> None:
        with site.callers[WELL] as caller:
            while not stop.is_set():
                answers.append(caller("POST", "/instances", {"name": "soon", "variables": {"seconds": 3600}}))

    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(start_again_and_again)
        try:
            assert wait_until(lambda: len(answers) >= 5, 60)
            site.server.flask(f"tenant disable {WELL}")
            written, told = _instances(databases[WELL]), len(answers)
            assert wait_until(lambda: len(answers) >= told + 20, 60)
        finally:
            stop.set()
        calls.result()
    assert answers[0].status == 201
    # One was perhaps under way while the command ended; whatever came after it was refused and left nothing.
    assert {one.status for one in answers[told + 1 :]} <= {403, 503}
    assert _instances(databases[WELL]) == written
    site.server.flask(f"tenant enable {WELL}")
    assert wait_until(lambda: site.get(WELL, "/instances").status == 200, 60)


def _instances(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM instances").fetchone()
    assert found is not None
    return int(found[0])


@contextmanager
def _silent_server() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(50)
        yield int(listener.getsockname()[1])
