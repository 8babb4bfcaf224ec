"""Ports: how the engine and the services reach the world; their docstrings are the specification."""
