"""Scores of feasible nodes: preferences of the pod, use of the node, and the cost to later pods."""

import functools
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model import topology
from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS
from gang_scheduler.model.topology import Topology
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial

# The cost of a placement to later pods: scarce resources, and domains that are still whole. A pod
# that asks for no GPU goes to a node with GPUs last. Among nodes that are otherwise equal, nodes
# of the domains with the least room left come first: the scheduler fills a rack that is already in
# use before it breaks another one.

THOUSAND: Final = 1000
LAST: Final = 2**20
"""A number above any measure of use: each scarce resource of a node adds this to its sort key."""


def later(pod_class: PodClass, rows: IntArray, trial: Trial) -> IntArray:
    """Return what to add to each sort key for scarce resources that the class does not need."""
    columns = _unasked(pod_class, trial.nodes)
    if not columns:
        return np.zeros(len(rows), dtype=np.int64)

    def compute() -> IntArray:
        number: IntArray = (trial.nodes.allocatable[:, columns] > 0).sum(axis=1, dtype=np.int64)
        return number * LAST

    of_all = trial.nodes.cached(("scarce", *columns), compute)
    return of_all if len(rows) == len(of_all) else of_all[rows]


def order(pod_class: PodClass, rows: IntArray, trial: Trial) -> IntArray:
    """Return the order of nodes with the same key: a different number for each, smallest first.

    First comes the node with the least room of the scarce resources for which the class does not
    ask. Ties go to the node whose domain has the least room, layer by layer from the lowest, then
    to the first name. `rows` ascend.
    """
    tree = _tree(trial)
    columns = _unasked(pod_class, trial.nodes)
    found: IntArray = np.zeros(len(rows), dtype=np.int64)
    if columns:
        found += _room(columns, trial)[rows]
    if tree is not None:
        # Ranks begin at -1, and there are fewer ranks than nodes.
        found *= len(trial.nodes) + 1
        found += _ranked_domains(pod_class, rows, tree, trial)[rows]
    found *= len(rows)
    found += np.arange(len(rows))
    return found


def is_scarce(resource: str) -> bool:
    """Return whether a resource is scarce: few nodes have it, and Kubernetes does not define it."""
    return "/" in resource


def _unasked(pod_class: PodClass, nodes: NodeTable) -> list[int]:
    """Return the columns of the scarce resources that a class does not ask for."""
    asked = {name for name, amount in pod_class.requests if amount > 0}
    scarce = nodes.cached("scarce", lambda: [*filter(is_scarce, nodes.resources)])
    return [nodes.axis[name] for name in scarce if name not in asked]


def _room(columns: Sequence[int], trial: Trial) -> IntArray:
    """Return the sum of the free fractions of these resources on each node, in thousandths."""
    return sum((_free(column, trial) for column in columns), np.zeros_like(trial.free[:, 0]))


def _free(column: int, trial: Trial) -> IntArray:
    allocatable = np.maximum(trial.nodes.allocatable[:, column], 1)
    free: IntArray = trial.free[:, column] * THOUSAND // allocatable
    return free


def _tree(trial: Trial) -> Topology | None:
    """Return the first tree with a layer between the cluster and the nodes; None without one."""
    for tree_spec in trial.tree_specs:
        tree = topology.build(tree_spec, trial.nodes)
        if len(tree.levels) > 2 and len(tree.rows):
            return tree
    return None


def _ranked_domains(pod_class: PodClass, rows: IntArray, tree: Topology, trial: Trial) -> IntArray:
    """Return the rank of each node's lowest domain; nodes without a domain come first."""
    axis = trial.nodes.axis
    asked = [name for name, amount in pod_class.requests if amount > 0 and name in axis]
    room = _room(_unasked(pod_class, trial.nodes), trial)
    columns = [axis[name] for name in asked if name != PODS]
    if columns:
        # The scarcest requested resource counts: free CPUs beside busy GPUs are no room.
        room += functools.reduce(np.minimum, (_free(column, trial) for column in columns))
    room = room[tree.rows]
    *_, lowest = layers = tree.levels[1:-1]
    keys, above = [], np.arange(len(lowest))
    for level in reversed(layers):
        keys.append(np.add.reduceat(room, level.starts)[above])
        above = level.parents[above]
    domain_of = trial.nodes.cached(("domains", tree.tree_spec), lambda: _domain_of(tree))
    # If domains are equal in all this, the one with the first node comes first.
    first = np.full(len(lowest) + 1, len(trial.nodes), dtype=np.int64)
    first[domain_of[rows[::-1]]] = rows[::-1]
    ranks = np.full(len(lowest) + 1, ABSENT, dtype=np.int64)
    ranks[np.lexsort([first[:-1], *reversed(keys)])] = np.arange(len(lowest))
    return ranks[domain_of]


