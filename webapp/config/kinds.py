"""What a setting may be: how each kind of value is read, refused and shown (spec 8.9)."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from webapp.messages.catalog import Catalog, Language

MASK = "***"
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_TOPIC = re.compile(r"\*|[a-z_]+(\.[a-z_]+)*(\.\*)?")
_HOST = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*"
_SENDER = re.compile(rf'{_ADDRESS}|[^<>"@]+ <{_ADDRESS}>')
_FLAGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
# Greedy up to the last @, so that a password which holds @ or / itself is hidden whole.
_URL_PASSWORD = re.compile(r"(?<=://)([^:@]*):.*(?=@)", re.DOTALL)
_QUERY_PASSWORD = re.compile(r"(?<=password=)[^&]*", re.IGNORECASE)


class SettingsError(ValueError):
    """A variable's value cannot be used; ``variable`` and ``raw`` say which and what, secrets masked."""

    def __init__(self, key: str, variable: str, raw: str | None, **params: Any) -> None:
        self.key = key
        self.variable = variable
        self.raw = raw
        self.params = {"variable": variable, "raw": raw, **params}
        super().__init__(key, variable, raw)

    def text(self, catalog: Catalog, lang: Language = "en") -> str:
        """Return the refusal in *lang*, with the remedy."""
        return catalog.text(self.key, self.params, lang)

    def __str__(self) -> str:
        return self.text(Catalog.load())


class SettingsOutOfRange(SettingsError):
    """A value could be read, but the option cannot take it."""


class Kind(Protocol):
    """How the text of a variable becomes a value."""

    @property
    def allowed(self) -> str:
        """What the option may be, short enough for a table."""

    def parse(self, variable: str, raw: str) -> Any:
        """Return the value of *raw*.

        :raises SettingsError: it cannot be read.
        :raises SettingsOutOfRange: it can be read, but not used.
        """

    def mask(self, raw: str) -> str:
        """Return *raw* as it may be shown."""


class _Shown:
    def mask(self, raw: str) -> str:
        """Return *raw*: it holds no secret."""
        return raw


@dataclass(frozen=True)
class Integer(_Shown):
    """A whole number from *minimum* to *maximum*."""

    minimum: int
    maximum: int

    @property
    def allowed(self) -> str:
        """Both bounds."""
        return f"{self.minimum} to {self.maximum}"

    def parse(self, variable: str, raw: str) -> int:
        """Read the number."""
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", raw):
            raise SettingsError("config.integer", variable, raw)
        value = int(raw)
        if not self.minimum <= value <= self.maximum:
            raise SettingsOutOfRange("config.out_of_range", variable, raw, allowed=self.allowed)
        return value


@dataclass(frozen=True)
class Number(_Shown):
    """A finite number, fractions allowed, up to *maximum* and above or from *minimum*."""

    minimum: float
    maximum: float
    above: bool = False

    @property
    def allowed(self) -> str:
        """Both bounds."""
        return f"{'above ' if self.above else ''}{self.minimum:g} to {self.maximum:g}"

    def parse(self, variable: str, raw: str) -> float:
        """Read the number; NaN and infinity are none."""
        if not _NUMBER.fullmatch(raw):
            raise SettingsError("config.number", variable, raw)
        value = float(raw)
        if not self.minimum <= value <= self.maximum or (self.above and value == self.minimum):
            raise SettingsOutOfRange("config.out_of_range", variable, raw, allowed=self.allowed)
        return value


@dataclass(frozen=True)
class Flag(_Shown):
    """On or off."""

    allowed: str = "0, 1"

    def parse(self, variable: str, raw: str) -> bool:
        """Read 1 or 0, or a word for it."""
        value = _FLAGS.get(raw.lower())
        if value is None:
            raise SettingsError("config.flag", variable, raw)
        return value


