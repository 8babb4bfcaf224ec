"""Sessions, CSRF, headers, sign-in limits: what keeps a browser's session its owner's (spec 13)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.support.web import Site, make_site
from webapp.web.security import FailureLimits

CSRF = re.compile(r'name="csrf-token" content="([^"]+)"')


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = make_site(tmp_path)
    site.account("emma", "user", display_name="Emma")
    return site


def token_of(client: FlaskClient, path: str = "/sign-in") -> str:
    found = CSRF.search(client.get(path).text)
    assert found is not None
    return found.group(1)


def sign_in(client: FlaskClient, name: str = "emma", password: str = "emma!", **form: str) -> int:
    data = {"name": name, "password": password, "csrf_token": token_of(client), **form}
    return client.post("/sign-in", data=data).status_code


def test_every_answer_has_the_headers_of_the_policy(site: Site) -> None:
    for path in ("/sign-in", "/api/v1/me", "/healthz", "/nowhere"):
        headers = site.app.test_client().get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert "Strict-Transport-Security" not in headers


def test_behind_tls_cookies_are_secure_and_transport_is_strict(tmp_path: Path) -> None:
    site = make_site(tmp_path, WAYPOST_TRUSTED_PROXIES="1")
    response = site.app.test_client().get("/sign-in", headers={"X-Forwarded-Proto": "https"})
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "Secure" in response.headers["Set-Cookie"]


def test_without_a_trusted_proxy_nobody_believes_the_forwarded_headers(site: Site) -> None:
    response = site.app.test_client().get("/sign-in", headers={"X-Forwarded-Proto": "https"})
    assert "Strict-Transport-Security" not in response.headers
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie


def test_signing_in_begins_a_session_and_signing_out_ends_it(site: Site) -> None:
    client = site.app.test_client()
    assert client.get("/api/v1/me").status_code == 401
    assert sign_in(client) == 303
    assert client.get("/api/v1/me").json["name"] == "emma"
    token = token_of(client, "/account")
    assert client.post("/sign-out", data={"csrf_token": token}).status_code == 303
    assert client.get("/api/v1/me").status_code == 401


def test_a_wrong_password_and_an_unknown_name_look_the_same(site: Site) -> None:
    client = site.app.test_client()
    assert sign_in(client, password="wrong") == 422
    assert sign_in(client, name="nobody", password="wrong") == 422
    assert client.get("/api/v1/me").status_code == 401


def test_a_session_write_without_the_token_is_refused(site: Site) -> None:
    client = site.app.test_client()
    assert sign_in(client) == 303
    refused = client.post("/api/v1/expressions/check", json={"text": "1", "kind": "expression"})
    assert refused.status_code == 403
    assert refused.json["code"] == "ACCESS_DENIED_002"
    headers = {"X-CSRFToken": token_of(client, "/account")}
    allowed = client.post("/api/v1/expressions/check", json={"text": "1", "kind": "expression"}, headers=headers)
    assert allowed.status_code == 200


def test_another_sessions_token_is_no_token(site: Site) -> None:
    first, second = site.app.test_client(), site.app.test_client()
    assert sign_in(first) == 303
    headers = {"X-CSRFToken": token_of(second)}
    assert first.post("/api/v1/expressions/check", json={}, headers=headers).status_code == 403


def test_signing_in_needs_the_token_too(site: Site) -> None:
    response = site.app.test_client().post("/sign-in", data={"name": "emma", "password": "emma!"})
    assert response.status_code == 403


def test_a_bearer_request_needs_none(site: Site) -> None:
    assert site.caller("emma").post("/expressions/check", {"text": "1", "kind": "expression"}).status == 200


def test_a_bearer_header_does_not_open_a_page_or_skip_its_check(site: Site) -> None:
    caller = site.caller("emma")
    assert caller.client.get("/inbox", headers=caller.headers).status_code in (302, 303)
    assert caller.client.post("/sign-out", headers=caller.headers).status_code == 403


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer ", "Basic ZW1tYTplbW1hIQ==", "x", "Bearer \x7f"])
def test_bad_credentials_are_401_even_beside_a_session(site: Site, header: str) -> None:
    client = site.app.test_client()
    assert sign_in(client) == 303
    response = client.get("/api/v1/me", headers={"Authorization": header})
    assert response.status_code == 401
    assert response.json["code"] == "ACCESS_UNAUTHENTICATED_001"


def test_a_disabled_account_is_out_at_once(site: Site) -> None:
    client, caller = site.app.test_client(), site.caller("emma")
    assert sign_in(client) == 303
    account = site.services.accounts.find_by_name("emma")
    assert account is not None
    site.services.accounts.set_disabled(account, True)
    assert client.get("/api/v1/me").status_code == 401
    assert caller.get("/me").status == 401


def test_a_new_password_ends_other_sessions(site: Site) -> None:
    client = site.app.test_client()
    assert sign_in(client) == 303
    account = site.services.accounts.find_by_name("emma")
    assert account is not None
    site.services.accounts.set_password(account, "another")
    assert client.get("/api/v1/me").status_code == 401


def test_ten_failures_of_a_name_close_it_for_five_minutes(site: Site) -> None:
    client = site.app.test_client()
    for _ in range(FailureLimits.PER_NAME):
        assert sign_in(client, password="wrong") == 422
    data = {"name": "emma", "password": "emma!", "csrf_token": token_of(client)}
    refused = client.post("/sign-in", data=data)
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "300"
    site.clock.advance(300)
    assert sign_in(client) == 303


def test_fifty_bad_tokens_slow_their_sender_down_and_nobody_else(site: Site) -> None:
    anybody = site.anybody(Authorization="Bearer wrong")
    for _ in range(FailureLimits.PER_ADDRESS_TOKENS):
        assert anybody.get("/me").status == 401
    answer = anybody.get("/me")
    answer.refused(429, "REQUEST_RATE_001")
    assert answer.headers["Retry-After"] == "300"
    assert site.caller("emma").get("/me").status == 200
    site.clock.advance(300)
    assert anybody.get("/me").status == 401


def test_the_counters_forget_the_oldest_when_there_are_too_many(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FailureLimits, "_REMEMBERED", 3)
    limits = FailureLimits(site.clock.now)
    for number in range(10):
        limits.token_failed(f"192.0.2.{number}")
    assert len(limits._failures) == 3


def test_a_name_of_any_length_takes_little_to_remember(site: Site) -> None:
    limits = FailureLimits(site.clock.now)
    limits.sign_in_failed("192.0.2.1", "x" * 1_000_000)
    assert all(len(part) <= 128 for key in limits._failures for part in key)


def test_a_password_cannot_be_guessed_through_the_form_that_changes_it(site: Site) -> None:
    client = site.app.test_client()
    sign_in(client)
    for _ in range(FailureLimits.PER_NAME):
        guess = {"current": "wrong", "new": "new password", "again": "new password"}
        answer = client.post("/account/password", data=guess | {"csrf_token": token_of(client, "/account")})
        assert answer.status_code == 422
    right = {"current": "emma!", "new": "new password", "again": "new password"}
    refused = client.post("/account/password", data=right | {"csrf_token": token_of(client, "/account")})
    assert refused.status_code == 429
    site.clock.advance(300)
    assert (
        client.post("/account/password", data=right | {"csrf_token": token_of(client, "/account")}).status_code == 303
    )


def test_a_published_demo_password_opens_no_real_installation(site: Site) -> None:
    site.services.accounts.create(name="admin", password="admin", roles=("administrator",))
    assert sign_in(site.app.test_client(), "admin", "admin") == 422


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/\tx", ""]
)
def test_signing_in_never_leads_elsewhere(site: Site, target: str) -> None:
    client = site.app.test_client()
    data = {"name": "emma", "password": "emma!", "csrf_token": token_of(client), "next": target}
    assert client.post("/sign-in", data=data).headers["Location"] == "/inbox"


def test_the_request_id_of_the_caller_is_kept_when_it_is_one(site: Site) -> None:
    assert site.anybody().get("/me", X_Request_Id="job-7").headers["X-Request-Id"] == "job-7"
    for odd in ("a b", "x" * 65, 'say "hi"', "<script>"):
        assert len(site.anybody().get("/me", X_Request_Id=odd).headers["X-Request-Id"]) == 36
