"""Settings: what each option takes, and that nothing else gets through (spec 8.9, 25 "Running it")."""

from __future__ import annotations

from pathlib import Path

import pytest

from webapp.config import OPTIONS, Option, Settings, SettingsError, SettingsOutOfRange
from webapp.messages.catalog import LANGUAGES, Catalog

KEY = {"WAYPOST_SECRET_KEY": "k" * 16}


def settings(**environ: str) -> Settings:
    return Settings.from_environ({**KEY, **environ})


def refusal(**environ: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        settings(**environ)
    return caught.value


def test_defaults_are_those_of_the_specification() -> None:
    made = settings()
    assert made.max_node_executions_per_burst == 1000
    assert made.max_sub_workflow_depth == 16
    assert made.lock_timeout_seconds == 10
    assert made.not_resumable_backoff_seconds == 300
    assert made.expression_cache_size == 10000
    assert made.retention_days == 0
    assert made.housekeeping_interval_seconds == 3600
    assert made.http_timeout_seconds == 30
    assert (made.poll_interval_seconds, made.batch_size, made.lock_lease_seconds) == (1, 100, 60)
    assert made.holder_id is None
    assert made.sqlite_synchronous == "FULL"
    assert (made.host, made.port, made.threads) == ("127.0.0.1", 8000, 16)
    assert (made.poller, made.poller_threads) == (True, 4)
    assert (made.time_zone, made.log_level, made.demo) == ("UTC", "INFO", False)


def test_without_urls_both_databases_lie_in_the_data_folder(tmp_path: Path) -> None:
    made = settings(WAYPOST_DATA=str(tmp_path))
    assert made.data == tmp_path
    assert made.database_url == f"sqlite:///{tmp_path}/waypost.db"
    assert made.lock_connection == f"sqlite:///{tmp_path}/leases.db"


def test_a_relative_data_folder_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings(WAYPOST_DATA="here").data == tmp_path / "here"


@pytest.mark.parametrize("scheme", ["mariadb", "mariadb+pymysql"])
def test_mariadb_means_pymysql_and_keeps_the_leases_in_the_main_database(scheme: str) -> None:
    made = settings(WAYPOST_DATABASE_URL=f"{scheme}://u:p@h:3306/d?ssl_ca=/ca.pem")
    assert made.database_url == "mariadb+pymysql://u:p@h:3306/d?ssl_ca=/ca.pem"
    assert made.lock_connection == made.database_url


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_means_psycopg_and_keeps_the_leases_in_the_main_database(scheme: str) -> None:
    made = settings(WAYPOST_DATABASE_URL=f"{scheme}://u:p@h:5432/d?x=1")
    assert made.database_url == "postgresql+psycopg://u:p@h:5432/d?x=1"
    assert made.lock_connection == made.database_url


def test_every_option_is_read_from_its_variable(tmp_path: Path) -> None:
    given = {
        "WAYPOST_DATA": str(tmp_path),
        "WAYPOST_DATABASE_URL": "postgresql://h/d",
        "WAYPOST_LOCK_CONNECTION": "sqlite:////x/l.db",
        "WAYPOST_SQLITE_SYNCHRONOUS": "normal",
        "WAYPOST_SECRET_KEY": "s" * 20,
        "WAYPOST_ENCRYPTION_KEYS": f"{'n' * 16}, {'o' * 16}",
        "WAYPOST_DEMO": "1",
        "WAYPOST_HOST": "localhost",
        "PORT": "8001",
        "WAYPOST_TRUSTED_PROXIES": "2",
        "WAYPOST_THREADS": "3",
        "WAYPOST_POLLER": "0",
        "WAYPOST_POLLER_THREADS": "5",
        "WAYPOST_TIME_ZONE": "Asia/Shanghai",
        "WAYPOST_LANGUAGE": "zh",
        "WAYPOST_LOG_LEVEL": "debug",
        "WAYPOST_MAX_NODE_EXECUTIONS_PER_BURST": "7",
        "WAYPOST_MAX_SUB_WORKFLOW_DEPTH": "0",
        "WAYPOST_LOCK_TIMEOUT_SECONDS": "0.5",
        "WAYPOST_NOT_RESUMABLE_BACKOFF_SECONDS": "8",
        "WAYPOST_EXPRESSION_CACHE_SIZE": "9",
        "WAYPOST_RETENTION_DAYS": "30",
        "WAYPOST_RETENTION_INCLUDES_FAULTED": "1",
        "WAYPOST_HOUSEKEEPING_INTERVAL_SECONDS": "10",
        "WAYPOST_UNDO_SECONDS": "12",
        "WAYPOST_HTTP_TIMEOUT_SECONDS": "11",
        "WAYPOST_HTTP_ALLOW": "erp.intra.example, 10.20.0.0/16,fd00::1",
        "WAYPOST_HTTP_MAX_RESPONSE_BYTES": "2000",
        "WAYPOST_POLL_INTERVAL_SECONDS": "0.2",
        "WAYPOST_TIMER_INTERVAL_SECONDS": "14",
        "WAYPOST_BATCH_SIZE": "12",
        "WAYPOST_LOCK_LEASE_SECONDS": "13",
        "WAYPOST_HOLDER_ID": "node-1",
        "WAYPOST_EVENT_TOPICS": "workflow.task.*, workflow.custom,workflow.custom",
        "WAYPOST_BASE_URL": "https://waypost.example.org/flows/",
        "WAYPOST_DECISION_LINK_DAYS": "2.5",
        "WAYPOST_DELIVERY_INTERVAL_SECONDS": "0.5",
        "WAYPOST_DELIVERY_ATTEMPTS": "3",
        "WAYPOST_DELIVERY_TIMEOUT_SECONDS": "4.5",
        "WAYPOST_DELIVERY_RETENTION_DAYS": "0",
        "WAYPOST_SMTP_HOST": "mail.example.org",
        "WAYPOST_SMTP_PORT": "2525",
        "WAYPOST_SMTP_SECURITY": "tls",
        "WAYPOST_SMTP_USER": "sender@example.org",
        "WAYPOST_SMTP_PASSWORD": "hush hush/",
        "WAYPOST_MAIL_FROM": "Waypost <waypost@example.org>",
    }
    assert given.keys() == {option.variable for option in OPTIONS}
    assert Settings.from_environ(given) == Settings(
        data=tmp_path,
        database_url="postgresql+psycopg://h/d",
        lock_connection="sqlite:////x/l.db",
        sqlite_synchronous="NORMAL",
        secret_key="s" * 20,
        encryption_keys=("n" * 16, "o" * 16),
        demo=True,
        host="localhost",
        port=8001,
        trusted_proxies=2,
        threads=3,
        poller=False,
        poller_threads=5,
        time_zone="Asia/Shanghai",
        language="ZH",
        log_level="DEBUG",
        max_node_executions_per_burst=7,
        max_sub_workflow_depth=0,
        lock_timeout_seconds=0.5,
        not_resumable_backoff_seconds=8.0,
        expression_cache_size=9,
        retention_days=30.0,
        retention_includes_faulted=True,
        housekeeping_interval_seconds=10.0,
        undo_seconds=12,
        http_timeout_seconds=11.0,
        http_allow=("erp.intra.example", "10.20.0.0/16", "fd00::1"),
        http_max_response_bytes=2000,
        poll_interval_seconds=0.2,
        timer_interval_seconds=14.0,
        batch_size=12,
        lock_lease_seconds=13.0,
        holder_id="node-1",
        event_topics=("workflow.task.*", "workflow.custom"),
        base_url="https://waypost.example.org/flows",
        decision_link_days=2.5,
        delivery_interval_seconds=0.5,
        delivery_attempts=3,
        delivery_timeout_seconds=4.5,
        delivery_retention_days=0.0,
        smtp_host="mail.example.org",
        smtp_port=2525,
        smtp_security="TLS",
        smtp_user="sender@example.org",
        smtp_password="hush hush/",
        mail_from="Waypost <waypost@example.org>",
    )


# --- e-mail ---------------------------------------------------------------------------------------

MAIL = {"WAYPOST_SMTP_HOST": "mail.example.org", "WAYPOST_MAIL_FROM": "waypost@example.org"}
LOGIN = {"WAYPOST_SMTP_USER": "u", "WAYPOST_SMTP_PASSWORD": "hush"}


@pytest.mark.parametrize(("security", "port"), [("STARTTLS", 587), ("TLS", 465), ("NONE", 25)])
def test_the_port_of_the_mail_server_follows_from_its_security(security: str, port: int) -> None:
    assert settings(**MAIL, WAYPOST_SMTP_SECURITY=security).smtp_port == port
    assert settings(**MAIL).smtp_security == "STARTTLS"


@pytest.mark.parametrize(
    ("given", "key", "variable"),
    [
        ({"WAYPOST_SMTP_HOST": "h"}, "config.mail_from_missing", "WAYPOST_MAIL_FROM"),
        ({**MAIL, "WAYPOST_SMTP_USER": "u"}, "config.smtp_login_half", "WAYPOST_SMTP_PASSWORD"),
        ({**MAIL, "WAYPOST_SMTP_PASSWORD": "hush"}, "config.smtp_login_half", "WAYPOST_SMTP_USER"),
        ({**MAIL, **LOGIN, "WAYPOST_SMTP_SECURITY": "none"}, "config.smtp_login_clear", "WAYPOST_SMTP_SECURITY"),
        ({**MAIL, **LOGIN, "WAYPOST_SMTP_PASSWORD": "hüsh"}, "config.password", "WAYPOST_SMTP_PASSWORD"),
        ({**MAIL, "WAYPOST_MAIL_FROM": "waypost"}, "config.sender", "WAYPOST_MAIL_FROM"),
        ({**MAIL, "WAYPOST_MAIL_FROM": "W <a@b>, c@d"}, "config.sender", "WAYPOST_MAIL_FROM"),
        ({**MAIL, "WAYPOST_MAIL_FROM": "a@b\nBcc: c@d"}, "config.sender", "WAYPOST_MAIL_FROM"),
    ],
)
def test_half_a_mail_server_stops_the_start(given: dict[str, str], key: str, variable: str) -> None:
    error = refusal(**given)
    assert (error.key, error.variable) == (key, variable)
    assert "h\u00fcsh" not in str(error) + repr(error) + repr(error.params)


def test_a_login_in_the_clear_is_for_this_machine_only() -> None:
    made = settings(**{**MAIL, **LOGIN, "WAYPOST_SMTP_HOST": "127.0.0.1", "WAYPOST_SMTP_SECURITY": "none"})
    assert made.smtp_user == "u"
    assert made.masked()["smtp_password"] == "***"
    assert "hush" not in repr(made)


UNPARSABLE = [
    ("WAYPOST_BASE_URL", "waypost.example.org"),
    ("WAYPOST_BASE_URL", "ftp://waypost.example.org"),
    ("WAYPOST_BASE_URL", "https://"),
    ("WAYPOST_BASE_URL", "https://host:port"),
    ("WAYPOST_BASE_URL", "https://user@host"),
    ("WAYPOST_BASE_URL", "https://host/?page=1"),
    ("WAYPOST_BASE_URL", "https://ho st"),
    ("WAYPOST_DELIVERY_ATTEMPTS", "many"),
    ("WAYPOST_EVENT_TOPICS", "workflow.*.created"),
    ("WAYPOST_EVENT_TOPICS", "workflow.task*"),
    ("WAYPOST_EVENT_TOPICS", "workflow.task,,workflow.custom"),
    ("WAYPOST_HTTP_ALLOW", "http://erp.intra.example"),
    ("WAYPOST_HTTP_ALLOW", "10.20.0.1/16"),
    ("WAYPOST_HTTP_ALLOW", "10.0.0.300"),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", "NaN"),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", "ten"),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", ""),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", "inf"),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", "1_0"),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", " 1"),
    ("WAYPOST_MAX_NODE_EXECUTIONS_PER_BURST", "1.5"),
    ("WAYPOST_MAX_NODE_EXECUTIONS_PER_BURST", "1e3"),
    ("WAYPOST_BATCH_SIZE", "١"),
    ("PORT", "http"),
    ("WAYPOST_DEMO", "maybe"),
    ("WAYPOST_POLLER", ""),
    ("WAYPOST_SQLITE_SYNCHRONOUS", "OFF"),
    ("WAYPOST_LOG_LEVEL", "LOUD"),
    ("WAYPOST_LANGUAGE", "fr"),
    ("WAYPOST_TIME_ZONE", "Mars/Olympus"),
    ("WAYPOST_TIME_ZONE", "../etc/passwd"),
    ("WAYPOST_HOLDER_ID", "a/b"),
    ("WAYPOST_DATABASE_URL", "oracle://h/d"),
    ("WAYPOST_DATABASE_URL", "waypost.db"),
    ("WAYPOST_DATABASE_URL", "sqlite://"),
    ("WAYPOST_DATABASE_URL", "sqlite:///:memory:"),
    ("WAYPOST_DATABASE_URL", "postgresql://h:port/d"),
    ("WAYPOST_DATABASE_URL", "postgresql://h"),
    ("WAYPOST_DATABASE_URL", "mariadb://h"),
    ("WAYPOST_DATABASE_URL", "mysql://h/d"),
    ("WAYPOST_LOCK_CONNECTION", "Workflow"),
]

