"""Affinity, anti-affinity and spread, written down again in the plainest way: a pod and a node.

Nothing here is shared with the scheduler but the model.
"""

from collections.abc import Sequence
from functools import cache

from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import Affinity, AffinityTerm, PodSelector, Spread

There = tuple[tuple[Pod, Node], ...]
"""Pods, and the nodes that they are on."""


def may_be(pod: Pod, node: Node, there: There, nodes: Sequence[Node]) -> bool:
    """Return whether a pod may join those that are there already."""
    pod_affinity = pod.pod_class.pod_affinity
    avoided = any(
        means(term.selector, pod) and together(term, node, where)
        for other, where in there
        if other.pod_class.pod_affinity
        for term in other.pod_class.pod_affinity.anti
    )
    if avoided or pod_affinity is None:
        return not avoided
    apart = all(
        not (means(term.selector, other) and together(term, node, where))
        for term in pod_affinity.anti
        for other, where in there
    )
    near = pod_affinity.affinity is None or joins(pod_affinity.affinity, pod, node, there)
    return (
        apart
        and near
        and all(is_even(each, pod, node, there, nodes) for each in pod_affinity.spread)
    )


def means(selector: PodSelector, pod: Pod) -> bool:
    """Return whether a selector means a pod."""
    return selector.selects(pod.namespace, pod.labels, {}, deleting=pod.deleting)


def together(term: AffinityTerm, node: Node, other: Node) -> bool:
    """Return whether two nodes are in one domain of a term."""
    value = node.labels.get(term.key)
    return value is not None and value == other.labels.get(term.key)


def joins(affinity: Affinity, pod: Pod, node: Node, there: There) -> bool:
    """Return whether a pod is beside those that it wants, or is the first of them."""
    wanted = [where for other, where in there if means(affinity.selector, other)]
    known = [where for where in wanted if any(key in where.labels for key in affinity.keys)]
    if not known and means(affinity.selector, pod):
        return all(key in node.labels for key in affinity.keys)
    terms = [AffinityTerm(affinity.selector, key) for key in affinity.keys]
    return all(any(together(term, node, where) for where in wanted) for term in terms)


def is_even(spread: Spread, pod: Pod, node: Node, there: There, nodes: Sequence[Node]) -> bool:
    """Return whether a pod on a node keeps the domains even; node selectors are not looked at."""
    if spread.key not in node.labels:
        return False
    domains = {each.labels[spread.key]: 0 for each in nodes if spread.key in each.labels}
    for other, where in there:
        if spread.key in where.labels and means(spread.selector, other):
            domains[where.labels[spread.key]] += 1
    least = min(domains.values()) if len(domains) >= spread.min_domains else 0
    itself = int(means(spread.selector, pod))
    return domains[node.labels[spread.key]] + itself - least <= spread.max_skew


def has_an_order(binds: There, there: There, nodes: Sequence[Node]) -> bool:
    """Return whether pods can come to these nodes one after the other, each allowed in its turn."""

    @cache
    def rest(left: frozenset[int]) -> bool:
        come = tuple(binds[i] for i in range(len(binds)) if i not in left)
        return not left or any(
            may_be(*binds[i], (*there, *come), nodes) and rest(left - {i}) for i in left
        )

    return rest(frozenset(range(len(binds))))


def can_be_placed(pods: Sequence[Pod], there: There, nodes: Sequence[Node], room: int) -> bool:
    """Return whether equal pods find nodes of `room` each, one after the other, in any way."""

    @cache
    def rest(counts: tuple[int, ...]) -> bool:
        if sum(counts) == len(pods):
            return True
        come = tuple(
            (pods[0], node) for node, count in zip(nodes, counts, strict=True) for _ in range(count)
        )
        return any(
            count < room
            and may_be(pods[0], nodes[i], (*there, *come), nodes)
            and rest((*counts[:i], count + 1, *counts[i + 1 :]))
            for i, count in enumerate(counts)
        )

    return rest((0,) * len(nodes))
