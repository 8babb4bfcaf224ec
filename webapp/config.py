"""Settings from the environment: every option, its default and what it may be; anything else is refused (spec 8.9).

A value that cannot be read and one that is out of range both stop the start: nothing ever falls back to its default.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from webapp.messages.catalog import Catalog, Language

PREFIX = "WAYPOST_"
TEST_PREFIX = "WAYPOST_TEST_"
"""Variables of the test suite, which the product does not read."""

DEMO_SECRET_KEY = "waypost-demo-on-this-machine-only"  # noqa: S105  # the demo's passwords are public as well
SECRET_KEY_MINIMUM = 16

_YEAR = 366 * 24 * 3600
_MASK = "***"
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
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
            raise SettingsOutOfRange("config.secret_short", variable, _MASK, minimum=self.minimum)
        return raw

    def mask(self, raw: str) -> str:
        """Hide all of it."""
        return _MASK


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
class DatabaseUrl:
    """The URL of an SQLite file or a PostgreSQL database; ``postgresql://`` means the psycopg 3 driver."""

    allowed: str = "sqlite:///…, postgresql://…"

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
        if parts.scheme in ("postgresql", "postgres", "postgresql+psycopg") and len(parts.path) > 1:
            return "postgresql+psycopg" + raw[len(parts.scheme) :]
        raise SettingsError("config.url", variable, self.mask(raw), allowed=self.allowed)

    def mask(self, raw: str) -> str:
        """Hide the password."""
        return _QUERY_PASSWORD.sub(_MASK, _URL_PASSWORD.sub(rf"\1:{_MASK}", raw))


@dataclass(frozen=True)
class Option:
    """One setting: its variable, how it is read, and its default as one would write it (None: worked out)."""

    variable: str
    kind: Kind
    default: str | None = None

    @property
    def attribute(self) -> str:
        """The name of the field in Settings."""
        return self.variable.removeprefix(PREFIX).lower()

    @property
    def help_key(self) -> str:
        """The message key of what the option is for."""
        return f"config.option.{self.variable}"

    @property
    def default_key(self) -> str:
        """The message key of how a default that is worked out comes about."""
        return f"config.default.{self.variable}"


_SECONDS = Number(0, _YEAR, above=True)

