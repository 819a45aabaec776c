"""What must hold of a closed system: it settles, nothing comes twice, and no right is left unused.

The judge is written from the definitions, and shares nothing with the scheduler.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

from gang_scheduler.model.api_words import Fairness
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import objects, run
from gang_scheduler.simulation.documents import Document
from property.closed_systems import NONE, Gang, System, Tree
from property.naive_queues import NaiveTree
from search.manifests import Manifest

MOST_CYCLES: Final = 150
MOST_STATES: Final = 3000
"""How many sets of victims are looked at for a gang."""
YEAR_SECONDS: Final = 365 * 86_400
STRONGEST: Final = 1

Link = tuple[str, str, int]
State = tuple[frozenset[str], frozenset[Link]]


@dataclass
class Life:
    """What became of a system: where pods run in the end, and what is remembered then."""

    settled: bool
    cycles: int
    evictions: int
    states: list[State] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    links: frozenset[Link] = frozenset()


def live(system: System, reservations: int = 0) -> Life:
    """Let a system run until it settles, with victims that come back."""
    return life_of(system.documents(), system.kueue_fairness, reservations)


def life_of(
    documents: Sequence[Manifest], kueue_fairness: str = "Priority", reservations: int = 0
) -> Life:
    """Let the gangs of manifests run until they settle, with victims that come back.

    By default none is promised a start: rights are used then whatever others wait for.
    """
    found = [Document("system", n, body) for n, body in enumerate(documents, start=1)]
    fairness = Fairness(kueue_fairness)
    policy = Policy(
        yield_memory_seconds=YEAR_SECONDS, kueue_fairness=fairness, reservations=reservations
    )
    options = run.Options(policy, until_settled=True, recreate_victims=True)
    with patch.object(run, "MOST_CYCLES", MOST_CYCLES), _watched() as cycles:
        outcome = run.simulate(objects.load(found, "py-gang-scheduler"), options)
    return Life(
        settled=outcome.settled,
        cycles=len(cycles),
        evictions=sum((outcome.evictions or {}).values()),
        states=[state for state in cycles if state is not None],
        nodes={pod.name: pod.node for pod in outcome.cache.pods() if pod.node},
        links=_links(outcome.cache),
    )


def faults(system: System, life: Life) -> Iterator[str]:
    """Yield what is wrong."""
    yield from unsettled(life)
    if life.settled:
        yield from Judge(system, life).unused_rights()


def unsettled(life: Life) -> Iterator[str]:
    """Yield what is wrong if a life goes on and on."""
    if not life.settled:
        yield f"not settled after {life.cycles} cycles and {life.evictions} evictions"
    if len(set(life.states)) < len(life.states):
        twice = next(state for state in life.states if life.states.count(state) > 1)
        yield f"twice after an eviction: {sorted(twice[0])} with {sorted(twice[1])}"


@contextmanager
def _watched() -> Iterator[list[State | None]]:
    """Note after each cycle what runs, or will, and what is remembered; None without evictions."""
    cycles: list[State | None] = []
    passed: Callable[..., bool] = run.let_pass

    def watched(cache: Any, plan: Any, *, recreate: bool) -> bool:
        changed = passed(cache, plan, recreate=recreate)
        running = frozenset(pod.name for pod in cache.pods() if pod.node or pod.nominated)
        evicts = any(made.victims for made in plan.preemptions)
        cycles.append((running, _links(cache)) if evicts else None)
        return changed

    with patch.object(run, "let_pass", watched):
        yield cycles


def _links(cache: Any) -> frozenset[Link]:
    found = cache.evictions.yielded(0, cache.gang_queue.infos)
    return frozenset(
        (below.name, each.gang.name, each.eviction_class.weight)
        for below, links in found.items()
        for each in links
    )


class Judge:
    """The end of a system: which gangs wait that have a right to what others borrow."""

    def __init__(self, system: System, life: Life) -> None:
        self._system = system
        self._life = life
        self._bound = {
            gang.name: [name for name in gang.names if name in life.nodes] for gang in system.gangs
        }
        self._trees = {kind: self._charged(kind) for kind in system.trees}

    def unused_rights(self) -> Iterator[str]:
        """Yield the gangs that wait within what their queue was promised and could reclaim."""
        for gang in self._system.gangs:
            if self._bound[gang.name] or not self._may_reclaim(gang):
                continue
            victims = self._victims_for(gang)
            if victims is not None:
                yield f"{gang.name} of {gang.queue} waits and may reclaim from {victims}"

    def _charged(self, kind: str) -> NaiveTree:
        tree = self._system.trees[kind].naive.emptied()
        for gang in self._system.gangs:
            if gang.tree == kind:
                tree = tree.with_charge(gang.queue, gang.charge(len(self._bound[gang.name])))
        return tree

    def _may_reclaim(self, gang: Gang) -> bool:
        tree = self._system.trees[gang.tree]
        policy, naive = tree.policies[gang.queue], self._trees[gang.tree]
        if gang.queue == NONE or policy.reclaim == "Never":
            return False
        asked = gang.charge(gang.minimum)
        within = all(
            naive.used(gang.queue, r) + amount <= naive.n(gang.queue, r)
            for r, amount in asked.items()
        )
        return within and not (policy.strict and self._is_behind(gang))

    def _is_behind(self, gang: Gang) -> bool:
        """Return whether another gang of the queue waits that comes first."""
        order = (-gang.priority, gang.created)
        return any(
            other.queue == gang.queue
            and other is not gang
            and len(self._bound[other.name]) < other.pods
            and (-other.priority, other.created) < order
            for other in self._system.gangs
        )

    def _victims_for(self, gang: Gang) -> list[str] | None:
        """Return gangs that could be evicted one after the other until the gang fits."""
        naive = self._trees[gang.tree]
        if self._fits(gang, naive, frozenset()):
            return []
        lacking = self._lacking(gang, naive)
        candidates = [other for other in self._system.gangs if self._is_legal(gang, other, lacking)]
        seen = {frozenset[str]()}
        ahead: list[tuple[frozenset[str], NaiveTree]] = [(frozenset(), naive)]
        while ahead and len(seen) < MOST_STATES:
            gone, tree = ahead.pop()
            for other in candidates:
                more = gone | {other.name}
                if more in seen or not self._borrows(gang, other, tree, lacking):
                    continue
                seen.add(more)
                charge = other.charge(-len(self._bound[other.name]))
                after = tree.with_charge(other.queue, charge)
                if self._fits(gang, after, more):
                    return sorted(more)
                ahead.append((more, after))
        return None

    def _lacking(self, gang: Gang, naive: NaiveTree) -> set[str]:
        """Return the resources of which quota lacks, else those of which the nodes lack."""
        asked = gang.charge(gang.minimum)
        quota = {r for r, amount in asked.items() if amount > naive.room(gang.queue, r)}
        return quota or {r for r in asked if self._slots(gang, frozenset(), (r,)) < gang.minimum}

    def _is_legal(self, gang: Gang, other: Gang, lacking: set[str]) -> bool:
        """Return whether policies and vetoes let the gang reclaim from another one."""
        bound = len(self._bound[other.name])
        if other.tree != gang.tree or other.queue == gang.queue or bound < other.minimum:
            return False
        if lacking.isdisjoint(other.requests):
            return False
        tree = self._system.trees[gang.tree]
        policy = tree.policies[gang.queue].reclaim
        lower = other.priority < gang.priority
        newer = other.priority == gang.priority and other.created > gang.created
        allowed = policy == "Any" or lower or (policy == "LowerOrNewerEqualPriority" and newer)
        return allowed and not self._is_vetoed(gang, other, tree) and not self._yielded(gang, other)

    def _ways(self, gang: Gang, other: Gang) -> tuple[list[str], list[str]]:
        """Return the queues of both from the leaf up to the child where their ways meet."""
        naive = self._trees[gang.tree]
        ours, theirs = naive.way(gang.queue), naive.way(other.queue)
        return (
            [name for name in ours if name not in theirs],
            [name for name in theirs if name not in ours],
        )

    def _is_vetoed(self, gang: Gang, other: Gang, tree: Tree) -> bool:
        ours, theirs = self._ways(gang, other)
        above = self._trees[gang.tree].way(gang.queue)
        if any(tree.policies[name].fence for name in ours):
            return True
        rules = [tree.policies[name] for name in theirs]
        return any(
            not each.may_lose
            or (each.may_lose_to is not None and not set(above) & set(each.may_lose_to))
            for each in rules
        )

    def _yielded(self, gang: Gang, other: Gang) -> bool:
        """Return whether the gang yielded to the other by links of the strongest class alone."""
        reached, ahead = {gang.name}, [gang.name]
        while ahead:
            at = ahead.pop()
            for below, above, weight in self._life.links:
                if below == at and weight <= STRONGEST and above not in reached:
                    reached.add(above)
                    ahead.append(above)
        return other.name in reached

    def _borrows(self, gang: Gang, other: Gang, tree: NaiveTree, lacking: set[str]) -> bool:
        """Return whether the other's queues, up to the common ancestor, use more than promised."""
        _, theirs = self._ways(gang, other)
        return all(any(tree.borrowed(name, r) > 0 for r in lacking) for name in theirs)

    def _fits(self, gang: Gang, tree: NaiveTree, gone: frozenset[str]) -> bool:
        asked = gang.charge(gang.minimum)
        if any(amount > tree.room(gang.queue, r) for r, amount in asked.items()):
            return False
        return self._slots(gang, gone, tuple(gang.requests)) >= gang.minimum

    def _slots(self, gang: Gang, gone: frozenset[str], resources: Sequence[str]) -> int:
        """Return how many pods of the gang find room without those that are gone."""
        free: dict[str, Mapping[str, int]] = {}
        for node, room in self._system.nodes.items():
            used = dict.fromkeys(room, 0)
            for other in self._system.gangs:
                here = 0 if other.name in gone else self._on(other, node)
                for r, amount in other.requests.items():
                    used[r] += here * amount
            free[node] = {r: room[r] - used[r] for r in room}
        return sum(min(room[r] // gang.requests[r] for r in resources) for room in free.values())

    def _on(self, gang: Gang, node: str) -> int:
        return sum(self._life.nodes[name] == node for name in self._bound[gang.name])