@dataclass(frozen=True)
class Choice(_Shown):
    """One of a few words, in whatever case."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """The words."""
        return ", ".join(self.words)

    def parse(self, variable: str, raw: str) -> str:
        """Return the word in its own case."""
        word = raw.upper()
        if word not in self.words:
            raise SettingsError("config.choice", variable, raw, allowed=self.allowed)
        return word


@dataclass(frozen=True)
class Text(_Shown):
    """A word without white space or slash, at most *length* characters."""

    length: int

    @property
    def allowed(self) -> str:
        """The length."""
        return f"1 to {self.length} characters"

    def parse(self, variable: str, raw: str) -> str:
        """Return the word."""
        if not re.fullmatch(r"[^\s/\x00-\x1f]+", raw):
            raise SettingsError("config.word", variable, raw)
        if len(raw) > self.length:
            raise SettingsOutOfRange("config.out_of_range", variable, raw, allowed=self.allowed)
        return raw


@dataclass(frozen=True)
class Topics(_Shown):
    """Topics of events, separated by commas; ``*`` at the end stands for whatever follows."""

    allowed: str = "topics separated by commas, * at an end"

    def parse(self, variable: str, raw: str) -> tuple[str, ...]:
        """Return the patterns; no text is none."""
        patterns = [part.strip() for part in raw.split(",")] if raw.strip() else []
        if not all(_TOPIC.fullmatch(pattern) for pattern in patterns):
            raise SettingsError("config.topics", variable, raw)
        return tuple(dict.fromkeys(patterns))


@dataclass(frozen=True)
class Secret:
    """A secret of at least *minimum* characters, never shown."""

    minimum: int

    @property
    def allowed(self) -> str:
        """The length."""
        return f"{self.minimum} characters or more"

    def parse(self, variable: str, raw: str) -> str:
        """Return the secret."""
        if not raw.strip():
            raise SettingsError("config.secret_missing", variable, None)
        if len(raw) < self.minimum:
            raise SettingsOutOfRange("config.secret_short", variable, MASK, minimum=self.minimum)
        return raw

    def mask(self, raw: str) -> str:
        """Hide all of it."""
        return MASK


@dataclass(frozen=True)
class Secrets:
    """Secrets of at least *minimum* characters, separated by commas, never shown."""

    minimum: int

    @property
    def allowed(self) -> str:
        """The length of each."""
        return f"{self.minimum} characters or more each, comma-separated"

    def parse(self, variable: str, raw: str) -> tuple[str, ...]:
        """Return the secrets, in order."""
        found = tuple(part.strip() for part in raw.split(","))
        if any(len(one) < self.minimum for one in found):
            raise SettingsOutOfRange("config.secret_short", variable, MASK, minimum=self.minimum)
        return found

    def mask(self, raw: str) -> str:
        """Hide all of it."""
        return MASK


@dataclass(frozen=True)
class Password:
    """A password that somebody else has set, never shown; protocols carry it in plain characters only."""

    allowed: str = "printable ASCII characters"

    def parse(self, variable: str, raw: str) -> str:
        """Return the password."""
        if not raw or not raw.isascii() or not raw.isprintable():
            raise SettingsError("config.password", variable, MASK)
        return raw

    def mask(self, raw: str) -> str:
        """Hide all of it."""
        return MASK


@dataclass(frozen=True)
class Sender(_Shown):
    """Who mails come from: an address, or a name and the address in angle brackets."""

    allowed: str = "name@host, Name <name@host>"

    def parse(self, variable: str, raw: str) -> str:
        """Return it as it is written."""
        if not raw.isprintable() or not _SENDER.fullmatch(raw.strip()):
            raise SettingsError("config.sender", variable, raw)
        return raw.strip()


@dataclass(frozen=True)
class Zone(_Shown):
    """A time zone of the IANA list."""

    allowed: str = "an IANA time zone"

    def parse(self, variable: str, raw: str) -> str:
        """Return the name when there is such a zone."""
        try:
            ZoneInfo(raw)
        except (ValueError, KeyError, OSError) as error:
            raise SettingsError("config.zone", variable, raw) from error
        return raw


@dataclass(frozen=True)
class Folder(_Shown):
    """A folder, which need not be there yet."""

    allowed: str = "a folder"

    def parse(self, variable: str, raw: str) -> Path:
        """Return the absolute path."""
        if not raw.strip() or "\0" in raw:
            raise SettingsError("config.folder", variable, raw)
        path = Path(raw).expanduser().absolute()
        if path.exists() and not path.is_dir():
            raise SettingsError("config.folder", variable, raw)
        return path


@dataclass(frozen=True)
class Hosts(_Shown):
    """Host names, addresses and networks, with commas between them; none is allowed."""

    allowed: str = "hosts, addresses, networks; commas between them"

    def parse(self, variable: str, raw: str) -> tuple[str, ...]:
        """Return the entries."""
        entries = tuple(entry.strip() for entry in raw.split(",") if entry.strip())
        for entry in entries:
            if not _HOST.fullmatch(entry) and not _is_network(entry):
                raise SettingsError("config.hosts", variable, raw, entry=entry)
        return entries


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class SiteUrl(_Shown):
    """The address at which people reach the installation: http or https, a host, no query."""

    allowed: str = "https://host, http://host:port/path"

    def parse(self, variable: str, raw: str) -> str:
        """Return the address without a slash at its end."""
        try:
            parts = urlsplit(raw.strip())
            _ = parts.port  # raises when it is no number
        except ValueError as error:
            raise SettingsError("config.site_url", variable, raw) from error
        plain = not (parts.query or parts.fragment or "@" in parts.netloc or re.search(r"[\s\x00-\x1f]", raw.strip()))
        if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
            raise SettingsError("config.site_url", variable, raw)
        return raw.strip().rstrip("/")


_SERVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "mariadb": "mariadb+pymysql",
    "mariadb+pymysql": "mariadb+pymysql",
}
"""Schemes of databases behind a server, and the driver that is used."""


@dataclass(frozen=True)
class DatabaseUrl:
    """The URL of an SQLite file, a PostgreSQL or a MariaDB database; without a driver it means the one that is used."""

    allowed: str = "sqlite:///…, postgresql://…, mariadb://…"

    def parse(self, variable: str, raw: str) -> str:
        """Return the URL with its driver."""
        try:
            parts = urlsplit(raw)
            _ = parts.port  # raises when it is no number
        except ValueError as error:
            raise SettingsError("config.url", variable, self.mask(raw), allowed=self.allowed) from error
        if parts.scheme == "sqlite":
            if not raw.startswith("sqlite:///") or parts.path in ("", "/", "/:memory:"):
                raise SettingsError("config.url_file", variable, self.mask(raw))
            return raw
        if parts.scheme in _SERVERS and len(parts.path) > 1:
            return _SERVERS[parts.scheme] + raw[len(parts.scheme) :]
        raise SettingsError("config.url", variable, self.mask(raw), allowed=self.allowed)

    def mask(self, raw: str) -> str:
        """Hide the password."""
        return _QUERY_PASSWORD.sub(MASK, _URL_PASSWORD.sub(rf"\1:{MASK}", raw))
