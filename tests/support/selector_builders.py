"""Builders of what pods ask of each other. Pods are told apart by one label, `app`.

`enriched` gives pods what the cluster knows of them, and `world` a snapshot that counts them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import IntArray, Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import (
    Affinity,
    AffinityCounts,
    AffinityTerm,
    Clause,
    PodAffinity,
    PodSelector,
    Spread,
)
from gang_scheduler.model.snapshot import Snapshot
from support.builders import NAMESPACE, bound_pods, requirement, snapshot


def app(name: str) -> PodSelector:
    """Return the selector of pods of an app in the default namespace."""
    return PodSelector((Clause((requirement("app", "In", name),), frozenset({NAMESPACE})),))


def everybody() -> PodSelector:
    """Return the empty selector."""
    return PodSelector((Clause((), frozenset({NAMESPACE})),))


def apart_from(name: str, key: str = "zone") -> PodAffinity:
    """Return anti-affinity to an app."""
    return PodAffinity(anti=(AffinityTerm(app(name), key),))


def beside(name: str, *keys: str) -> PodAffinity:
    """Return affinity to an app."""
    return PodAffinity(affinity=Affinity(app(name), keys or ("zone",)))


def spread_over(key: str = "zone", name: str = "a", **fields: int | bool) -> PodAffinity:
    """Return a topology spread constraint with a skew of one, unless told otherwise."""
    given = {"max_skew": 1, **fields}
    staying = replace(app(name), staying=True)
    return PodAffinity(spread=(Spread(key, selector=staying, **given),))  # type: ignore[arg-type]


def rather(weight: int, name: str, key: str = "zone") -> PodAffinity:
    """Return preferred affinity to an app, or with a negative weight anti-affinity."""
    return PodAffinity(preferred=((weight, AffinityTerm(app(name), key)),))


def asking(pod: Pod, pod_affinity: PodAffinity | None, name: str = "a") -> Pod:
    """Return the pod as one of an app that asks this of others."""
    return replace(
        pod,
        labels={**pod.labels, "app": name},
        pod_class=replace(pod.pod_class, pod_affinity=pod_affinity),
    )


def enriched(pods: Sequence[Pod]) -> list[Pod]:
    """Return pods that know which selectors of all of them mean them."""
    selectors = {
        each
        for pod in pods
        if pod.pod_class.pod_affinity
        for each in pod.pod_class.pod_affinity.selectors
    }
    return [
        replace(pod, pod_class=replace(pod.pod_class, selected_by=_meaning(pod, selectors)))
        for pod in pods
    ]


def world(
    nodes: Sequence[Node],
    gangs: Sequence[Gang] = (),
    bound: Sequence[Pod] = (),
    evictable: Sequence[Pod] = (),
) -> Snapshot:
    """Return a snapshot that counts the pods that have nodes; some of them may be evicted."""
    waiting = [pod for gang in gangs for pod in gang.pending]
    everyone = {pod.uid: pod for pod in enriched([*waiting, *bound, *evictable])}
    known = [
        replace(gang, pending=tuple(everyone[pod.uid] for pod in gang.pending)) for gang in gangs
    ]
    there = [everyone[pod.uid] for pod in bound]
    victims = [everyone[pod.uid] for pod in evictable]
    living = bound_pods(
        *(BoundPod(pod, GangKey("pod", pod.namespace, pod.name)) for pod in victims)
    )
    shot = snapshot(nodes, known, there, bound_pods=living if victims else None)
    present: dict[PodSelector, IntArray] = {}
    avoiding: dict[AffinityTerm, IntArray] = {}
    for pod in (*there, *victims):
        row = shot.nodes.rows[pod.node]
        for selector in pod.pod_class.selected_by:
            present.setdefault(selector, np.zeros(len(nodes), dtype=np.int64))[row] += 1
        for term in pod.pod_class.pod_affinity.anti if pod.pod_class.pod_affinity else ():
            avoiding.setdefault(term, np.zeros(len(nodes), dtype=np.int64))[row] += 1
    return replace(shot, affinity_counts=AffinityCounts(present, avoiding))


def _meaning(pod: Pod, selectors: Iterable[PodSelector]) -> frozenset[PodSelector]:
    return frozenset(
        each
        for each in selectors
        if each.selects(pod.namespace, pod.labels, {}, deleting=pod.deleting)
    )
