"""The account store port: accounts live in the platform database, a login name is unique over the installation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from webapp.accounts.model import Account, Substitution, Tenant, Token


class AccountStore(Protocol):
    """Accounts, roles, tokens, tenants. Each method is a transaction of its own."""

    def find(self, account_id: str) -> Account | None:
        """Return the account with its roles, or None: one statement."""

    def find_by_name(self, name: str) -> Account | None:
        """Return the account with that login name (ordinal), or None."""

    def insert(self, account: Account) -> None:
        """Insert the account and its roles. :raises webapp.engine.ports.stores.DuplicateRecord: the name is taken."""

    def insert_all(self, accounts: Sequence[Account]) -> None:
        """Insert accounts and their roles, all or none.

        :raises webapp.engine.ports.stores.DuplicateRecord: a name is taken.
        """

    def update(self, account: Account) -> None:
        """Replace the account's row and its roles."""

    def touch(self, account_id: str, at: datetime) -> None:
        """Set lastSeenAt."""

    def list(self, tenant_id: str | None, keyword: str | None = None, limit: int = 100) -> Sequence[Account]:
        """Return the partition's accounts by name; the keyword is matched on login and display name (spec 8.5)."""

    def display_names(self, tenant_id: str | None, names: Collection[str]) -> dict[str, str]:
        """Return login name → shown name for those that exist: one statement."""

    def directory(self) -> Sequence[Account]:
        """Return all accounts of all partitions without password hashes (for the directory's copy)."""

    def insert_substitution(self, substitution: Substitution) -> None:
        """Store a substitution."""

    def delete_substitution(self, tenant_id: str | None, substitution_id: str) -> None:
        """Delete a substitution of that partition."""

    def find_substitution(self, tenant_id: str | None, substitution_id: str) -> Substitution | None:
        """Return the partition's substitution of that id, or None."""

    def substitutions(self, tenant_id: str | None, account: str | None = None) -> Sequence[Substitution]:
        """Return the partition's substitutions, of *account* those it is absent or substitute in: start, then id."""

    def substitutions_ending_after(self, at: datetime) -> Sequence[Substitution]:
        """Return the substitutions of all partitions that are not over (for the directory's copy): start, then id."""

    def insert_token(self, token: Token) -> None:
        """Store a token."""

    def find_token(self, token_hash: str) -> tuple[Token, Account] | None:
        """Return the token with that hash and its account, or None: one statement."""

    def tokens(self, account_id: str) -> Sequence[Token]:
        """Return the account's tokens, newest first."""

    def delete_token(self, account_id: str, token_id: str) -> None:
        """Delete a token of that account."""

    def find_tenant(self, tenant_id: str) -> Tenant | None:
        """Return the tenant, or None."""

    def insert_tenant(self, tenant: Tenant) -> None:
        """Insert a tenant. :raises webapp.engine.ports.stores.DuplicateRecord: the id is taken."""

    def update_tenant(self, tenant: Tenant) -> None:
        """Replace the tenant's row."""

    def tenants(self) -> Sequence[Tenant]:
        """Return all tenants by id."""
