"""A second interpreter of flows, written from the specification alone (3.3 to 3.10, 3.20, 3.22): tokens and no engine.

It imports nothing of the engine. What it says must happen is compared with what the engine did. Where tokens were moved
it says what the decision *Joins whose tokens were moved* says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

RUNNING, COMPLETED, FAULTED, CANCELED, TERMINATED = "Running", "Completed", "Faulted", "Canceled", "Terminated"
SUSPENDED = "Suspended"
DONE, WAITING, GONE, FAILED = "Completed", "Suspended", "Canceled", "Faulted"
WAITS = ("UserTask", "Delay", "EventGateway", "SubWorkflow")


@dataclass
class Execution:
    """One execution of a node: which others caused it, along which transitions."""

    number: int
    node: str
    causes: list[int]
    via: list[str]
    status: str = WAITING
    taken_back: bool = False
    late: set[str] = field(default_factory=set)
    back: list[str] = field(default_factory=list)

    @property
    def at(self) -> str:
        """Where its token goes on from: what was returned to be sent straight back stands there already."""
        return (self.back or [self.node])[-1]


@dataclass
class Wave:
    """The arrivals at a Join since it last fired; what all of them are late for, what they become is late for."""

    arrived: dict[str, list[int]] = field(default_factory=dict)
    fired: bool = False
    late: set[str] = field(default_factory=set)


@dataclass
class Token:
    """On its way to a node."""

    node: str
    causes: list[int]
    via: list[str]
    late: set[str] = field(default_factory=set)
    back: list[str] = field(default_factory=list)

    @property
    def at(self) -> str:
        """Where it goes on from."""
        return (self.back or [self.node])[-1]


Place = Execution | Token


class Simulator:
    """One instance of a flow."""

    def __init__(self, document: dict[str, Any], *, limit: int) -> None:
        self.types = {node["id"]: node["activityType"] for node in document["nodes"]}
        self.modes = {node["id"]: node["properties"].get("Mode") for node in document["nodes"]}
        edges = sorted(document["transitions"], key=lambda edge: edge["priority"])
        self.sources = {edge["id"]: edge["sourceNodeId"] for edge in edges}
        self.leaving = {node: [edge for edge in edges if edge["sourceNodeId"] == node] for node in self.types}
        self.entering = {node: sum(edge["targetNodeId"] == node for edge in edges) for node in self.types}
        self.limit = limit
        self.status = RUNNING
        self.label: str | None = None
        self.executions: list[Execution] = []
        self.joins: dict[str, Wave] = {}
        self.left_behind: list[Token] = []
        self.failed: Execution | None = None
        self.loose: set[str] = set()
        self.map = Map(document)
        start = next(node for node, kind in self.types.items() if kind == "Start")
        self._run(deque([Token(start, [], [])]))

    # --- what can be seen -------------------------------------------------------------------

    def path(self) -> list[tuple[str, str]]:
        """Return node and status of each execution, in the order they began."""
        return [(one.node, one.status) for one in self.executions]

    def waiting(self) -> list[Execution]:
        """Return the executions that wait."""
        return [one for one in self.executions if one.status == WAITING]

    def arrivals(self) -> dict[str, tuple[dict[str, list[int]], bool]]:
        """Return what each Join has gathered, and whether it has fired."""
        return {node: (wave.arrived, wave.fired) for node, wave in self.joins.items()}

    # --- what can be done -------------------------------------------------------------------

    def finish(self, execution: Execution, label: str | None = None) -> None:
        """Let a waiting execution go on."""
        self._run(deque(), resumed=(execution, label))

    def cancel(self) -> None:
        """Cancel the instance: it has ended, and nothing waits any more."""
        if self.status in (RUNNING, SUSPENDED, FAULTED):
            self._close(CANCELED)

    def suspend(self) -> None:
        """Let nothing go on for a while."""
        assert self.status == RUNNING
        self.status = SUSPENDED

    def resume(self) -> None:
        """Let it go on."""
        assert self.status == SUSPENDED
        self.status = RUNNING

    def retry(self) -> None:
        """Run the failed node again, which then succeeds, and after it the tokens that its fault left behind."""
        execution = self.failed
        assert self.status == FAULTED
        assert execution is not None
        queue = deque(self.left_behind)
        self.left_behind = []
        self.status = RUNNING
        self.failed = None
        self._run(queue, resumed=(execution, None))

    def give_back(self, execution: Execution, target: Execution) -> None:
        """Return from a task to an earlier execution: what came of that is undone, and it begins anew (3.22)."""
        before = (self.executions[number] for number in sorted(self.ancestors(execution)))
        drawn = [one for one in before if one.node == target.node and one.status == DONE and not one.back]
        target = drawn[-1]  # not one that was asked directly: only one branch came of its answer
        undone = self.descendants(target)
        late = self._late_after_return(target, undone | {target.number})
        execution.status = GONE
        for number in undone:
            if self.executions[number].status == WAITING:
                self.executions[number].status = GONE
        undone.add(target.number)
        for node, wave in list(self.joins.items()):
            wave.arrived = {
                edge: kept
                for edge, numbers in wave.arrived.items()
                if (kept := [number for number in numbers if number not in undone])
            }
            if not wave.arrived:
                del self.joins[node]
        for number in sorted(undone):
            self._unfire(self.executions[number], undone)
        self.label = "returned"
        self._run(deque([Token(target.node, target.causes, target.via, late)]))

    def ask(self, execution: Execution, target: Execution) -> None:
        """Return from a task to an earlier execution which then comes straight back; nothing else is undone (D30)."""
        execution.status = GONE
        self.label = "returned"
        causes = list(dict.fromkeys([*target.causes, *execution.causes]))
        self._run(
            deque([Token(target.node, causes, target.via, set(execution.late), [execution.node, *execution.back])])
        )

    def _late_after_return(self, target: Execution, undone: set[int]) -> set[str]:
        tokens: list[Place] = [one for one in self.waiting() if one.number in undone]
        for node, wave in self.joins.items():
            if not wave.fired and any(undone & set(numbers) for numbers in wave.arrived.values()):
                tokens.append(Token(node, [], [], wave.late))
        return self._inherited(tokens, target.node)

    def jump(self, target: str, source: str | None = None) -> None:
        """Move what stands at *source*, or everything, to *target* (3.20, 3.22)."""
        here = [node for node in self.types if source in (None, node)]
        moved = [one for one in self.executions if one.node in here and (one.status == WAITING or one is self.failed)]
        left = [token for token in self.left_behind if token.node in here]
        kept = [token for token in self.left_behind if token.node not in here]
        gathered = {node: wave for node, wave in self.joins.items() if node in here and not wave.fired}
        starts = {target, *gathered, *(one.at for one in moved), *(token.node for token in left)}
        self._loosen({node for start in starts for node in self.map.ever(start)} | starts)
        self._settle_races([*kept, *left, *([self.failed] if self.failed else [])])
        standing: list[Place] = [*moved, *left, *(Token(node, [], [], wave.late) for node, wave in gathered.items())]
        could = {node: self._ways(node, standing) for node in self.modes if self.types[node] == "Join"}
        for node, wave in gathered.items():
            could[node] |= set(wave.arrived)
        late = set() if source is None else self._inherited(standing, target)
        causes = self._causes_of_one([*(one.causes for one in moved), *(token.causes for token in left), *(
            [number] for wave in gathered.values() for numbers in wave.arrived.values() for number in numbers
        )])  # fmt: skip
        for one in moved:
            one.status = GONE if one.status == WAITING else one.status
        for node in list(self.joins) if source is None else gathered:
            self.joins.pop(node, None)
        self.left_behind, self.failed, self.status = [], None, RUNNING
        for node, ways in could.items():
            beyond = not self._ways(node, [Token(target, [], [])]) and target in self.map.ahead(node)
            if ways and node != target and beyond:
                self._make_late(node, kept)
                self.joins.pop(node, None)
        via: list[str] = []
        if target in could:
            wave = self.joins.pop(target, Wave())
            via = list(wave.arrived)
            causes = list(dict.fromkeys([*causes, *(one for numbers in wave.arrived.values() for one in numbers)]))
            self._make_late(target, kept)
        token = Token(target, causes, via, late)
        self._forget_unreachable({node for node, ways in could.items() if ways}, [token, *kept])
        self._run(deque([token, *kept]))

    def _forget_unreachable(self, lost: set[str], queue: list[Token]) -> None:
        while True:
            tokens = self._everywhere(queue)
            gone = [node for node in self.joins if node in lost and not self._ways(node, tokens)]
            if not gone:
                return
            for node in gone:
                wave = self.joins.pop(node)
                lost |= {other for other in self.modes if self._ways(other, [Token(node, [], [], wave.late)])}

    def _causes_of_one(self, many: list[list[int]]) -> list[int]:
        """Return what one token comes of that stands for many: the latest that all of them came of."""
        if len(many) == 1:
            return many[0]
        pasts = [self._past(causes) for causes in many]
        common = set.intersection(*pasts) if pasts else set()
        return sorted(one for one in common if not any(one in self.ancestors(self.executions[x]) for x in common))

    def _past(self, causes: list[int]) -> set[int]:
        return set(causes).union(*(self.ancestors(self.executions[one]) for one in causes))

    def _unfire(self, join: Execution, undone: set[int]) -> None:
        """Put back what branches that are not undone had brought to a Join whose firing is undone."""
        if self.types[join.node] != "Join" or join.taken_back or join.status != DONE:
            return
        join.taken_back = True
        if self.modes[join.node] == "WaitAny":
            if join is [one for one in self.executions if one.node == join.node][-1]:
                self.joins.pop(join.node, None)
                self.loose.add(join.node)
                for place in self._everywhere([]):
                    place.late.discard(join.node)
            return
        for edge in join.via:
            source = self.sources[edge]
            back = [number for number in join.causes if number not in undone and self.executions[number].node == source]
            if back:
                there = self.joins.setdefault(join.node, Wave(late=set(join.late))).arrived.setdefault(edge, [])
                there += [number for number in back if number not in there]

    def descendants(self, origin: Execution) -> set[int]:
        """Return the numbers of all executions that tokens of *origin* led to."""
        found = {origin.number}
        for one in self.executions[origin.number + 1 :]:
            if found & set(one.causes):
                found.add(one.number)
        return found - {origin.number}

    def ancestors(self, execution: Execution) -> set[int]:
        """Return the numbers of all executions whose tokens led to *execution*."""
        found: set[int] = set()
        asked = list(execution.causes)
        while asked:
            number = asked.pop()
            if number not in found:
                found.add(number)
                asked += self.executions[number].causes
        return found

    # --- how tokens move --------------------------------------------------------------------

    def _run(self, queue: deque[Token], resumed: tuple[Execution, str | None] | None = None) -> None:
        left = self.limit
        if resumed is not None:
            left -= 1
            execution, label = resumed
            execution.status = DONE
            self._leave(execution, label, queue)
        while self.status == RUNNING and (queue or self._fire_at_rest(queue)):
            if left == 0:
                self.status = FAULTED
                self.left_behind = list(queue)
                return
            left -= 1
            self._enter(queue.popleft(), queue)
        if self.status != RUNNING or self.waiting():
            return
        if any(not wave.fired for wave in self.joins.values()):
            self.status = FAULTED
        else:
            self._close(COMPLETED)

    def _enter(self, token: Token, queue: deque[Token]) -> None:
        execution = Execution(len(self.executions), token.node, token.causes, token.via, late=set(token.late))
        execution.back = list(token.back)
        self.executions.append(execution)
        kind = self.types[token.node]
        if kind in WAITS:
            return
        if kind == "TestFlaky":
            execution.status = FAILED
            self.failed = execution
            self.status = FAULTED
            self.left_behind = list(queue)
            queue.clear()
            return
        execution.status = DONE
        if kind == "Terminate":
            self._close(TERMINATED)
        elif kind != "End":
            self._leave(execution, None, queue)

    def _leave(self, execution: Execution, label: str | None, queue: deque[Token]) -> None:
        if label is not None:
            self.label = label
        if execution.back:
            first, *rest = execution.back
            queue.append(Token(first, [execution.number], [], set(execution.late), rest))
            return
        for edge in self._chosen(execution.node):
            self._send(edge, execution, queue)
        self._settle_races(queue)

    def _chosen(self, node: str) -> list[dict[str, Any]]:
        edges = self.leaving[node]
        kind = self.types[node]
        if kind == "Parallel" or not edges:
            return edges
        ordinary = [edge for edge in edges if not edge.get("isDefault")]
        holding = [edge for edge in ordinary if self._holds(edge)]
        defaults = [edge for edge in edges if edge.get("isDefault")]
        if kind in ("Decision", "EventGateway"):
            return (holding or defaults)[:1]
        return holding or defaults

    def _holds(self, edge: dict[str, Any]) -> bool:
        condition = edge.get("condition")
        return condition is None or condition == f"outcome == '{self.label}'"

    def _send(self, edge: dict[str, Any], execution: Execution, queue: deque[Token]) -> None:
        target = edge["targetNodeId"]
        late = {node for node in execution.late if node == target or self.map.ways(node, target, set())}
        if self.types[target] != "Join":
            queue.append(Token(target, [execution.number], [edge["id"]], late))
            return
        if target in self.loose:
            self._come(target, edge["id"], execution, late, queue)
            return
        wave = self.joins.setdefault(target, Wave())
        wave.arrived.setdefault(edge["id"], []).append(execution.number)
        complete = len(wave.arrived) == self.entering[target]
        if complete:
            del self.joins[target]
        if self.modes[target] == "WaitAny":
            if not wave.fired:
                wave.fired = True
                queue.append(Token(target, [execution.number], [edge["id"]]))
        elif complete:
            causes = [number for numbers in wave.arrived.values() for number in numbers]
            queue.append(Token(target, list(dict.fromkeys(causes)), list(wave.arrived)))

    # --- Joins whose tokens were moved --------------------------------------------------------

    def _come(self, join: str, edge: str, execution: Execution, late: set[str], queue: deque[Token]) -> None:
        wave = self.joins.get(join)
        if join in late or (wave is not None and wave.fired):
            return
        if self.modes[join] == "WaitAny":
            self.joins[join] = Wave(fired=True)
            queue.append(Token(join, [execution.number], [edge], late))
            return
        wave = self.joins.setdefault(join, Wave(late=set(late)))
        wave.late = self._shared([Token(join, [], [], wave.late), Token(join, [], [], late)])
        wave.arrived.setdefault(edge, []).append(execution.number)

    def _fire_at_rest(self, queue: deque[Token]) -> bool:
        """Let the loose Joins fire that nobody can come to any more; whether there are any."""
        self._settle_races([])
        tokens = self._everywhere([])
        for node in [node for node in self.joins if node in self.loose and not self._ways(node, tokens)]:
            wave = self.joins.pop(node)
            causes = [number for numbers in wave.arrived.values() for number in numbers]
            queue.append(Token(node, list(dict.fromkeys(causes)), list(wave.arrived), wave.late))
        return bool(queue)

    def _settle_races(self, queue: Iterable[Place]) -> None:
        """Let those be late who could still come to a loose Join that has fired; its wave is over."""
        for node in [node for node, wave in self.joins.items() if wave.fired and node in self.loose]:
            del self.joins[node]
            self._make_late(node, queue)

    def _make_late(self, join: str, queue: Iterable[Place]) -> None:
        late = [place for place in self._everywhere(queue) if self._ways(join, [place])]
        for place in late:
            place.late.add(join)
        self._loosen({node for place in late for node in [place.at, *self.map.ever(place.at)]})

    def _loosen(self, nodes: set[str]) -> None:
        self.loose |= {node for node in nodes if self.types[node] == "Join"}

    def _everywhere(self, queue: Iterable[Place]) -> list[Place]:
        """Return all tokens: those who wait, those on their way, those who have come to a Join that has not fired."""
        gathered = (Token(node, [], [], wave.late) for node, wave in self.joins.items() if not wave.fired)
        return [*self.waiting(), *queue, *gathered]

    def _ways(self, join: str, tokens: Iterable[Place]) -> set[str]:
        """Return by which transitions tokens can come to a Join in this round."""
        fired = {node for node, wave in self.joins.items() if wave.fired}
        found = set[str]()
        for token in tokens:
            if join not in token.late:
                found |= self.map.ways(join, token.at, fired | token.late)
        return found

    def _shared(self, tokens: list[Place]) -> set[str]:
        """Return what one token is late for that was made of these: where none of them could have gone on."""
        found = set[str]().union(*(token.late for token in tokens))
        for token in tokens:
            bare = Token(token.at, [], [])
            found = {
                join
                for join in found
                if join in token.late or (not self._ways(join, [token]) and self._ways(join, [bare]))
            }
        return found

    def _inherited(self, tokens: list[Place], target: str) -> set[str]:
        """Return what the one token on *target* is late for that stands for these."""
        found = set()
        for join in self._shared(tokens) - {target}:
            before = self._ways(join, [Token(token.at, [], []) for token in tokens])
            now = self._ways(join, [Token(target, [], [])])
            if now and not (now > before):
                found.add(join)
        return found

    def _close(self, status: str) -> None:
        self.status = status
        self.joins.clear()
        self.left_behind = []
        for one in self.waiting():
            one.status = GONE


class Map:
    """The ways through a flow: all of them, and those of one round, without the transitions that close a loop."""

    def __init__(self, document: dict[str, Any]) -> None:
        edges = sorted(document["transitions"], key=lambda edge: edge["priority"])
        nodes = [node["id"] for node in document["nodes"]]
        self._all = {node: [edge for edge in edges if edge["sourceNodeId"] == node] for node in nodes}
        closing: set[str] = set()
        seen: set[str] = set()
        start = next(node["id"] for node in document["nodes"] if node["activityType"] == "Start")
        for node in (start, *nodes):
            self._walk(node, (), seen, closing)
        self._round = {node: [edge for edge in self._all[node] if edge["id"] not in closing] for node in nodes}

    def _walk(self, node: str, above: tuple[str, ...], seen: set[str], closing: set[str]) -> None:
        if node in seen:
            return
        seen.add(node)
        above = (*above, node)
        closing |= {edge["id"] for edge in self._all[node] if edge["targetNodeId"] in above}
        for edge in self._all[node]:
            self._walk(edge["targetNodeId"], above, seen, closing)

    def ever(self, start: str) -> set[str]:
        """Return the nodes that a token may come to from one, in this round or later ones."""
        return _reached(self._all, start)

    def ahead(self, start: str) -> set[str]:
        """Return the nodes that a token may come to from one in this round."""
        return _reached(self._round, start)

    def ways(self, join: str, start: str, walls: set[str]) -> set[str]:
        """Return the transitions by which a token that leaves *start* can come to a Join, not through *walls*."""
        reached = _reached(self._round, start, walls | {join}) | {start}
        return {edge["id"] for node in reached for edge in self._round[node] if edge["targetNodeId"] == join}


def _reached(edges: dict[str, list[dict[str, Any]]], start: str, walls: Iterable[str] = ()) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for edge in edges[waiting.pop()]:
            target = edge["targetNodeId"]
            if target not in reached and target not in walls:
                reached.add(target)
                waiting.append(target)
    return reached
