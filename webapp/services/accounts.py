"""Accounts: signing in, tokens, and what an account may change about itself (spec 13, 25)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import msgspec

from webapp.accounts.model import Account, Actor, Tenant, Token
from webapp.accounts.passwords import MAX_PASSWORD_LENGTH, Passwords
from webapp.accounts.permissions import DEFAULT_ROLES, permissions_of
from webapp.accounts.ports import AccountStore
from webapp.accounts.tenants import TenantDirectory
from webapp.accounts.tokens import hash_token, new_token
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import DENIED_PERMISSION, Denied, InputInvalid
from webapp.engine.instances.limits import MAX_ACCOUNT, MAX_TITLE
from webapp.engine.ports.stores import DuplicateRecord
from webapp.services.directory import AccountDirectory
from webapp.services.storage import answered, asked
from webapp.services.texts import check_text, require_text

LANGUAGES: Final = ("en", "zh")
THEMES: Final = ("light", "dark")

# No colon and no blank: `role:` and `department:` begin the names of groups, and lists of names are split at commas.
_LOGIN = re.compile(r"[^\s,:\x00]+")


class AccountService:
    """The use cases of accounts; who signs in has no actor yet."""

    def __init__(
        self,
        *,
        accounts: AccountStore,
        directory: AccountDirectory,
        tenants: TenantDirectory,
        passwords: Passwords,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._accounts = accounts
        self._directory = directory
        self._tenants = tenants
        self._passwords = passwords
        self._clock = clock
        self._ids = ids

    def authenticate(self, name: str, password: str) -> Account | None:
        """Return the account if name and password fit and it is not disabled; None otherwise, after the same work.

        :raises Denied: they fit, and its tenant is disabled.
        """
        account = asked(lambda: self._accounts.find_by_name(name))
        stored = account.password_hash if account is not None else None
        fits = self._passwords.verify(stored, password)
        if account is None or stored is None or not fits or account.disabled:
            return None
        self._require_tenant(account)
        asked(lambda: self._accounts.touch(account.id, self._clock.now()))
        if self._passwords.outdated(stored):
            renewed = msgspec.structs.replace(account, password_hash=self._passwords.hash(password))
            answered(lambda: self._accounts.update(renewed))
        return account

    def find(self, account_id: str) -> Account | None:
        """Return the account of a session, unless it is gone, disabled, or of a disabled tenant."""
        account = asked(lambda: self._accounts.find(account_id))
        return None if account is None or account.disabled or self._is_shut(account) else account

    def find_by_name(self, name: str) -> Account | None:
        """Return the account with that login name, disabled or not: for the command line."""
        return asked(lambda: self._accounts.find_by_name(name))

    def actor(self, account: Account, request_id: str | None = None) -> Actor:
        """Return the account as the actor of calls, with those for whom it stands in now.

        :raises Denied: its tenant is disabled.
        """
        self._require_tenant(account)
        self._directory.refresh()
        return Actor(
            account_id=account.id,
            name=account.name,
            display_name=account.label,
            partition=account.tenant_id,
            roles=account.roles,
            permissions=permissions_of(account.roles),
            department=account.department,
            language=account.language or LANGUAGES[0],
            theme=account.theme,
            request_id=request_id,
            stands_in=self._directory.stands_in(account.tenant_id, account.name),
        )

    def actor_for_token(self, text: str, request_id: str | None = None) -> Actor | None:
        """Return the actor of an API token, unless it is unknown, over its time, or its account disabled.

        :raises Denied: its account's tenant is disabled.
        """
        found = asked(lambda: self._accounts.find_token(hash_token(text)))
        if found is None:
            return None
        token, account = found
        if account.disabled or (token.expires_at is not None and token.expires_at <= self._clock.now()):
            return None
        return msgspec.structs.replace(self.actor(account, request_id), token_id=token.id)

    def create(
        self,
        *,
        name: str,
        password: str | None = None,
        display_name: str = "",
        email: str | None = None,
        roles: Sequence[str] = (),
        tenant_id: str | None = None,
        department: str | None = None,
        language: str | None = None,
    ) -> Account:
        """Create an account, and its tenant if there is none: what the command line does.

        :raises InputInvalid: the name is taken or not allowed, the language unknown, the password blank.
        """
        _check_login(name)
        _check_language(language)
        check_text("displayName", display_name, MAX_TITLE)
        if tenant_id is not None:
            self._ensure_tenant(require_text("tenant", tenant_id, MAX_ACCOUNT))
        account = Account(
            id=self._ids.new(),
            tenant_id=tenant_id,
            name=name,
            display_name=display_name,
            email=email,
            password_hash=self._hash(password, "password") if password is not None else None,
            language=language,
            department=department,
            created_at=self._clock.now(),
            roles=tuple(dict.fromkeys(roles)) or DEFAULT_ROLES,
        )
        try:
            answered(lambda: self._accounts.insert(account))
        except DuplicateRecord:
            raise InputInvalid("services.account.name_taken", path="name", params={"name": name}) from None
        self._directory.forget()
        return account

    def set_disabled(self, account: Account, disabled: bool) -> Account:
        """Disable an account or enable it again: what the command line does."""
        return self._save(msgspec.structs.replace(account, disabled=disabled))

    def set_password(self, account: Account, password: str) -> Account:
        """Give an account another password without asking for the old one: what the command line does."""
        return self._save(msgspec.structs.replace(account, password_hash=self._hash(password, "password")))

    def change_password(self, actor: Actor, old: str, new: str) -> None:
        """Change the actor's own password. :raises InputInvalid: the old one is wrong, the new one blank."""
        account = self._own(actor)
        if not self._passwords.verify(account.password_hash, old):
            raise InputInvalid("services.account.password_wrong", path="old")
        self._save(msgspec.structs.replace(account, password_hash=self._hash(new, "new")))

    def set_language(self, actor: Actor, language: str) -> None:
        """Remember the actor's language."""
        _check_language(language)
        self._save(msgspec.structs.replace(self._own(actor), language=language))

    def set_theme(self, actor: Actor, theme: str | None) -> None:
        """Remember whether the actor wants light or dark; None follows the system."""
        if theme not in (None, *THEMES):
            raise InputInvalid(
                "services.account.theme", path="theme", params={"value": theme, "known": ", ".join(THEMES)}
            )
        self._save(msgspec.structs.replace(self._own(actor), theme=theme))

    def names(self, actor: Actor, logins: Collection[str]) -> dict[str, str]:
        """Return login name to shown name, for those that are accounts of the actor's partition."""
        wanted = {login for login in logins if login}
        return asked(lambda: self._accounts.display_names(actor.partition, wanted)) if wanted else {}

    def search(self, actor: Actor, keyword: str | None = None, limit: int = 20) -> list[Account]:
        """Return accounts of the actor's partition that can be handed a task, without their password hashes."""
        found = asked(lambda: self._accounts.list(actor.partition, keyword, limit))
        return [msgspec.structs.replace(one, password_hash=None) for one in found if not one.disabled]

    def tokens(self, actor: Actor) -> Sequence[Token]:
        """Return the actor's own tokens, newest first."""
        return asked(lambda: self._accounts.tokens(actor.account_id))

    def create_token(self, account_id: str, name: str, expires_at: datetime | None = None) -> tuple[Token, str]:
        """Make a token for an account; its text is returned once and stored nowhere."""
        require_text("name", name, MAX_ACCOUNT)
        made = new_token()
        token = Token(
            id=self._ids.new(),
            account_id=account_id,
            name=name,
            prefix=made.prefix,
            token_hash=made.token_hash,
            created_at=self._clock.now(),
            expires_at=expires_at,
        )
        answered(lambda: self._accounts.insert_token(token))
        return token, made.text

    def delete_token(self, actor: Actor, token_id: str) -> None:
        """Delete one of the actor's own tokens."""
        answered(lambda: self._accounts.delete_token(actor.account_id, token_id))

    def _is_shut(self, account: Account) -> bool:
        return asked(lambda: self._tenants.is_disabled(account.tenant_id))

    def _require_tenant(self, account: Account) -> None:
        if self._is_shut(account):
            params = {"tenant": account.tenant_id}
            raise Denied("services.tenant_disabled", code=DENIED_PERMISSION, params=params)

    def _own(self, actor: Actor) -> Account:
        account = asked(lambda: self._accounts.find(actor.account_id))
        if account is None:
            raise InputInvalid("services.account.gone", path="account")
        return account

    def _save(self, account: Account) -> Account:
        answered(lambda: self._accounts.update(account))
        self._directory.forget()
        return account

    def _hash(self, password: str, path: str) -> str:
        if not password.strip():
            raise InputInvalid("services.account.password_blank", path=path)
        if len(password) > MAX_PASSWORD_LENGTH:
            raise InputInvalid("services.account.password_long", path=path, params={"max": MAX_PASSWORD_LENGTH})
        return self._passwords.hash(password)

    def _ensure_tenant(self, tenant_id: str) -> None:
        if asked(lambda: self._accounts.find_tenant(tenant_id)) is not None:
            return
        tenant = Tenant(id=tenant_id, name=tenant_id, created_at=self._clock.now())
        try:
            answered(lambda: self._accounts.insert_tenant(tenant))
        except DuplicateRecord:
            # Another command made it in between, which is as good.
            return


def _check_login(name: str) -> None:
    require_text("name", name, MAX_ACCOUNT)
    if not _LOGIN.fullmatch(name):
        raise InputInvalid("services.account.name", path="name", params={"name": name})


def _check_language(language: str | None) -> None:
    if language not in (None, *LANGUAGES):
        known = ", ".join(LANGUAGES)
        raise InputInvalid("services.account.language", path="language", params={"value": language, "known": known})
