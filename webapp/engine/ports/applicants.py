"""The port of the applicant resolver: whose request an instance is (spec 10, Events)."""

from __future__ import annotations

from typing import Protocol

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.model import WorkflowInstance


class ApplicantResolver(Protocol):
    """Registered by the application, where the applicant is somebody else than who started the instance.

    Asked between wave and write, at most once a command, and only when the applicant is to be told something. It
    answers from memory: the write waits for it.
    """

    def applicant(self, instance: WorkflowInstance, definition: WorkflowDefinition) -> str | None:
        """Return the applicant's login name. None, a blank name or any exception: the one that the instance names."""
