"""What the robots of chats have in common: short plain texts, a link to decide by, and an answer that is read."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from webapp.channels.posting import Posting
from webapp.channels.reasons import masked
from webapp.engine.cancellation import CancellationToken
from webapp.engine.errors import Problem
from webapp.engine.notifications.escaping import one_line, plain_text, shortened
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, Part, SendingFailed
from webapp.engine.ports.http import HttpResponse
from webapp.messages.catalog import LANGUAGES, Catalog, Language

_HANDLE = re.compile(r"[A-Za-z0-9_.@+-]{1,128}")


Lay = Callable[[Part, int], str | None]
"""Makes the text of a part within some bytes, or None when it cannot."""


class Robot(ABC):
    """A chat that takes a document by POST to an address which is a secret itself."""

    ready = True

    def __init__(self, posting: Posting, catalog: Catalog) -> None:
        self._posting = posting
        self._catalog = catalog

    @property
    @abstractmethod
    def kind(self) -> ChannelKind:
        """Which chat."""

    def check(self, endpoint: Endpoint) -> Sequence[Problem]:
        """Return what is wrong with the address."""
        return self._posting.check(endpoint)

    def send(self, message: OutgoingMessage, cancellation: CancellationToken) -> str | None:
        """Post the chat's document; what the answer says is the receipt."""
        body = msgspec.json.encode(self._document(message))
        response = self._posting.post(message.endpoint, body, cancellation, url=self._url(message.endpoint))
        return self._receipt(message.endpoint, response)

    @abstractmethod
    def _document(self, message: OutgoingMessage) -> Mapping[str, Any]:
        """Return what is posted."""

    def _url(self, endpoint: Endpoint) -> str:
        return endpoint.address

    @abstractmethod
    def _receipt(self, endpoint: Endpoint, response: HttpResponse) -> str:
        """Return the receipt. :raises SendingFailed: the answer is no success."""

    def _text(self, message: OutgoingMessage, key: str, **params: Any) -> str:
        return self._catalog.text(key, params, language_of(message))

    def _more(self, message: OutgoingMessage, count: int) -> str:
        """Return the line that tells of what did not fit, *count* parts, and of what a digest has left out."""
        count += max(0, message.left_out - 1)  # The part that says so is one of those that did not fit.
        return self._text(message, "channel.more", count=count)

    def _coded(
        self,
        endpoint: Endpoint,
        response: HttpResponse,
        names: Sequence[tuple[str, str]],
        refused: Callable[[int, str], bool],
    ) -> str:
        """Read an answer that tells its failures by a code in the document, whatever the status is.

        *names* are the members of code and text, the first that is there counts; 0 is success. A code that is not
        *refused* for good is tried again, unknown ones as well.
        """
        answer = _object(response.body)
        for code_name, text_name in names:
            code = answer.get(code_name)
            if isinstance(code, int):
                said = str(answer.get(text_name, ""))
                if code == 0:
                    self._posting.accepted(endpoint, response)
                    return masked(f"{code} {said}".strip(), endpoint)
                raise SendingFailed(
                    masked(f"{code} {said}".strip(), endpoint),
                    permanent=refused(code, said),
                    retry_after=self._posting.wait(response.retry_after),
                )
        self._posting.accepted(endpoint, response)
        raise SendingFailed("the answer is not one that this chat gives")


def language_of(message: OutgoingMessage) -> Language:
    """Return the language to speak in; an unknown one is the first."""
    return next((known for known in LANGUAGES if known == message.language), LANGUAGES[0])


def pieces(message: OutgoingMessage) -> Sequence[Part]:
    """Return what is told as plain texts, titles in one line: a person's notices, or an event with its plain members.

    Every chat and the mail take their texts from here: no control character, no mark that turns the direction of
    writing gets into one. A value of an event is one line, so that it cannot pass for another member.
    """
    if message.topic is None:
        return [Part(title=one_line(part.title), body=plain_text(part.body), link=part.link) for part in message.parts]
    data = message.data or {}
    lines = [f"{name}: {value}" for name, value in data.items() if isinstance(value, str | int) and value != ""]
    return [Part(title=one_line(message.topic), body="\n".join(one_line(line) for line in lines))]


def headline(message: OutgoingMessage, parts: Sequence[Part], length: int) -> str:
    """Return what stands above all parts, in one line."""
    return shortened(one_line(message.subject or (parts[0].title if parts else "")), length)


def handle_of(message: OutgoingMessage) -> str | None:
    """Return how the person is called in the chat; nothing that could be read as anything but a name."""
    handle = (message.address or "").strip()
    return handle if _HANDLE.fullmatch(handle) else None


def not_markdown(text: str) -> str:
    """Return text that makes no link, picture or mention where a chat reads Markdown and knows no escapes."""
    return text.replace("](", "] (").replace("][", "] [").replace("]:", "] :").replace("<", "< ")


def fitting(parts: Sequence[Part], room: int, lay: Lay) -> tuple[list[str], int]:
    """Return as many parts as there is room for, in bytes, and how many are left out."""
    laid: list[str] = []
    for part in parts:
        text = lay(part, room)
        if text is None:
            break
        laid.append(text)
        room -= len(text.encode())
    return laid, len(parts) - len(laid)


def refused_among(codes: Collection[int]) -> Callable[[int, str], bool]:
    """Return the rule that exactly these codes are of no use to try again."""
    return lambda code, said: code in codes


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return answer if isinstance(answer, dict) else {}