OUT_OF_RANGE = [
    ("WAYPOST_MAX_NODE_EXECUTIONS_PER_BURST", "0"),
    ("WAYPOST_MAX_SUB_WORKFLOW_DEPTH", "-1"),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", "0"),
    ("WAYPOST_LOCK_TIMEOUT_SECONDS", "-0.5"),
    ("WAYPOST_NOT_RESUMABLE_BACKOFF_SECONDS", "0.0"),
    ("WAYPOST_EXPRESSION_CACHE_SIZE", "0"),
    ("WAYPOST_RETENTION_DAYS", "-1"),
    ("WAYPOST_HOUSEKEEPING_INTERVAL_SECONDS", "0"),
    ("WAYPOST_HTTP_TIMEOUT_SECONDS", "99999999999"),
    ("WAYPOST_LOCK_LEASE_SECONDS", "1"),
    ("PORT", "65536"),
    ("PORT", "-1"),
    ("WAYPOST_THREADS", "0"),
    ("WAYPOST_HOLDER_ID", "x" * 65),
]


@pytest.mark.parametrize(("variable", "raw"), UNPARSABLE)
def test_a_value_that_cannot_be_read_stops_the_start(variable: str, raw: str) -> None:
    error = refusal(**{variable: raw})
    assert not isinstance(error, SettingsOutOfRange)
    assert variable in str(error)
    assert f"'{raw}'" in str(error)


