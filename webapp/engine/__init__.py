"""The workflow engine: pure, without framework, input or output (see README.md beside this file)."""
