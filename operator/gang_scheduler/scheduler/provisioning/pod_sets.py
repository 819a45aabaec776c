"""What is asked for: members alike, their number, and the labels that their nodes must have."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.provisioning import AskedPodSet
from gang_scheduler.model.provisioning_rules import ProvisioningRules
from gang_scheduler.scheduler.provisioning.digests import digest
from gang_scheduler.scheduler.units.placement_units import PlacementUnit

Labels = Mapping[str, tuple[tuple[str, str], ...]]
"""The labels that the nodes of members must have by their flavors, by the uids of pods."""


class _Kind(NamedTuple):
    """What members have in common that one pod set is for."""

    asks: tuple[object, ...]
    node_labels: tuple[tuple[str, str], ...]


def of(
    units: Sequence[PlacementUnit], rules: ProvisioningRules, labels: Labels
) -> tuple[AskedPodSet, ...]:
    """Return the pod sets of the quorums, in an order that depends on what they ask for alone.

    Without members that ask for nothing that is managed.
    """
    found: dict[_Kind, list[Pod]] = {}
    for pod in quorum_of(units):
        if _is_managed(pod.pod_class, rules):
            kind = _Kind(_asks(pod.pod_class), labels.get(pod.uid, ()))
            found.setdefault(kind, []).append(pod)
    by_digest = sorted((digest(kind), kind, pods) for kind, pods in found.items())
    return tuple(AskedPodSet(pods[0], len(pods), kind.node_labels) for _, kind, pods in by_digest)


def quorum_of(units: Iterable[PlacementUnit]) -> list[Pod]:
    """Return the members that come before any surplus."""
    return [pod for unit in units for pod in unit.members if pod.uid in unit.required]


def digest_of(pod_sets: Iterable[AskedPodSet], rules: ProvisioningRules) -> str:
    """Return what stands for all that is asked for, by any of the members."""
    asked = tuple((_asks(each.pod.pod_class), each.number, each.node_labels) for each in pod_sets)
    return digest(rules.class_name, rules.parameters, asked)


def _asks(ask: PodClass) -> tuple[object, ...]:
    """Return what a pod itself asks of a node: nothing that depends on other objects."""
    return (
        *(ask.requests, ask.node_selector, ask.affinity, ask.tolerations),
        *(ask.host_ports, ask.preferred, ask.features),
    )


def _is_managed(ask: PodClass, rules: ProvisioningRules) -> bool:
    return not rules.managed or any(name in rules.managed for name, _ in ask.requests)
