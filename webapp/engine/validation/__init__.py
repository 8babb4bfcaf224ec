"""Validation of definitions: everything that is wrong, all at once, and nothing raised (spec 2.3 to 2.5)."""

from webapp.engine.validation.findings import KEYS
from webapp.engine.validation.subject import Descriptors
from webapp.engine.validation.validator import validate_definition

__all__ = ["KEYS", "Descriptors", "validate_definition"]
