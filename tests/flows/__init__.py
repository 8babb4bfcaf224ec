"""Flows of real organisations, played over services and REST."""

import pytest

pytest.register_assert_rewrite("tests.flows.scenarios")
