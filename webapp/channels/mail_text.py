"""An e-mail: plain text and HTML of the same notices, in the recipient's language (spec 10)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader

from webapp.channels.robots import headline, language_of, pieces
from webapp.channels.signatures import DELIVERY_HEADER
from webapp.engine.notifications.escaping import one_line
from webapp.engine.ports.channels import OutgoingMessage, Part
from webapp.messages.catalog import Catalog

LONGEST_SUBJECT = 200

_HTML_LANGUAGE = {"en": "en", "zh": "zh-CN"}
_DISPLAYED = re.compile(r"\s*(?P<name>[^<>]*?)\s*<(?P<address>[^<>]+)>\s*")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_LONGEST_ADDRESS = 254


class Mailbox(NamedTuple):
    """An address with its name; ``host`` in the form of DNS, ``local`` in whatever script."""

    name: str
    local: str
    host: str

    @property
    def spec(self) -> str:
        """The address as the server is told."""
        return f"{self.local}@{self.host}"

    @property
    def international(self) -> bool:
        """Whether only a server that takes SMTPUTF8 takes it."""
        return not self.local.isascii()


def mailbox(text: str) -> Mailbox | None:
    """Read ``name@host`` or ``Name <name@host>``; None when it is neither."""
    found = _DISPLAYED.fullmatch(text)
    name, address = (found["name"].strip('"'), found["address"]) if found else ("", text)
    local, at, host = address.strip().rpartition("@")
    try:
        host = host.encode("idna").decode("ascii")
        Address(username=local, domain=host)
    except (UnicodeError, MessageError, ValueError, IndexError):
        return None
    clean = local.isprintable() and name.isprintable() and not re.search(r"[\s\"<>()\[\]\\,;:@]", local)
    if not at or not local or not clean or not _HOST.fullmatch(host) or len(local) + len(host) >= _LONGEST_ADDRESS:
        return None
    return Mailbox(name, local, host)


class MailText:
    """Makes the messages; ``templates`` is the folder with ``email/message.html``."""

    def __init__(self, catalog: Catalog, templates: Path) -> None:
        self._catalog = catalog
        self._html = Environment(loader=FileSystemLoader(templates), autoescape=True, trim_blocks=True)

    def message(self, outgoing: OutgoingMessage, sender: Mailbox, recipient: Mailbox, now: datetime) -> EmailMessage:
        """Return the whole mail. The same delivery has the same Message-ID at each attempt."""
        international = sender.international or recipient.international
        # Only what a server of the seventies can carry, however it has been told to break lines.
        mail = EmailMessage(policy=(SMTPUTF8 if international else SMTP).clone(cte_type="7bit"))
        language, parts = language_of(outgoing), pieces(outgoing)
        subject = headline(outgoing, parts, LONGEST_SUBJECT)
        mail["From"] = Address(one_line(sender.name), sender.local, sender.host)
        mail["To"] = Address(username=recipient.local, domain=recipient.host)
        mail["Subject"] = subject
        mail["Date"] = format_datetime(now)
        mail["Message-ID"] = f"<{outgoing.delivery_id}@{sender.host}>"
        mail[DELIVERY_HEADER] = outgoing.delivery_id
        mail["Auto-Submitted"] = "auto-generated"
        mail["X-Auto-Response-Suppress"] = "All"
        mail["Content-Language"] = _HTML_LANGUAGE[language]
        keys = {"open": "mail.open", "by_hand": "mail.by_hand", "why": "mail.why"}
        words = {name: self._catalog.text(key, {}, language) for name, key in keys.items()}
        mail.set_content(_plain(parts, words["open"], words["why"]))
        page = self._html.get_template("email/message.html")
        html = page.render(subject=subject, parts=parts, words=words, language=_HTML_LANGUAGE[language])
        mail.add_alternative(html, subtype="html")
        return mail


def _plain(parts: Sequence[Part], open_word: str, why: str) -> str:
    blocks = []
    for part in parts:
        link = f"{open_word}:\n{part.link}" if part.link else ""
        blocks.append("\n\n".join(text for text in (part.title, part.body.strip(), link) if text))
    return "\n\n----\n\n".join(blocks) + f"\n\n-- \n{why}\n"