OPTIONS: tuple[Option, ...] = (
    Option("WAYPOST_DATA", Folder(), "./data"),
    Option("WAYPOST_DATABASE_URL", DatabaseUrl()),
    Option("WAYPOST_LOCK_CONNECTION", DatabaseUrl()),
    Option("WAYPOST_SQLITE_SYNCHRONOUS", Choice(("FULL", "NORMAL", "EXTRA")), "FULL"),
    Option("WAYPOST_SECRET_KEY", Secret(SECRET_KEY_MINIMUM)),
    Option("WAYPOST_DEMO", Flag(), "0"),
    Option("WAYPOST_HOST", Text(253), "127.0.0.1"),
    Option("PORT", Integer(1, 65535), "8000"),
    Option("WAYPOST_TRUSTED_PROXIES", Integer(0, 9), "0"),
    Option("WAYPOST_THREADS", Integer(1, 512), "16"),
    Option("WAYPOST_POLLER", Flag(), "1"),
    Option("WAYPOST_POLLER_THREADS", Integer(1, 64), "4"),
    Option("WAYPOST_TIME_ZONE", Zone(), "UTC"),
    Option("WAYPOST_LOG_LEVEL", Choice(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")), "INFO"),
    Option("WAYPOST_MAX_NODE_EXECUTIONS_PER_BURST", Integer(1, 1_000_000), "1000"),
    Option("WAYPOST_MAX_SUB_WORKFLOW_DEPTH", Integer(0, 1000), "16"),
    Option("WAYPOST_LOCK_TIMEOUT_SECONDS", _SECONDS, "10"),
    Option("WAYPOST_NOT_RESUMABLE_BACKOFF_SECONDS", _SECONDS, "300"),
    Option("WAYPOST_EXPRESSION_CACHE_SIZE", Integer(1, 10_000_000), "10000"),
    Option("WAYPOST_RETENTION_DAYS", Number(0, 36525), "0"),
    Option("WAYPOST_HOUSEKEEPING_INTERVAL_SECONDS", _SECONDS, "3600"),
    Option("WAYPOST_HTTP_TIMEOUT_SECONDS", _SECONDS, "30"),
    Option("WAYPOST_POLL_INTERVAL_SECONDS", _SECONDS, "1"),
    Option("WAYPOST_BATCH_SIZE", Integer(1, 1000), "100"),
    # A lease is renewed every third of it, but at most once a second: below 3 s it could run out while held.
    Option("WAYPOST_LOCK_LEASE_SECONDS", Number(3, _YEAR), "60"),
    Option("WAYPOST_HOLDER_ID", Text(64)),
)
"""The one list of settings, in the order of the README's table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What this installation is set to; each field is the variable of the same name without its prefix."""

    data: Path
    database_url: str = field(repr=False)
    lock_connection: str = field(repr=False)
    sqlite_synchronous: Literal["FULL", "NORMAL", "EXTRA"] = "FULL"
    secret_key: str = field(repr=False)
    demo: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    trusted_proxies: int = 0
    threads: int = 16
    poller: bool = True
    poller_threads: int = 4
    time_zone: str = "UTC"
    log_level: str = "INFO"
    max_node_executions_per_burst: int = 1000
    max_sub_workflow_depth: int = 16
    lock_timeout_seconds: float = 10.0
    not_resumable_backoff_seconds: float = 300.0
    expression_cache_size: int = 10_000
    retention_days: float = 0.0
    housekeeping_interval_seconds: float = 3600.0
    http_timeout_seconds: float = 30.0
    poll_interval_seconds: float = 1.0
    batch_size: int = 100
    lock_lease_seconds: float = 60.0
    holder_id: str | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read every option from *environ*, usually ``os.environ``.

        :raises SettingsError: the first variable whose value cannot be read, is missing, or is not known.
        :raises SettingsOutOfRange: the first one whose value cannot be used.
        """
        _refuse_unknown(environ)
        values: dict[str, Any] = {}
        for option in OPTIONS:
            raw = environ.get(option.variable, option.default)
            values[option.attribute] = None if raw is None else option.kind.parse(option.variable, raw)
        _fill_in(values)
        _check_together(values)
        return cls(**values)

    def masked(self) -> dict[str, Any]:
        """Return every setting as it may be logged or shown: no secret, no password of a URL."""
        kinds = {option.attribute: option.kind for option in OPTIONS}
        shown: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            shown[item.name] = kinds[item.name].mask(value) if isinstance(value, str) else value
        return shown


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [option.variable for option in OPTIONS]
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable.startswith(TEST_PREFIX) or variable in known:
            continue
        nearest = difflib.get_close_matches(variable, known, n=1)
        key = "config.unknown_similar" if nearest else "config.unknown"
        # its value may be a secret under a misspelt name
        raise SettingsError(key, variable, _MASK, similar=nearest[0] if nearest else "")


def _fill_in(values: dict[str, Any]) -> None:
    """Work out the defaults that depend on other options."""
    data: Path = values["data"]
    if values["database_url"] is None:
        values["database_url"] = f"sqlite:///{data / 'waypost.db'}"
    if values["lock_connection"] is None:
        on_sqlite = values["database_url"].startswith("sqlite:")
        values["lock_connection"] = f"sqlite:///{data / 'leases.db'}" if on_sqlite else values["database_url"]
    if values["secret_key"] is None and values["demo"]:
        values["secret_key"] = DEMO_SECRET_KEY


def _check_together(values: Mapping[str, Any]) -> None:
    if values["secret_key"] is None:
        raise SettingsError("config.secret_missing", "WAYPOST_SECRET_KEY", None)
    if values["demo"] and not _is_loopback(values["host"]):
        raise SettingsOutOfRange("config.demo_loopback", "WAYPOST_HOST", values["host"])
    database, locks = values["database_url"], values["lock_connection"]
    if database.startswith("sqlite:") and _same_file(database, locks):
        raise SettingsOutOfRange("config.lock_same_file", "WAYPOST_LOCK_CONNECTION", locks)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _same_file(first: str, second: str) -> bool:
    def path(url: str) -> Path:
        return Path(unquote(url.removeprefix("sqlite:///").partition("?")[0])).absolute()

    return second.startswith("sqlite:") and path(first) == path(second)
