"""The eviction classes that are possible: by policies, vetoes, priorities and ages.

The minimum run times of queues are judged here, too. The required final state is not checked here.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gang_scheduler.model.api_words import EvictionPolicy, FairStrategy
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.queues import NONE, Charge, EvictionRules, FlavorResource, Queue
from gang_scheduler.model.rules import NO_SETTINGS, Rules
from gang_scheduler.scheduler.ordering.fairness import policy_of
from gang_scheduler.scheduler.quota.accounts import Accounts, Comparison
from gang_scheduler.scheduler.quota.trees import Trees
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue

# The lowest common ancestor of two queues, and queues that exceed their promises.


class Branches(NamedTuple):
    """The paths from two leaves of one tree up to their lowest common ancestor.

    `ours` are the rows from the leaf of the request up to the child of that ancestor, and `theirs`
    the same for the leaf of a victim.
    """

    ours: tuple[int, ...]
    theirs: tuple[int, ...]

    @property
    def our_child(self) -> int:
        """The child of the common ancestor on the path to our leaf."""
        return self.ours[-1]

    @property
    def their_child(self) -> int:
        """The child of the common ancestor on the path to the other leaf."""
        return self.theirs[-1]


def branches_at_ancestor(accounts: Accounts, ours: int, theirs: int) -> Branches | None:
    """Return the branches of two rows; None in different trees, or if one is above the other."""
    paths = accounts.promises.trees.paths
    one, other = paths[ours], paths[theirs]
    shared = sum(1 for _ in _common_prefix(one, other))
    if not 0 < shared < min(len(one), len(other)):
        return None
    return Branches(one[shared:][::-1], other[shared:][::-1])


def _common_prefix(one: Sequence[int], other: Sequence[int]) -> Iterable[int]:
    for a, b in zip(one, other, strict=False):
        if a != b:
            return
        yield a


def is_within(accounts: Accounts, row: int, charge: Charge) -> bool:
    """Return whether a queue is within its nominal quota for everything requested."""
    used, terms = accounts.charges.used, accounts.promises.terms
    governed = accounts.promises.trees.governed[accounts.promises.trees.root(row)]
    return all(
        used[key][row] <= terms[key].nominal[row]
        for key, amount in charge.items()
        if amount > 0 and key in governed
    )


def is_over(accounts: Accounts, row: int, keys: Iterable[FlavorResource]) -> bool:
    """Return whether a queue uses more than its promise for one of the keys."""
    used, terms = accounts.charges.used, accounts.promises.terms
    return any(used[key][row] > terms[key].nominal[row] for key in keys)


def missing_keys_in_tree(
    accounts: Accounts,
    row: int,
    lacking: Iterable[FlavorResource],
    resources: Collection[str],
) -> frozenset[FlavorResource]:
    """Return the missing keys and resources that the tree has numbers for."""
    governed = accounts.promises.trees.governed[accounts.promises.trees.root(row)]
    own = {key for key in lacking if key in governed}
    return frozenset(own | {key for key in governed if key.resource in resources})


class EvictionLimits(NamedTuple):
    """The settings that limit evictions, and the time in seconds since the epoch."""

    now: int = 0
    rules: Rules = NO_SETTINGS


@dataclass(frozen=True, slots=True)
class AllowedClasses:
    """The classes by which a request may evict gangs of one queue, in any final state.

    `branches` is None if that queue is the request's own, or in another tree (`foreign`).
    """

    classes: tuple[EvictionClass, ...] = ()
    branches: Branches | None = None
    foreign: bool = False


NOTHING_ALLOWED = AllowedClasses()


def allowed_classes(
    accounts: Accounts, request: ReclaimRequest, theirs: int, limits: EvictionLimits
) -> AllowedClasses:
    """Return the eviction classes between two queues, by position, fences and vetoes."""
    trees, declared = accounts.promises.trees, accounts.declared
    ours = trees.rows.get(request.ref)
    if ours is None:
        return NOTHING_ALLOWED
    if ours == theirs:
        return AllowedClasses((EvictionClass.OVERRUN, EvictionClass.IN_QUEUE))
    queue = trees.queues[theirs]
    if request.ref == NONE or not {request.ref.product, queue.ref.product} <= declared.enforced:
        return NOTHING_ALLOWED
    if trees.root(ours) != trees.root(theirs):
        return _of_another_tree(accounts, ours, theirs)
    branches = branches_at_ancestor(accounts, ours, theirs)
    if (
        branches is None
        or _is_vetoed(accounts, ours, branches.theirs)
        or _is_fenced(accounts, branches.ours)
    ):
        return NOTHING_ALLOWED
    return AllowedClasses(tuple(_in_tree(accounts, ours, limits)), branches)


def _of_another_tree(accounts: Accounts, ours: int, theirs: int) -> AllowedClasses:
    paths = accounts.promises.trees.paths
    if _is_fenced(accounts, paths[ours]) or _is_vetoed(accounts, ours, paths[theirs]):
        return NOTHING_ALLOWED
    return AllowedClasses((EvictionClass.RECLAIM,), foreign=True)


def _in_tree(accounts: Accounts, ours: int, limits: EvictionLimits) -> Iterator[EvictionClass]:
    """Yield the classes between queues of a tree, the lowest first."""
    yield EvictionClass.OVERRUN
    yield EvictionClass.RECLAIM
    match policy_of(accounts, ours).compares:
        case Comparison.PRIORITIES:
            yield EvictionClass.WHILE_BORROWING
        case Comparison.DUES:
            yield EvictionClass.FAIR_SHARE
        case Comparison.SHARES:
            if FairStrategy.FINAL in limits.rules.queues.fair_strategies:
                yield EvictionClass.FAIR_SHARE
            if FairStrategy.INITIAL in limits.rules.queues.fair_strategies:
                yield EvictionClass.FAIR_SHARE_AT_FIRST


def _is_vetoed(accounts: Accounts, ours: int, theirs: tuple[int, ...]) -> bool:
    """Return whether a queue on the other side protects its gangs from ours."""
    trees = accounts.promises.trees
    names = {trees.queues[row].ref.name for row in trees.paths[ours]}
    rules = (trees.queues[row].evictions for row in theirs)
    return any(not each.may_lose or not _accepts_loss_to(each, names) for each in rules)


def _accepts_loss_to(rules: EvictionRules, names: set[str]) -> bool:
    return rules.may_lose_to is None or not names.isdisjoint(rules.may_lose_to)


def _is_fenced(accounts: Accounts, ours: tuple[int, ...]) -> bool:
    """Return whether one of the request's own queues, given as rows, has a fence."""
    queues = accounts.promises.trees.queues
    return any(queues[row].evictions.fence for row in ours)


