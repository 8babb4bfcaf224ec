"""Accounts, tokens and tenants in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from webapp.accounts.model import Account, Substitution, Tenant, Token
from webapp.engine.ports.stores import DuplicateRecord
from webapp.stores.keywords import fold, fold_keyword


class MemoryAccounts:
    """The account store; the models are immutable, so they are handed out as they are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[str, Account] = {}
        self._tokens: dict[str, Token] = {}
        self._tenants: dict[str, Tenant] = {}
        self._substitutions: dict[str, Substitution] = {}

    def find(self, account_id: str) -> Account | None:
        """Return the account, or None."""
        return self._accounts.get(account_id)

    def find_by_name(self, name: str) -> Account | None:
        """Return the account with that login name, or None."""
        with self._lock:
            return next((account for account in self._accounts.values() if account.name == name), None)

    def insert(self, account: Account) -> None:
        """Insert the account. :raises DuplicateRecord: the name is taken."""
        self.insert_all([account])

    def insert_all(self, accounts: Sequence[Account]) -> None:
        """Insert accounts, all or none. :raises DuplicateRecord: a name is taken."""
        with self._lock:
            names = {account.name for account in self._accounts.values()}
            for account in accounts:
                if account.id in self._accounts or account.name in names:
                    raise DuplicateRecord(f"account {account.name}")
                names.add(account.name)
            self._accounts.update({account.id: _kept(account) for account in accounts})

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

    def insert_substitution(self, substitution: Substitution) -> None:
        """Store a substitution."""
        with self._lock:
            self._substitutions[substitution.id] = substitution

    def delete_substitution(self, tenant_id: str | None, substitution_id: str) -> None:
        """Delete a substitution of that partition."""
        with self._lock:
            found = self._substitutions.get(substitution_id)
            if found is not None and found.tenant_id == tenant_id:
                del self._substitutions[substitution_id]

    def find_substitution(self, tenant_id: str | None, substitution_id: str) -> Substitution | None:
        """Return the partition's substitution of that id, or None."""
        found = self._substitutions.get(substitution_id)
        return found if found is not None and found.tenant_id == tenant_id else None

    def substitutions(self, tenant_id: str | None, account: str | None = None) -> Sequence[Substitution]:
        """Return the partition's substitutions, of *account* those it has a part in: start, then id."""
        return [
            one
            for one in self._by_start()
            if one.tenant_id == tenant_id and account in (None, one.absent_id, one.substitute_id)
        ]

    def substitutions_ending_after(self, at: datetime) -> Sequence[Substitution]:
        """Return the substitutions of all partitions that are not over: start, then id."""
        return [one for one in self._by_start() if one.ends_at > at]

    def _by_start(self) -> Sequence[Substitution]:
        with self._lock:
            return sorted(self._substitutions.values(), key=lambda one: (one.starts_at, one.id))

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

    def update_tenant(self, tenant: Tenant) -> None:
        """Replace the tenant's row."""
        with self._lock:
            if tenant.id in self._tenants:
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
