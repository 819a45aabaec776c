"""How many nodes take a member, and what keeps it from the others: each class by itself."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import NodeTable, Taint
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.scheduler import oversized
from gang_scheduler.scheduler.explanation.findings import (
    Barred,
    ClassNodes,
    LabelHint,
    NodeReason,
)
from gang_scheduler.scheduler.explanation.rejections import Rejections, rejections_of
from gang_scheduler.scheduler.explanation.watching import Turn
from gang_scheduler.scheduler.filters import node_affinity, taints
from gang_scheduler.scheduler.trial import Trial

MOST_CLASSES: Final = 8
NODES_NAMED: Final = 3
MOST_READ: Final = 200
"""Of how many nodes with one of several reasons it is asked which one they have."""
VALUES_NAMED: Final = 4


def nodes_of(turn: Turn) -> tuple[ClassNodes, ...]:
    """Return what keeps one pod of each class from nodes, the class with most members first."""
    trial = turn.trial()
    members: dict[PodClass, list[Pod]] = {}
    for pod in (pod for unit in turn.units() for pod in unit.members):
        members.setdefault(pod.pod_class, []).append(pod)
    classes = sorted(members.items(), key=lambda item: -len(item[1]))[:MOST_CLASSES]
    return tuple(_of_class(pod_class, pods, trial, turn) for pod_class, pods in classes)


def _of_class(pod_class: PodClass, pods: list[Pod], trial: Trial, turn: Turn) -> ClassNodes:
    found = rejections_of(pod_class, trial, turn.profile)
    return ClassNodes(
        pod=pods[0].key,
        pods=len(pods),
        nodes=len(trial.nodes),
        fitting=int(found.fitting.sum()),
        reasons=_reasons(found, trial),
        hints=tuple(_hints(pod_class, trial)),
        oversized=oversized.of(pod_class, trial.nodes, turn.profile),
        barred=_barred(pod_class, trial.nodes) if not found.fitting.any() else None,
    )


def _barred(pod_class: PodClass, nodes: NodeTable) -> Barred | None:
    """Return the nodes with the labels that are asked for, if some are and all are barred."""
    matching = node_affinity.passes(pod_class, nodes)
    if matching.all() or not matching.any():
        return None
    tolerated = taints.passes(pod_class, nodes)
    if (matching & tolerated & nodes.ready & ~nodes.unschedulable).any():
        return None
    lacking: Counter[Taint] = Counter()
    rows = np.flatnonzero(matching).tolist()
    for row in np.flatnonzero(matching & ~tolerated).tolist():
        found = taints.untolerated(pod_class, nodes.nodes[row].taints)
        # A node that is cordoned or not ready has a taint of that name as well.
        lacking.update(each for each in found if not each.key.startswith(taints.OF_STATES))
    return Barred(
        nodes=len(rows),
        some=tuple(nodes.nodes[row].name for row in rows[:NODES_NAMED]),
        selector=pod_class.node_selector,
        taints=tuple(sorted(lacking.items(), key=lambda each: (-each[1], each[0].key))),
        cordoned=int((matching & nodes.unschedulable).sum()),
        not_ready=int((matching & ~nodes.ready).sum()),
    )


def _reasons(found: Rejections, trial: Trial) -> tuple[NodeReason, ...]:
    counts: Counter[str] = Counter()
    some: dict[str, list[int]] = {}
    for each in found.found:
        said = each.words(each.rows)
        counts += said
        rows = np.flatnonzero(each.rows).tolist()
        for row in rows[:NODES_NAMED] if len(said) == 1 else rows[:MOST_READ]:
            one = np.zeros_like(each.rows)
            one[row] = True
            for words in said if len(said) == 1 else each.words(one):
                some.setdefault(words, []).append(row)
    return tuple(
        NodeReason(words, number, _names(some.get(words, []), trial))
        for words, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _names(rows: list[int], trial: Trial) -> tuple[str, ...]:
    return tuple(trial.nodes.nodes[row].name for row in rows[:NODES_NAMED])


def _hints(pod_class: PodClass, trial: Trial) -> Iterator[LabelHint]:
    """Yield the labels of the node selector, with the values that nodes have."""
    for key, value in pod_class.node_selector:
        counts = Counter(node.labels[key] for node in trial.nodes.nodes if key in node.labels)
        number = counts.pop(value, 0)
        if number < len(trial.nodes):
            yield LabelHint(key, value, number, tuple(counts.most_common(VALUES_NAMED)))
