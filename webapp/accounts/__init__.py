"""Accounts: who may do what (spec 13)."""