@pytest.mark.parametrize(("variable", "raw"), OUT_OF_RANGE)
def test_a_value_out_of_range_stops_the_start_in_another_way(variable: str, raw: str) -> None:
    error = refusal(**{variable: raw})
    assert isinstance(error, SettingsOutOfRange)
    assert variable in str(error)
    assert f"'{raw}'" in str(error)


def test_a_refusal_is_told_in_both_languages() -> None:
    error = refusal(PORT="0")
    words = Catalog.load(strict=True)
    assert error.text(words) == "PORT is '0', which is out of range. Allowed: 1 to 65535."
    assert error.text(words, "zh").startswith("PORT 的值是“0”")


def test_a_missing_secret_key_stops_the_start_and_tells_how_to_make_one() -> None:
    with pytest.raises(SettingsError, match=r"WAYPOST_SECRET_KEY is not set.*token_hex"):
        Settings.from_environ({})


@pytest.mark.parametrize("raw", ["short", f"{'k' * 16},short", f"{'k' * 16},"])
def test_a_short_encryption_key_is_refused_and_not_shown(raw: str) -> None:
    error = refusal(WAYPOST_ENCRYPTION_KEYS=raw)
    text = error.text(Catalog.load(strict=True))
    assert "WAYPOST_ENCRYPTION_KEYS" in text
    assert "kkkk" not in text


