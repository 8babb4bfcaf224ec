"""Accounts, tokens and tenants in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from webapp.accounts.model import Account, Tenant, Token
from webapp.engine.ports.stores import DuplicateRecord
from webapp.stores.keywords import fold, fold_keyword


class MemoryAccounts:
    """The account store; the models are immutable, so they are handed out as they are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[str, Account] = {}
        self._tokens: dict[str, Token] = {}
        self._tenants: dict[str, Tenant] = {}

    def find(self, account_id: str) -> Account | None:
        """Return the account, or None."""
        return self._accounts.get(account_id)

    def find_by_name(self, name: str) -> Account | None:
        """Return the account with that login name, or None."""
        with self._lock:
            return next((account for account in self._accounts.values() if account.name == name), None)

    def insert(self, account: Account) -> None:
        """Insert the account. :raises DuplicateRecord: the name is taken."""
        with self._lock:
            if account.id in self._accounts or any(other.name == account.name for other in self._accounts.values()):
                raise DuplicateRecord(f"account {account.name}")
            self._accounts[account.id] = _kept(account)

    def update(self, account: Account) -> None:
        """Replace the account and its roles."""
        with self._lock:
            if account.id in self._accounts:
                self._accounts[account.id] = _kept(account)

    def touch(self, account_id: str, at: datetime) -> None:
        """Set lastSeenAt."""
        with self._lock:
            account = self._accounts.get(account_id)
            if account is not None:
                self._accounts[account_id] = msgspec.structs.replace(account, last_seen_at=at)

    def list(self, tenant_id: str | None, keyword: str | None = None, limit: int = 100) -> Sequence[Account]:
        """Return the partition's accounts by name."""
        with self._lock:
            accounts = sorted(self._accounts.values(), key=lambda account: account.name)
        return [account for account in accounts if account.tenant_id == tenant_id and matches(account, keyword)][:limit]

    def display_names(self, tenant_id: str | None, names: Collection[str]) -> dict[str, str]:
        """Return login name → shown name for those that exist."""
        wanted = set(names)
        with self._lock:
            accounts = list(self._accounts.values())
        return {
            account.name: account.label
            for account in accounts
            if account.tenant_id == tenant_id and account.name in wanted
        }

    def directory(self) -> Sequence[Account]:
        """Return all accounts without password hashes."""
        with self._lock:
            accounts = sorted(self._accounts.values(), key=lambda account: account.name)
        return [msgspec.structs.replace(account, password_hash=None) for account in accounts]

    def insert_token(self, token: Token) -> None:
        """Store a token."""
        with self._lock:
            if any(other.token_hash == token.token_hash for other in self._tokens.values()):
                raise DuplicateRecord("token")
            self._tokens[token.id] = token

    def find_token(self, token_hash: str) -> tuple[Token, Account] | None:
        """Return the token with that hash and its account, or None."""
        with self._lock:
            token = next((token for token in self._tokens.values() if token.token_hash == token_hash), None)
            account = self._accounts.get(token.account_id) if token is not None else None
        return (token, account) if token is not None and account is not None else None

    def tokens(self, account_id: str) -> Sequence[Token]:
        """Return the account's tokens, newest first."""
        with self._lock:
            found = [token for token in self._tokens.values() if token.account_id == account_id]
        return sorted(found, key=lambda token: (token.created_at, token.id), reverse=True)

    def delete_token(self, account_id: str, token_id: str) -> None:
        """Delete a token of that account."""
        with self._lock:
            token = self._tokens.get(token_id)
            if token is not None and token.account_id == account_id:
                del self._tokens[token_id]

    def find_tenant(self, tenant_id: str) -> Tenant | None:
        """Return the tenant, or None."""
        return self._tenants.get(tenant_id)

    def insert_tenant(self, tenant: Tenant) -> None:
        """Insert a tenant. :raises DuplicateRecord: the id is taken."""
        with self._lock:
            if tenant.id in self._tenants:
                raise DuplicateRecord(f"tenant {tenant.id}")
            self._tenants[tenant.id] = tenant

    def tenants(self) -> Sequence[Tenant]:
        """Return all tenants by id."""
        with self._lock:
            return sorted(self._tenants.values(), key=lambda tenant: tenant.id)


def matches(account: Account, keyword: str | None) -> bool:
    """Whether login or display name contains the keyword (spec 8.5)."""
    folded = fold_keyword(keyword)
    return folded is None or folded in fold(account.name) or folded in fold(account.display_name)


def _kept(account: Account) -> Account:
    return msgspec.structs.replace(account, roles=tuple(sorted(set(account.roles))))
