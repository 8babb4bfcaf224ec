"""Channels: what leaves the installation."""