@pytest.mark.parametrize("raw", ["", "   "])
def test_a_blank_secret_key_is_missing_in_the_demo_too(raw: str) -> None:
    with pytest.raises(SettingsError, match="WAYPOST_SECRET_KEY is not set"):
        Settings.from_environ({"WAYPOST_SECRET_KEY": raw, "WAYPOST_DEMO": "1"})


def test_a_short_secret_key_is_refused_and_never_shown() -> None:
    error = refusal(WAYPOST_SECRET_KEY="hush-hush")
    assert isinstance(error, SettingsOutOfRange)
    assert "hush" not in str(error) + repr(error) + repr(error.params)


def test_the_demo_needs_no_secret_key() -> None:
    assert Settings.from_environ({"WAYPOST_DEMO": "1"}).demo


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_the_demo_runs_on_a_loopback_address(host: str) -> None:
    assert settings(WAYPOST_DEMO="1", WAYPOST_HOST=host).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", "127.0.0.1.example.com"])
def test_the_demo_runs_nowhere_else(host: str) -> None:
    error = refusal(WAYPOST_DEMO="1", WAYPOST_HOST=host)
    assert isinstance(error, SettingsOutOfRange)
    assert "WAYPOST_HOST" in str(error)
    assert host in str(error)


def test_without_the_demo_any_address_will_do() -> None:
    assert settings(WAYPOST_HOST="0.0.0.0").host == "0.0.0.0"


