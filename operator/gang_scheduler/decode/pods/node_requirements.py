"""What a pod asks of a node. Pods that are written alike are read once."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.pods import affinity
from gang_scheduler.decode.pods.requests import pod_requests, said_of_a_resize, unasked
from gang_scheduler.model.affinity.requirements import NodeTerm, Requirement
from gang_scheduler.model.pods import HostPort, PodClass, Toleration
from gang_scheduler.model.remembered import LONGEST, Interned
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.affinity import PREFERRED, PreferredSchedulingTerm
from gang_scheduler.wire.containers import Container
from gang_scheduler.wire.selectors import NodeSelector, NodeSelectorTerm

TOLERATION_OPERATORS: Final = frozenset({"Exists", "Equal", "Lt", "Gt", ""})
PREFERRED_NODES: Final = f"spec.affinity.nodeAffinity.{PREFERRED}"
MOST_KNOWN: Final = 8192

_ENCODER: Final = msgspec.msgpack.Encoder()
_known: dict[bytes, PodClass] = {}
"""Classes by the encoded fields of a pod, where these are short."""
interned: Final = Interned[PodClass]()
"""The first of equal classes: pods of one class share one object."""


def pod_class_of(source: pod_wire.Pod) -> PodClass:
    """Return the class of a pod; pods written alike share one. Raises InvalidField."""
    text = _written(source)
    pod_class = _known.get(text)
    if pod_class is None:
        pod_class = interned(_read(source))
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        if len(text) <= LONGEST:
            _known[text] = pod_class
    # What a pod asks of other pods depends on its own labels and namespace, too.
    pod_affinity = affinity.pod_affinity_of(source)
    return (
        pod_class
        if pod_affinity is None
        else interned(replace(pod_class, pod_affinity=pod_affinity))
    )


def _written(source: pod_wire.Pod) -> bytes:
    """Return all fields that `_read` reads of a pod, encoded. Raises InvalidField."""
    spec = source.spec
    read = (
        *(spec.containers, spec.init_containers, spec.resources, spec.overhead),
        *(spec.node_selector, spec.affinity.node_affinity, spec.tolerations),
        *(spec.host_network, spec.host_users, bool(spec.resource_claims)),
        *(tuple(_unknown_annotations(source)), said_of_a_resize(source)),
    )
    try:
        return _ENCODER.encode(read)
    except UnicodeEncodeError as error:
        raise InvalidField("spec", None, "has half of a character in it") from error


def _read(source: pod_wire.Pod) -> PodClass:
    """Return the class of a pod without what it asks of other pods."""
    spec = source.spec
    restartable = (each for each in spec.init_containers if each.restart_policy == "Always")
    return PodClass(
        requests=tuple(sorted(pod_requests(source).items())),
        node_selector=tuple(sorted(spec.node_selector.items())),
        affinity=_affinity(spec.affinity.node_affinity.required),
        tolerations=tuple(
            Toleration(each.key, each.operator or "Equal", each.value, each.effect)
            for each in spec.tolerations
        ),
        host_ports=tuple(_host_ports((*spec.containers, *restartable), on_host=spec.host_network)),
        features=tuple(_features(spec)),
        preferred=tuple(_preferred(spec.affinity.node_affinity.preferred)),
        unsupported=tuple(_unsupported(source)),
        unasked=unasked(source),
    )


def _affinity(required: NodeSelector | None) -> tuple[NodeTerm, ...] | None:
    if required is None:
        return None
    return tuple(_node_term(term) for term in required.node_selector_terms)


def _preferred(preferred: Iterable[PreferredSchedulingTerm]) -> Iterable[tuple[int, NodeTerm]]:
    for i, each in enumerate(preferred):
        affinity.check_weight(f"{PREFERRED_NODES}[{i}].weight", each.weight)
        yield each.weight, _node_term(each.preference)


def _node_term(term: NodeSelectorTerm) -> NodeTerm:
    return tuple(
        Requirement(each.key, each.operator, tuple(each.values), on_field)
        for on_field, expressions in ((False, term.match_expressions), (True, term.match_fields))
        for each in expressions
    )


def _host_ports(containers: Iterable[Container], *, on_host: bool) -> Iterable[HostPort]:
    # In the host's network every container port is a host port, as the API server defaults it.
    ports = {
        HostPort(number, port.protocol or "TCP", port.host_ip or "0.0.0.0")  # noqa: S104 - as there.
        for container in containers
        for port in container.ports
        if (number := port.host_port or (port.container_port if on_host else 0))
    }
    return sorted(ports, key=lambda port: (port.port, port.protocol, port.ip))


def _features(spec: pod_wire.PodSpec) -> Iterable[str]:
    """Yield the features that a node must declare (component-helpers' `nodedeclaredfeatures`)."""
    containers = (*spec.containers, *spec.init_containers)
    rules = (rule for each in containers for rule in each.restart_policy_rules)
    if any(rule.action == "RestartAllContainers" for rule in rules):
        yield "RestartAllContainersOnContainerExits"
    if spec.host_network and spec.host_users is False:
        yield "UserNamespacesHostNetworkSupport"
    if any(mount.bind_mount_options for each in containers for mount in each.volume_mounts):
        yield "VolumeBindMountOptions"


def _unsupported(source: pod_wire.Pod) -> Iterable[str]:
    """Yield the fields that must not be ignored and are not supported yet."""
    spec = source.spec
    yield from (f"metadata.annotations[{key}]" for key in _unknown_annotations(source))
    if spec.resource_claims:
        yield "spec.resourceClaims"
    for i, toleration in enumerate(spec.tolerations):
        if toleration.operator not in TOLERATION_OPERATORS:
            yield f"spec.tolerations[{i}].operator"


def _unknown_annotations(source: pod_wire.Pod) -> Iterator[str]:
    for key in sorted(source.metadata.annotations):
        if key.startswith(annotations.KUEUE_PODSET_PREFIX) and key not in annotations.PODSET_KEYS:
            yield key