def allows(
    eviction_class: EvictionClass,
    request: ReclaimRequest,
    running: RunningInQueue,
    queue: Queue,
    limits: EvictionLimits,
) -> bool:
    """Return whether the rules of the requesting queue allow this eviction in a class."""
    rules, least = queue.evictions, limits.rules.preemption.min_priority_difference
    match eviction_class:
        case EvictionClass.OVERRUN:
            known = running.known.backfilled
            return (
                known is not None and known.until <= limits.now and known.ahead_of in request.gangs
            )
        case EvictionClass.IN_QUEUE if request.ref == NONE:
            return running.pod_priority <= request.pod_priority - least
        case EvictionClass.IN_QUEUE:
            return _is_lower(rules.within_queue, request, running, least)
        case EvictionClass.WHILE_BORROWING:
            threshold = rules.while_borrowing_threshold
            low = threshold is None or running.priority <= threshold
            return low and _is_lower(rules.while_borrowing, request, running, least)
    return _is_lower(rules.reclaim, request, running, least)


def _is_lower(
    policy: EvictionPolicy, request: ReclaimRequest, running: RunningInQueue, least: int
) -> bool:
    match policy:
        case EvictionPolicy.NEVER:
            return False
        case EvictionPolicy.ANY:
            return True
        case EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY if running.priority == request.priority:
            return running.known.created_at > request.created_at
    return running.priority <= request.priority - least


def is_young(running: RunningInQueue, least: int, limits: EvictionLimits) -> bool:
    """Return whether a gang has not reached its own minimum run time, or its queues' `least`."""
    least = max(running.known.min_runtime, least)
    return limits.now - running.known.started_at < least


def min_runtime(
    accounts: Accounts, theirs: int, branches: Branches | None, limits: EvictionLimits
) -> int:
    """Return the minimum run time that queues set for gangs of a queue, in seconds."""
    queues = accounts.promises.trees.queues
    # Above the leaf, the queues below the common ancestor count; its child does not.
    rows = {theirs, *(branches.theirs[:-1] if branches is not None else ())}
    asked = max(queues[row].evictions.min_runtime for row in rows)
    return limits.rules.preemption.counted_min_runtime(asked)


def min_runtimes(trees: Trees, rows: Iterable[int], limits: EvictionLimits) -> IntArray:
    """Return `min_runtime` for many queues and all requests at once, as levels by queues.

    The level is the number of queues above both the request and a queue. In another tree it is 0,
    and only the queue itself counts. Otherwise the queues count that are below the child where the
    two paths part.
    """
    most = limits.rules.preemption.counted_min_runtime
    asked = [
        [most(trees.queues[each].evictions.min_runtime) for each in trees.paths[row]]
        for row in rows
    ]
    levels = max(map(len, asked), default=0) + 1
    below = [
        [path[-1], *(max((*path[level + 1 :], path[-1])) for level in range(1, levels))]
        for path in asked
    ]
    return np.array(below, dtype=np.int64).reshape(len(asked), levels).T
