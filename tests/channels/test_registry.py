"""The channels of an installation: one of each kind, set up by its settings (spec 10, Outbox and deliveries)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.http_server import reply, serving
from tests.support.mail_server import MailHandler, mail_server
from tests.support.outgoing import endpoint, event, notice, soon
from tests.support.web import CATALOG, make_settings
from webapp.channels.registry import ChannelSet, build_channels
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import SendingFailed

TEMPLATES = Path(__file__).parents[2] / "templates"
SECRET = "sesame-sesame-open"
SCHEMES = {ChannelKind.AMQP: "amqp", ChannelKind.REDIS: "redis"}
OUTGOING = [kind for kind in ChannelKind if kind is not ChannelKind.EMAIL]
"""The kinds whose endpoints have an address of their own."""


@contextmanager
def built(folder: Path, **environ: str) -> Iterator[ChannelSet]:
    settings = make_settings(folder, **environ)
    made = build_channels(settings, catalog=CATALOG, clock=FakeClock(), templates=TEMPLATES)
    try:
        yield made
    finally:
        made.close()


def inside(kind: ChannelKind, port: int = 1) -> Endpoint:
    """Return an endpoint of this machine."""
    return endpoint(kind, f"{SCHEMES.get(kind, 'http')}://127.0.0.1:{port}/1", SECRET)


def test_every_kind_has_a_channel_of_that_kind(tmp_path: Path) -> None:
    with built(tmp_path) as made:
        assert set(made.channels) == set(ChannelKind)
        assert {kind: channel.kind for kind, channel in made.channels.items()} == {kind: kind for kind in ChannelKind}
        assert {kind for kind, channel in made.channels.items() if not channel.ready} == {ChannelKind.EMAIL}


def test_mail_goes_by_the_server_of_the_settings(tmp_path: Path) -> None:
    handler = MailHandler()
    with mail_server(handler) as port:
        server = {"WAYPOST_SMTP_HOST": "127.0.0.1", "WAYPOST_SMTP_PORT": str(port), "WAYPOST_SMTP_SECURITY": "none"}
        with built(tmp_path, WAYPOST_MAIL_FROM="Flow <flow@example.org>", **server) as made:
            mail = made.channels[ChannelKind.EMAIL]
            assert mail.ready
            message = notice(endpoint(ChannelKind.EMAIL), address="anna@example.org")
            assert (mail.send(message, soon()) or "").startswith("250")
    (sent,) = handler.messages
    assert (sent["From"], sent["To"]) == ("Flow <flow@example.org>", "anna@example.org")


@pytest.mark.parametrize("kind", OUTGOING)
def test_an_address_inside_is_refused_when_it_is_stored_and_when_it_is_sent_to(
    tmp_path: Path, kind: ChannelKind
) -> None:
    with built(tmp_path) as made:
        channel = made.channels[kind]
        assert [problem.path for problem in channel.check(inside(kind))] == ["address"]
        with serving(reply()) as server, pytest.raises(SendingFailed) as caught:
            channel.send(event(inside(kind, server.port)), soon())
        assert caught.value.permanent
        assert server.requests == [], "nobody was called"


def test_one_setting_allows_addresses_inside_to_all(tmp_path: Path) -> None:
    with built(tmp_path, WAYPOST_HTTP_ALLOW="127.0.0.0/8") as made:
        for channel in made.channels.values():
            if channel.kind is not ChannelKind.EMAIL:
                assert list(channel.check(inside(channel.kind))) == [], channel.kind
                # Nobody listens at port 1: that it was tried at all is what counts.
                with pytest.raises(SendingFailed) as caught:
                    channel.send(event(inside(channel.kind)), soon())
                assert not caught.value.permanent, channel.kind