@pytest.mark.parametrize(
    "url",
    [
        "oracle://user:hush@host/d",
        "oracle://user:hu@hush@host/d",
        "oracle://user:hu/hush@host/d",
        "oracle://host/d?sslpassword=hush&x=1",
        "postgresql://user:hush@host:port/d",
    ],
)
def test_a_password_in_a_url_is_masked(url: str) -> None:
    error = refusal(WAYPOST_DATABASE_URL=url)
    assert "hush" not in str(error) + repr(error) + repr(error.params)
    assert "host" in str(error)


def test_settings_show_no_secret() -> None:
    made = settings(WAYPOST_SECRET_KEY="hush" * 8, WAYPOST_DATABASE_URL="postgresql://u:hush@h/d")
    assert "hush" not in repr(made)
    assert "hush" not in repr(made.masked())
    assert made.masked()["database_url"] == "postgresql+psycopg://u:***@h/d"
    assert made.masked()["port"] == 8000


def test_leases_and_data_never_share_an_sqlite_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    error = refusal(WAYPOST_DATABASE_URL=url, WAYPOST_LOCK_CONNECTION=f"{url}?timeout=5")
    assert error.key == "config.lock_same_file"


def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert refusal(WAYPOST_DATA=str(file)).key == "config.folder"


def test_a_misspelt_variable_is_refused_with_the_nearest_name() -> None:
    error = refusal(WAYPOST_SECRETKEY="hush")
    assert "WAYPOST_SECRETKEY" in str(error)
    assert "WAYPOST_SECRET_KEY" in str(error)
    assert "hush" not in str(error)


def test_variables_of_the_test_suite_and_of_others_are_left_alone() -> None:
    assert settings(WAYPOST_TEST_POSTGRESQL_URL="x", HOME="/root").port == 8000


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.variable)
def test_every_option_is_explained_in_both_languages(option: Option) -> None:
    words = Catalog.load(strict=True)
    for language in LANGUAGES:
        assert words.text(option.help_key, {}, language)
        if option.default is None:
            assert words.text(option.default_key, {}, language)
