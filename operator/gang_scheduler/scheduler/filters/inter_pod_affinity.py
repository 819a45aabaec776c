"""Required affinity and anti-affinity between pods, in both directions.

Semantics of kube-scheduler's InterPodAffinity: a pod counts for an affinity if all of its terms
select the pod; while no such pod exists, the first pod of a series may go to any node that has the
keys; and a pod stays away from pods whose own anti-affinity selects it. Members of one gang see
each other. Nominated pods count for anti-affinity, not for affinity.
"""

from collections import Counter

import numpy as np

from gang_scheduler.model.affinity.pod_affinity import Affinity
from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray, NodeTable
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.trial import Trial

obstacle = Obstacle.POD_AFFINITY

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
AVOIDED = "node(s) didn't satisfy existing pods anti-affinity rules"


def concerns(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether the class has required terms, or pods on nodes want none of it near."""
    asks = pod_class.pod_affinity is not None and (
        pod_class.pod_affinity.anti or pod_class.pod_affinity.affinity is not None
    )
    return bool(asks) or any(True for _ in trial.pod_affinity.avoiding(pod_class))


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return 0 where a rule forbids it, 1 where a pod of the class keeps the next away."""
    forbidden = np.logical_or.reduce(list(_verdicts(pod_class, trial).values()))
    return np.where(forbidden, 0, _most(pod_class, trial.nodes))


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes by the first rule that forbids them."""
    counts: Counter[str] = Counter()
    left = rejected
    for words, forbidden in _verdicts(pod_class, trial).items():
        counts[words] = int((left & forbidden).sum())
        left = left & ~forbidden
    return +counts


def coupled(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether a pod of the class on one node changes what other nodes offer to the next."""
    pod_affinity = pod_class.pod_affinity
    if pod_affinity is None:
        return False
    if pod_affinity.affinity is not None and _is_first(pod_affinity.affinity, pod_class, trial):
        return True
    return any(
        term.selector in pod_class.selected_by
        and not label_domains.one_node_each(term.key, trial.nodes)
        for term in pod_affinity.anti
    )


def at_once(pod_class: PodClass, trial: Trial) -> Caps | None:
    """Return one pod a domain, if pods of the class keep each other away."""
    pod_affinity = pod_class.pod_affinity
    if pod_affinity is None or (
        pod_affinity.affinity is not None and _is_first(pod_affinity.affinity, pod_class, trial)
    ):
        return None
    own = {term.key for term in pod_affinity.anti if term.selector in pod_class.selected_by}
    keys = [key for key in own if not label_domains.one_node_each(key, trial.nodes)]
    if len(keys) > 1:
        return None
    column = trial.nodes.label(keys[0])
    return Caps(column.codes, np.ones(len(column.values), dtype=np.int64))


def prospects(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the slots as if pods that the class's affinity selects were in every domain."""
    verdicts = _verdicts(pod_class, trial)
    forbidden = verdicts[ANTI_AFFINITY] | verdicts[AVOIDED]
    return np.where(forbidden, 0, _most(pod_class, trial.nodes))


def _verdicts(pod_class: PodClass, trial: Trial) -> dict[str, BoolArray]:
    """Return the nodes that each rule forbids, in the order of kube-scheduler."""
    nodes, pod_affinity = trial.nodes, pod_class.pod_affinity
    apart = avoided = together = np.zeros(len(nodes), dtype=np.bool_)
    if pod_affinity is not None and pod_affinity.affinity is not None:
        together = ~_allowed(pod_affinity.affinity, pod_class, trial)
    for term in pod_affinity.anti if pod_affinity is not None else ():
        found = trial.pod_affinity.expected(term.selector)
        apart = apart | (label_domains.in_domain(nodes.label(term.key), found) > 0)
    for term, found in trial.pod_affinity.avoiding(pod_class):
        avoided = avoided | (label_domains.in_domain(nodes.label(term.key), found) > 0)
    return {AFFINITY: together, ANTI_AFFINITY: apart, AVOIDED: avoided}


def _allowed(affinity: Affinity, pod_class: PodClass, trial: Trial) -> BoolArray:
    """Return the nodes that share a domain of every key with a pod that the affinity selects."""
    columns = [trial.nodes.label(key) for key in affinity.keys]
    if _is_first(affinity, pod_class, trial):
        near = [label_domains.has(column) for column in columns]
    else:
        found = trial.pod_affinity.present(affinity.selector)
        near = [label_domains.in_domain(column, found) > 0 for column in columns]
    allowed: BoolArray = np.logical_and.reduce(near)
    return allowed


def _is_first(affinity: Affinity, pod_class: PodClass, trial: Trial) -> bool:
    """Return whether the affinity selects the class itself, and no pod in any domain."""
    if affinity.selector not in pod_class.selected_by:
        return False
    return label_domains.in_none(
        affinity.keys, trial.pod_affinity.present(affinity.selector), trial.nodes
    )


def _most(pod_class: PodClass, nodes: NodeTable) -> IntArray:
    """Return 1 where a pod of the class keeps the next one away from its own node."""
    most = np.full(len(nodes), UNLIMITED, dtype=np.int64)
    for term in pod_class.pod_affinity.anti if pod_class.pod_affinity is not None else ():
        if term.selector in pod_class.selected_by:
            most[label_domains.has(nodes.label(term.key))] = 1
    return most
