"""Tests: they mirror webapp; the support package holds what several of them use."""