def _domain_of(tree: Topology) -> IntArray:
    """Return the lowest domain of each node; ABSENT for nodes without one, and as last entry."""
    found = np.full(len(tree.nodes), ABSENT, dtype=np.int64)
    found[tree.rows] = tree.levels[-2].at(np.arange(len(tree.rows)))
    return found


BEST = 100


def fill(pod_class: PodClass, slots: IntArray, count: int, trial: Trial, profile: Profile) -> Share:
    """Return the nodes with the best scores; ties go to the nodes that the profile fills first.

    `slots` must hold at least `count` in all.
    """
    found = scores(pod_class, slots, trial, profile)
    if found is None:
        return profile.fill(pod_class, slots, count, trial)
    shares = []
    for score in np.unique(found[slots > 0])[::-1]:
        here = np.where(found == score, slots, 0)
        number = min(count, int(here.clip(max=count).sum()))
        shares.append(profile.fill(pod_class, here, number, trial))
        count -= number
        if not count:
            break
    rows = np.concatenate([share.rows for share in shares])
    return Share(pod_class, rows, np.concatenate([share.counts for share in shares]))


def rank(pod_class: PodClass, slots: IntArray, trial: Trial, profile: Profile) -> IntArray:
    """Return the rows with slots, the best score first; ties in the order of the profile."""
    candidates = np.flatnonzero(slots)
    keys = profile.fill_order(1, pod_class, candidates, trial)
    ties = order(pod_class, candidates, trial)
    rows = candidates[np.lexsort((ties, keys))]
    found = scores(pod_class, slots, trial, profile)
    return rows if found is None else rows[np.argsort(-found[rows], kind="stable")]


def matters(pod_class: PodClass, trial: Trial, profile: Profile) -> bool:
    """Return whether the class may prefer some nodes to others."""
    return any(preference.concerns(pod_class, trial) for _, preference in profile.preferences)


def scores(pod_class: PodClass, slots: IntArray, trial: Trial, profile: Profile) -> IntArray | None:
    """Return the score of each node; None if all nodes with slots score the same.

    Each preference is scaled to 0..100 over the nodes with slots and weighted by the profile, as in
    kube-scheduler.
    """
    concerned = [each for each in profile.preferences if each[1].concerns(pod_class, trial)]
    candidates = slots > 0
    if not concerned or not candidates.any():
        return None
    raw = [(weight, preference.score(pod_class, trial)) for weight, preference in concerned]
    total = weighed(raw, candidates)
    return total if np.ptp(total[candidates]) else None


def weighed(scores: Iterable[tuple[int, IntArray]], candidates: BoolArray) -> IntArray:
    """Return the sum of weighted scores, each scaled over the candidates.

    There is at least one candidate. The sums of other nodes mean nothing.
    """
    total = np.zeros(len(candidates), dtype=np.int64)
    for weight, raw in scores:
        among = raw[candidates]
        low, high = int(among.min()), int(among.max())
        if high > low:
            total += weight * ((raw - low) * BEST // (high - low))
    return total


# The use of a node as an integer, for the policies binpack and spread.

PER_MILLE = 1000


def use_with(more: int, pod_class: PodClass, rows: IntArray, trial: Trial) -> IntArray:
    """Return the use in thousandths with `more` pods, summed over the resources they request.

    `rows` are all different and ascend. The number of pods counts only if no other resource is
    requested: a node is full when its CPUs or GPUs are gone, not when it runs many small pods.
    """
    use = np.zeros(len(rows), dtype=np.int64)
    # A slice of all rows is much faster than picking every row.
    chosen = rows if len(rows) < len(trial.nodes) else slice(None)
    for column, amount in _columns(pod_class, trial):
        allocatable = trial.nodes.allocatable[chosen, column]
        wanted = allocatable - trial.free[chosen, column] + more * amount
        # Integers, so that equal nodes tie on every machine.
        use += wanted * PER_MILLE // np.maximum(allocatable, 1)
    return use


def _columns(pod_class: PodClass, trial: Trial) -> list[tuple[int, int]]:
    """Return the columns of the resources that count, and how much of each is requested."""
    axis = trial.nodes.axis
    asked = [(name, amount) for name, amount in pod_class.requests if amount > 0 and name in axis]
    chosen = [each for each in asked if each[0] != PODS] or asked
    return [(axis[name], amount) for name, amount in chosen]
