"""Stores: the memory set and the SQL set of the engine's store port, and what both share."""
