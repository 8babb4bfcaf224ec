"""Settings from the environment: every option, its default and what it may be; anything else is refused (spec 8.9).

A value that cannot be read and one that is out of range both stop the start: nothing ever falls back to its default.
"""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from webapp.config.kinds import (
    MASK,
    Choice,
    DatabaseUrl,
    Flag,
    Folder,
    Hosts,
    Integer,
    Kind,
    Number,
    Password,
    Secret,
    Secrets,
    Sender,
    SettingsError,
    SettingsOutOfRange,
    SiteUrl,
    Text,
    Topics,
    Zone,
)

PREFIX = "WAYPOST_"
TEST_PREFIX = "WAYPOST_TEST_"
"""Variables of the test suite, which the product does not read."""

DEMO_SECRET_KEY = "waypost-demo-on-this-machine-only"  # noqa: S105  # the demo's passwords are public as well
SECRET_KEY_MINIMUM = 16

_YEAR = 366 * 24 * 3600
_SMTP_PORTS = {"STARTTLS": 587, "TLS": 465, "NONE": 25}


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
    Option("WAYPOST_ENCRYPTION_KEYS", Secrets(SECRET_KEY_MINIMUM)),
    Option("WAYPOST_DEMO", Flag(), "0"),
    Option("WAYPOST_HOST", Text(253), "127.0.0.1"),
    Option("PORT", Integer(1, 65535), "8000"),
    Option("WAYPOST_TRUSTED_PROXIES", Integer(0, 9), "0"),
    Option("WAYPOST_THREADS", Integer(1, 512), "16"),
    Option("WAYPOST_POLLER", Flag(), "1"),
    Option("WAYPOST_POLLER_THREADS", Integer(1, 64), "4"),
    Option("WAYPOST_TIME_ZONE", Zone(), "UTC"),
    Option("WAYPOST_LANGUAGE", Choice(("EN", "ZH")), "EN"),
    Option("WAYPOST_LOG_LEVEL", Choice(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")), "INFO"),
    Option("WAYPOST_MAX_NODE_EXECUTIONS_PER_BURST", Integer(1, 1_000_000), "1000"),
    Option("WAYPOST_MAX_SUB_WORKFLOW_DEPTH", Integer(0, 1000), "16"),
    Option("WAYPOST_LOCK_TIMEOUT_SECONDS", _SECONDS, "10"),
    Option("WAYPOST_NOT_RESUMABLE_BACKOFF_SECONDS", _SECONDS, "300"),
    Option("WAYPOST_EXPRESSION_CACHE_SIZE", Integer(1, 10_000_000), "10000"),
    Option("WAYPOST_RETENTION_DAYS", Number(0, 36525), "0"),
    Option("WAYPOST_RETENTION_INCLUDES_FAULTED", Flag(), "0"),
    Option("WAYPOST_HOUSEKEEPING_INTERVAL_SECONDS", _SECONDS, "3600"),
    Option("WAYPOST_UNDO_SECONDS", Integer(0, 30), "6"),
    Option("WAYPOST_HTTP_TIMEOUT_SECONDS", _SECONDS, "30"),
    Option("WAYPOST_HTTP_ALLOW", Hosts()),
    Option("WAYPOST_HTTP_MAX_RESPONSE_BYTES", Integer(1, 64 * 1024 * 1024), "1048576"),
    Option("WAYPOST_POLL_INTERVAL_SECONDS", _SECONDS, "1"),
    Option("WAYPOST_BATCH_SIZE", Integer(1, 1000), "100"),
    Option("WAYPOST_TIMER_INTERVAL_SECONDS", _SECONDS, "300"),
    # A lease is renewed every third of it, but at most once a second: below 3 s it could run out while held.
    Option("WAYPOST_LOCK_LEASE_SECONDS", Number(3, _YEAR), "60"),
    Option("WAYPOST_HOLDER_ID", Text(64)),
    Option("WAYPOST_EVENT_TOPICS", Topics(), ""),
    Option("WAYPOST_BASE_URL", SiteUrl()),
    Option("WAYPOST_DECISION_LINK_DAYS", Number(0, 365, above=True), "7"),
    Option("WAYPOST_DELIVERY_INTERVAL_SECONDS", _SECONDS, "2"),
    Option("WAYPOST_DELIVERY_ATTEMPTS", Integer(1, 100), "12"),
    Option("WAYPOST_DELIVERY_TIMEOUT_SECONDS", Number(0, 3600, above=True), "30"),
    Option("WAYPOST_DELIVERY_RETENTION_DAYS", Number(0, 36525), "90"),
    Option("WAYPOST_SMTP_HOST", Text(253)),
    Option("WAYPOST_SMTP_PORT", Integer(1, 65535)),
    Option("WAYPOST_SMTP_SECURITY", Choice(("STARTTLS", "TLS", "NONE")), "STARTTLS"),
    Option("WAYPOST_SMTP_USER", Text(320)),
    Option("WAYPOST_SMTP_PASSWORD", Password()),
    Option("WAYPOST_MAIL_FROM", Sender()),
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
    encryption_keys: tuple[str, ...] = field(default=(), repr=False)
    demo: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    trusted_proxies: int = 0
    threads: int = 16
    poller: bool = True
    poller_threads: int = 4
    time_zone: str = "UTC"
    language: str = "EN"
    log_level: str = "INFO"
    max_node_executions_per_burst: int = 1000
    max_sub_workflow_depth: int = 16
    lock_timeout_seconds: float = 10.0
    not_resumable_backoff_seconds: float = 300.0
    expression_cache_size: int = 10_000
    retention_days: float = 0.0
    retention_includes_faulted: bool = False
    housekeeping_interval_seconds: float = 3600.0
    undo_seconds: int = 6
    http_timeout_seconds: float = 30.0
    http_allow: tuple[str, ...] = ()
    http_max_response_bytes: int = 1024 * 1024
    poll_interval_seconds: float = 1.0
    batch_size: int = 100
    timer_interval_seconds: float = 300.0
    lock_lease_seconds: float = 60.0
    holder_id: str | None = None
    event_topics: tuple[str, ...] = ()
    base_url: str | None = None
    decision_link_days: float = 7.0
    delivery_interval_seconds: float = 2.0
    delivery_attempts: int = 12
    delivery_timeout_seconds: float = 30.0
    delivery_retention_days: float = 90.0
    smtp_host: str | None = None
    smtp_port: int = 587
    smtp_security: Literal["STARTTLS", "TLS", "NONE"] = "STARTTLS"
    smtp_user: str | None = None
    smtp_password: str | None = field(default=None, repr=False)
    mail_from: str | None = None

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
        raise SettingsError(key, variable, MASK, similar=nearest[0] if nearest else "")


def _fill_in(values: dict[str, Any]) -> None:
    """Work out the defaults that depend on other options."""
    data: Path = values["data"]
    if values["database_url"] is None:
        values["database_url"] = f"sqlite:///{data / 'waypost.db'}"
    if values["lock_connection"] is None:
        on_sqlite = values["database_url"].startswith("sqlite:")
        values["lock_connection"] = f"sqlite:///{data / 'leases.db'}" if on_sqlite else values["database_url"]
    for name in ("http_allow", "encryption_keys"):
        if values[name] is None:
            values[name] = ()
    if values["smtp_port"] is None:
        values["smtp_port"] = _SMTP_PORTS[values["smtp_security"]]
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
    _check_mail(values)


def _check_mail(values: Mapping[str, Any]) -> None:
    host, user = values["smtp_host"], values["smtp_user"]
    if host is not None and values["mail_from"] is None:
        raise SettingsError("config.mail_from_missing", "WAYPOST_MAIL_FROM", None)
    if (user is None) != (values["smtp_password"] is None):
        missing = "WAYPOST_SMTP_USER" if user is None else "WAYPOST_SMTP_PASSWORD"
        raise SettingsError("config.smtp_login_half", missing, None)
    if user is not None and values["smtp_security"] == "NONE" and not _is_loopback(host or ""):
        raise SettingsOutOfRange("config.smtp_login_clear", "WAYPOST_SMTP_SECURITY", "none")


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


__all__ = ["OPTIONS", "Option", "Settings", "SettingsError", "SettingsOutOfRange"]
