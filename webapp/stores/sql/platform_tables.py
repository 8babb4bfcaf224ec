"""The tables of the platform's own database: people, tenants, leases, calendars, how people are told (spec 8.10)."""

from __future__ import annotations

from sqlalchemy import DDL, Column, ForeignKey, Index, PrimaryKeyConstraint, Table, UniqueConstraint, event

from webapp.stores.sql.columns import METADATA, big, flag, instant, integer, long, text, wide
from webapp.stores.sql.dialects import POSTGRESQL, ordinal_text
from webapp.stores.sql.table_factory import WORD_LENGTH

ACCOUNTS = Table(
    "accounts",
    METADATA,
    text("id", required=True),
    text("tenant_id"),
    text("name", required=True),
    wide("display_name", required=True),
    text("email"),
    wide("password_hash"),
    text("language"),
    text("theme"),
    text("department"),
    flag("disabled"),
    instant("created_at", required=True),
    instant("last_seen_at"),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("name"),
)
Index(None, ACCOUNTS.c.tenant_id, ACCOUNTS.c.name)

ROLES = Table("roles", METADATA, text("name", required=True), PrimaryKeyConstraint("name"))

ACCOUNT_ROLES = Table(
    "account_roles",
    METADATA,
    Column("account_id", ordinal_text(), ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("role_name", ordinal_text(), ForeignKey("roles.name", ondelete="CASCADE"), nullable=False),
    PrimaryKeyConstraint("account_id", "role_name"),
)
Index(None, ACCOUNT_ROLES.c.role_name)

TOKENS = Table(
    "tokens",
    METADATA,
    text("id", required=True),
    Column("account_id", ordinal_text(), ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    text("name", required=True),
    text("prefix", required=True),
    text("token_hash", required=True),
    instant("created_at", required=True),
    instant("expires_at"),
    instant("last_used_at"),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("token_hash"),
)
Index(None, TOKENS.c.account_id)

TENANTS = Table(
    "tenants",
    METADATA,
    text("id", required=True),
    wide("name", required=True),
    flag("enabled"),
    long("database_url"),
    instant("created_at", required=True),
    PrimaryKeyConstraint("id"),
)

LEASES = Table(
    "leases",
    METADATA,
    text("name", required=True),
    wide("holder", required=True),
    instant("expires_at", required=True),
    text("stamp", required=True),
    PrimaryKeyConstraint("name"),
)
# A lease need not survive a crash of the server: what a lost one lets through, the instance's revision stops (8.10).
_UNLOGGED = DDL("ALTER TABLE leases SET UNLOGGED")  # type: ignore[no-untyped-call]  # its class has no annotations
event.listen(LEASES, "after_create", _UNLOGGED.execute_if(dialect=POSTGRESQL))

CALENDARS = Table(
    "calendars",
    METADATA,
    # The tenant's id, or nothing at all for the platform: a key must not be null.
    text("scope", required=True),
    text("name", required=True),
    big("revision"),
    instant("updated_at", required=True),
    text("updated_by"),
    long("document", required=True),
    PrimaryKeyConstraint("scope", "name"),
)

SUBSTITUTIONS = Table(
    "substitutions",
    METADATA,
    text("id", required=True),
    text("tenant_id"),
    text("absent_id", required=True),
    text("substitute_id", required=True),
    instant("starts_at", required=True),
    instant("ends_at", required=True),
    long("definitions", required=True),
    instant("created_at", required=True),
    text("created_by"),
    PrimaryKeyConstraint("id"),
)
Index(None, SUBSTITUTIONS.c.absent_id)
Index(None, SUBSTITUTIONS.c.ends_at)

NOTICE_TEMPLATES = Table(
    "notice_templates",
    METADATA,
    text("id", required=True),
    text("scope", required=True),
    text("event_type", required=True, length=WORD_LENGTH),
    # Nothing at all for every category, for the same reason.
    text("business_type", required=True),
    text("language", required=True, length=WORD_LENGTH),
    integer("version"),
    long("document", required=True),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("scope", "event_type", "business_type", "language", "version", name="uq_notice_templates_version"),
)

NOTICE_PREFERENCES = Table(
    "notice_preferences",
    METADATA,
    text("scope", required=True),
    text("user_id", required=True),
    big("revision"),
    long("document", required=True),
    PrimaryKeyConstraint("scope", "user_id"),
)

ENDPOINTS = Table(
    "endpoints",
    METADATA,
    text("id", required=True),
    text("scope", required=True),
    text("name", required=True),
    big("revision"),
    long("document", required=True),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("scope", "name"),
)

BACKFILLS = Table(
    "backfills",
    METADATA,
    text("name", required=True),
    # The id of the last row that was looked at.
    text("place", required=True),
    flag("is_done"),
    PrimaryKeyConstraint("name"),
)
