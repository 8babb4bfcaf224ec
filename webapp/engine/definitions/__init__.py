"""Definitions: what is drawn and published."""
