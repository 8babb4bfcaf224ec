"""What people type reaches other people as text and nothing else: from the variable to the mail (spec 10, 13)."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.services.notified import APPROVAL, deliveries, notices, template
from tests.support.engine import Installation, actor, install
from tests.support.mail_server import MailHandler, mail_server
from tests.support.stores import StoreSet
from webapp.channels.email import EmailChannel
from webapp.channels.mail_text import MailText, mailbox
from webapp.channels.smtp import MailServer
from webapp.messages.catalog import Catalog
from webapp.services import ServiceSettings

TEMPLATES = Path(__file__).parents[2] / "templates"
TEXT = MailText(Catalog.load(strict=True), TEMPLATES)
HOST = "https://flow.example.test"
ATTACK = (
    "{starter} {{ 7 * 7 }} {title.__class__} {0} %s ${x}"
    "\r\nBcc: eve@example.org\r\n\r\n.\r\nMAIL FROM:<eve@example.org>"
    " <img src=x onerror=alert(1)> [click](https://evil.example) \u202e\u0007"
)


class Mailed:
    """A house whose mails go to a real server."""

    def __init__(self, stores: StoreSet, port: int) -> None:
        server = MailServer(host="127.0.0.1", port=port, security="none")
        channel = EmailChannel(server, mailbox("Flow <flow@example.org>"), TEXT, stores.clock)
        self.house: Installation = install(stores, channels=[channel], settings=ServiceSettings(base_url=HOST))
        self.house.account("emma")
        self.house.account("u1", email="u1@example.org")
        self.house.publish(APPROVAL)

    def mail(self, handler: MailHandler, what: str) -> EmailMessage:
        """Start a request with this text, and return the mail of its task."""
        self.house.start("approval", {"what": what}, by=actor("emma"))
        assert self.house.services.sending.send_due().sent == 1
        (envelope,), (message,) = handler.mails, handler.messages
        assert envelope.rcpt_tos == ["u1@example.org"], "nobody else may get it"
        return message


@pytest.mark.parametrize("own_template", [False, True], ids=["built in", "template"])
def test_an_attack_in_a_variable_is_text_in_the_inbox_and_in_the_mail(stores: StoreSet, own_template: bool) -> None:
    handler = MailHandler()
    if own_template:
        stores.notice_settings.add_template(template(title="To sign: {title}", body="{title}\n{instanceTitle}"))
    with mail_server(handler) as port:
        mailed = Mailed(stores, port)
        message = mailed.mail(handler, ATTACK)
    (notice,) = notices(mailed.house, "u1")
    (delivery,) = deliveries(mailed.house)
    assert (delivery.content.title, delivery.content.body) == (notice.title, notice.body)
    for text in (notice.title, str(message["Subject"])):
        assert "{starter} {{ 7 * 7 }} {title.__class__}" in text
        assert not set(text) & set("\r\n\u0007\u202e")
    assert message["Bcc"] is None and len(message.get_all("From") or []) == 1
    html = message.get_body(("html",))
    assert html is not None
    shown = html.get_content()
    assert "<img" not in shown and "&lt;img" in shown
    # The only links are the house's own.
    assert shown.count("href=") == shown.count(f'href="{HOST}/d/') > 0


@pytest.mark.parametrize("length", [201, 490])
def test_a_very_long_variable_makes_a_short_title_and_a_mail_that_can_be_sent(stores: StoreSet, length: int) -> None:
    handler = MailHandler()
    stores.notice_settings.add_template(template(title="{title}", body="{title}\n" * 400))
    with mail_server(handler) as port:
        mailed = Mailed(stores, port)
        message = mailed.mail(handler, "界" * length)
    (notice,) = notices(mailed.house, "u1")
    assert (len(notice.title), len(notice.body)) == (200, 4_000)
    assert notice.title.endswith("…") and notice.body.endswith("…")
    assert len(str(message["Subject"])) <= 200
    assert len(handler.mails[0].original_content or b"") < 200_000
    assert set(notice.metadata) == {"instanceId", "businessKey", "eventType", "definitionKey", "officeId"}
