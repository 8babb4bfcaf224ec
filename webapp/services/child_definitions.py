"""What only the catalog can tell of a definition: whether the definitions that its nodes start are published (4.13)."""

from __future__ import annotations

from typing import Final, NamedTuple

from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.definitions.model import DefinitionStatus, Node, WorkflowDefinition
from webapp.engine.descriptors import Editor
from webapp.engine.errors import Problem
from webapp.engine.json_input import item_path, member_path
from webapp.engine.ports.stores import Partition, UnitOfWork

UNKNOWN: Final = "workflow.definition.child.unknown"
VERSION: Final = "workflow.definition.child.version"

_VERSION_PROPERTY = "DefinitionVersion"


class _Named(NamedTuple):
    """A definition that a node names; ``version`` None: the latest published."""

    name: str
    version: int | None
    path: str
    node_id: str


def child_warnings(
    work: UnitOfWork, partition: Partition, definition: WorkflowDefinition, registry: ActivityRegistry
) -> list[Problem]:
    """Return a warning for each node that would start what is not published; a name that is computed says nothing.

    One look for each different name and version. A warning only: the other may be published a minute later.
    """
    problems: list[Problem] = []
    known: dict[tuple[str, int | None], bool] = {}
    for named in _named(definition, registry):
        key = (named.name, named.version)
        if key not in known:
            known[key] = _is_published(work, partition, *key)
        # A definition that starts itself is published by the time it does.
        if known[key] or (named.name == definition.name and named.version in (None, definition.version)):
            continue
        params = {"name": named.name} if named.version is None else {"name": named.name, "version": named.version}
        problems.append(
            Problem(
                path=named.path,
                key=UNKNOWN if named.version is None else VERSION,
                params=params,
                severity="warning",
                node_id=named.node_id,
            )
        )
    return problems


def _named(definition: WorkflowDefinition, registry: ActivityRegistry) -> list[_Named]:
    found = []
    for index, node in enumerate(definition.nodes):
        descriptor = registry.descriptor(node.activity_type)
        if descriptor is None:
            continue
        for key, value in node.properties.items():
            described = descriptor.property(key)
            if described is None or described.editor is not Editor.DEFINITION:
                continue
            if isinstance(value, str) and value.strip() and "{{" not in value:
                path = member_path(member_path(item_path("nodes", index), "properties"), key)
                found.append(_Named(value.strip(), _version(node), path, node.id))
    return found


def _version(node: Node) -> int | None:
    value = node.properties.get(_VERSION_PROPERTY, node.properties.get("definitionVersion"))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_published(work: UnitOfWork, partition: Partition, name: str, version: int | None) -> bool:
    if version is None:
        return work.definitions.latest_published(partition, name) is not None
    found = work.definitions.header_by_version(partition, name, version)
    return found is not None and found.status is DefinitionStatus.PUBLISHED
