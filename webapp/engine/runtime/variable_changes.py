"""Setting and removing variables from outside (spec 3.20)."""

from __future__ import annotations

from collections.abc import Iterable

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.errors import Conflict, InputInvalid, Problem
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.instances.requests import check_document, type_problems
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.runtime import events
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState

MAX_NAME = 200


def update(wave: WaveState, values: JsonObject, removed: Iterable[str], reason: str | None) -> Wave:
    """Set and remove variables of an instance that has not ended, a Faulted one included; nothing runs.

    :raises Conflict: it has ended. :raises InputInvalid: a declared variable would get a value it cannot have, a name
        is the engine's own, or all together are too large.
    """
    instance = wave.instance
    if instance.status.ended and instance.status is not InstanceStatus.FAULTED:
        raise Conflict("workflow.instance.ended", params={"status": instance.status})
    gone = list(dict.fromkeys(removed))
    problems = [*set_problems(wave.compiled, values), *_remove_problems(wave.compiled, values, gone)]
    if problems:
        raise InputInvalid("workflow.variables.invalid", problems=problems)
    put(wave, values, gone)
    wave.instance_event(events.INSTANCE_VARIABLES_UPDATED, set=sorted(values), removed=sorted(gone))
    details: JsonObject = {"set": sorted(values), "removed": sorted(gone)}
    return wave.finish(wave.entry(reason=reason, details=details))


def put(wave: WaveState, values: JsonObject, removed: Iterable[str] = ()) -> None:
    """Write values that have been checked, and drop what is removed. :raises InputInvalid: too large together."""
    left = {name: value for name, value in wave.instance.variables.items() if name not in set(removed)}
    left.update(copy_json(values))
    check_document(left, "set")
    wave.replace_variables(left)


def set_problems(compiled: CompiledDefinition, values: JsonObject, path: str = "set") -> list[Problem]:
    """Return what is wrong with values that somebody wants to set."""
    problems = []
    declared = {variable.name: variable for variable in compiled.definition.variables}
    for name, value in values.items():
        where = f"{path}.{name}"
        if name.startswith("__") or not name.strip() or len(name) > MAX_NAME:
            problems.append(Problem(path=where, key="workflow.variables.name", params={"name": name[:MAX_NAME]}))
        elif name in declared:
            found = type_problems(declared[name], value)
            problems += [Problem(path=where, key=problem.key, params=problem.params) for problem in found]
    return problems


def _remove_problems(compiled: CompiledDefinition, values: JsonObject, removed: list[str]) -> list[Problem]:
    required = {variable.name for variable in compiled.definition.variables if variable.required}
    problems = []
    for index, name in enumerate(removed):
        where = f"remove[{index}]"
        if name in values:
            problems.append(Problem(path=where, key="workflow.variables.both", params={"name": name}))
        elif name in required:
            problems.append(Problem(path=where, key="workflow.variable.required", params={"name": name}))
        elif name.startswith("__"):
            problems.append(Problem(path=where, key="workflow.variables.name", params={"name": name[:MAX_NAME]}))
    return problems
