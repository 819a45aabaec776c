"""The pod class: all requirements of a pod on its node. Pods with equal specs are read once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster
from gang_scheduler.decode.fields import amounts
from gang_scheduler.model import resources
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.pods import HostPort, PodClass
from gang_scheduler.model.records import LONGEST, Interned
from gang_scheduler.model.resources import Amounts
from gang_scheduler.model.selectors import (
    Affinity,
    AffinityTerm,
    Clause,
    NodeTerm,
    PodAffinity,
    PodSelector,
    Requirement,
    Spread,
)
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import Metadata, NodeSelector, NodeSelectorTerm
from gang_scheduler.wire.pods import (
    PREFERRED,
    REQUIRED,
    Container,
    NodeInclusionPolicy,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    SpreadConstraint,
    WeightedPodAffinityTerm,
    WhenUnsatisfiable,
)

# Affinity, anti-affinity and spread, read from the wire. The rules are those of kube-scheduler's
# InterPodAffinity and PodTopologySpread, and of the API server, which merges `matchLabelKeys` and
# `mismatchLabelKeys` into selectors. For most pods that is done already, and requirements that are
# already there are not added twice.

NEAR = "spec.affinity.podAffinity"
FAR = "spec.affinity.podAntiAffinity"
SPREAD = "spec.topologySpreadConstraints"
MATCHES_NONE = Clause(labels=())
"""The clause of a term without a selector: it has no namespace, and so selects no pod."""
GREATEST_WEIGHT = 100


def pod_affinity_of(pod: pod_wire.Pod) -> PodAffinity | None:
    """Return the requirements of a pod on other pods; None without any. Raises InvalidField."""
    near, far = pod.spec.affinity.pod_affinity, pod.spec.affinity.pod_anti_affinity
    spread = pod.spec.topology_spread_constraints
    if not (near.required or near.preferred or far.required or far.preferred or spread):
        return None
    me = pod.metadata
    return PodAffinity(
        affinity=_affinity(me, near.required),
        anti=_once(_terms(me, f"{FAR}.{REQUIRED}", far.required)),
        spread=tuple(_spread(me, f"{SPREAD}[{i}]", each) for i, each in enumerate(spread)),
        preferred=(
            *_weighted(me, f"{NEAR}.{PREFERRED}", near.preferred, 1),
            *_weighted(me, f"{FAR}.{PREFERRED}", far.preferred, -1),
        ),
    )


def _affinity(me: Metadata, required: list[PodAffinityTerm]) -> Affinity | None:
    if not required:
        return None
    terms = _once(_terms(me, f"{NEAR}.{REQUIRED}", required))
    clauses = dict.fromkeys(clause for each in terms for clause in each.selector.clauses)
    keys = dict.fromkeys(each.key for each in terms)
    return Affinity(_interned(PodSelector(tuple(clauses))), tuple(keys))


def _once(terms: Iterator[AffinityTerm]) -> tuple[AffinityTerm, ...]:
    return tuple(dict.fromkeys(terms))


def _terms(me: Metadata, where: str, terms: Iterable[PodAffinityTerm]) -> Iterator[AffinityTerm]:
    for i, each in enumerate(terms):
        yield _term(me, f"{where}[{i}]", each)


def _weighted(
    me: Metadata, where: str, terms: Iterable[WeightedPodAffinityTerm], sign: int
) -> Iterator[tuple[int, AffinityTerm]]:
    for i, each in enumerate(terms):
        check_weight(f"{where}[{i}].weight", each.weight)
        term = _term(me, f"{where}[{i}].podAffinityTerm", each.pod_affinity_term)
        yield sign * each.weight, term


def check_weight(where: str, weight: int) -> None:
    """Raise InvalidField for an invalid weight of a preference."""
    if not 1 <= weight <= GREATEST_WEIGHT:
        raise InvalidField(where, weight, f"must be from 1 to {GREATEST_WEIGHT}")


def _term(me: Metadata, where: str, term: PodAffinityTerm) -> AffinityTerm:
    selector = _interned(PodSelector((_clause(me, where, term),)))
    return AffinityTerm(selector, _key(f"{where}.topologyKey", term.topology_key))


def _clause(me: Metadata, where: str, term: PodAffinityTerm) -> Clause:
    selector, spaces = term.label_selector, term.namespace_selector
    of_namespaces = None
    if spaces is not None:
        of_namespaces = cluster.label_requirements(spaces, f"{where}.namespaceSelector")
    if selector is None:
        return MATCHES_NONE
    labels = cluster.all_of(
        (
            *cluster.label_requirements(selector, f"{where}.labelSelector"),
            *_of_own(me, term.match_label_keys, Operator.IN),
            *_of_own(me, term.mismatch_label_keys, Operator.NOT_IN),
        )
    )
    own = () if term.namespaces or spaces is not None else (me.namespace,)
    return Clause(labels, frozenset((*term.namespaces, *own)), of_namespaces)


def _of_own(me: Metadata, keys: Iterable[str], operator: Operator) -> Iterator[Requirement]:
    """Yield requirements from the pod's own labels; keys that it lacks are left out."""
    own = me.labels
    return (Requirement(key, operator, (own[key],)) for key in keys if key in own)


def _spread(me: Metadata, where: str, asked: SpreadConstraint) -> Spread:
    for name, number in (("maxSkew", asked.max_skew), ("minDomains", asked.min_domains)):
        if number < 1:
            raise InvalidField(f"{where}.{name}", number, "must be at least 1")
    return Spread(
        key=_key(f"{where}.topologyKey", asked.topology_key),
        max_skew=asked.max_skew,
        selector=_interned(PodSelector((_spread_clause(me, where, asked),), staying=True)),
        min_domains=asked.min_domains,
        honours_affinity=asked.node_affinity_policy is NodeInclusionPolicy.HONOR,
        honours_taints=asked.node_taints_policy is NodeInclusionPolicy.HONOR,
        hard=asked.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE,
    )


def _spread_clause(me: Metadata, where: str, asked: SpreadConstraint) -> Clause:
    if asked.label_selector is None:
        return MATCHES_NONE
    given = cluster.label_requirements(asked.label_selector, f"{where}.labelSelector")
    own = _of_own(me, asked.match_label_keys, Operator.IN)
    return Clause(cluster.all_of((*given, *own)), frozenset({me.namespace}))


def _key(where: str, key: str) -> str:
    if not key:
        raise InvalidField(where, None, "is required")
    return key


_interned: Final = Interned[PodSelector]()
"""The first of equal selectors: as keys of dictionaries, selectors are found by identity."""


# The resources that a pod uses on a node, as the kubelet and kube-scheduler count them: the larger
# of the sum of all containers and of each init container with the restartable ones started before
# it. Pod-level requests replace that sum for the resources they name; then the overhead is added. A
# pod on a node may be resized in place: it counts with the largest of its requests, its allocated
# and its actual resources, each summed up separately. The rule follows component-helpers'
# `resource.PodRequests`.

Count = Callable[[Container, str], Amounts]
"""Returns the amounts of a container, given the container and its field."""


ADDED: Final[Mapping[str, Mapping[str, str]]] = {
    "init-pytorch": {"cpu": "50m", "memory": "10Mi"},
    "wait-gcs-ready": {"cpu": "200m", "memory": "256Mi"},
    "kubectl-delivery": {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"},
    "autoscaler": {"cpu": "500m", "memory": "512Mi"},
    "ray-job-submitter": {"cpu": "500m", "memory": "200Mi"},
}
"""The containers that operators add to pods, with their default requests."""


def unasked(pod: pod_wire.Pod) -> frozenset[str]:
    """Return the resources that only containers added by an operator request.

    A container that requests more than an operator's default is the user's own, even if its name is
    the operator's.
    """
    every = (*pod.spec.init_containers, *pod.spec.containers)
    added = [each for each in every if each.name in ADDED]
    if not added:
        return frozenset()
    found: set[str] = set()
    asked = {*pod.spec.overhead, *pod.spec.resources.requests, *pod.spec.resources.limits}
    for container in every:
        wanted = _wanted(container, "spec.containers[]")
        (found if _is_added(container, wanted) else asked).update(wanted)
    return frozenset(found - asked)


def _is_added(container: Container, wanted: Amounts) -> bool:
    most = amounts({**ADDED.get(container.name, {})}, "")
    return bool(most) and all(amount <= most.get(name, 0) for name, amount in wanted.items())


def pod_requests(pod: pod_wire.Pod) -> dict[str, int]:
    """Return the amounts, `pods: 1` included. Raises InvalidField for an invalid quantity."""
    own: Amounts = amounts(pod.spec.resources.requests, "spec.resources.requests")
    limits = amounts(pod.spec.resources.limits, "spec.resources.limits")
    overhead = amounts(pod.spec.overhead, "spec.overhead")
    # A pod-level limit is the request only if neither the pod nor a container sets a request.
    limits = {name: limit for name, limit in limits.items() if name not in own}
    if _may_be_resized(pod):
        together = _containers_in_use(pod)
        own = _whole_in_use(pod, own)
    else:
        together = _sum_of_containers(pod, _wanted)
    needed = resources.add({**limits, **together, **own}, overhead)
    clamped = {name: min(amount, resources.ENORMOUS) for name, amount in needed.items()}
    return {**clamped, resources.PODS: 1}


def said_of_a_resize(pod: pod_wire.Pod) -> tuple[object, ...]:
    """Return the status fields on which the requests of a pod depend; usually none."""
    if not _may_be_resized(pod):
        return ()
    status = pod.status
    statuses = (status.init_container_statuses, status.container_statuses)
    return *statuses, status.resources, status.allocated_resources, _resize_infeasible(pod)


def _may_be_resized(pod: pod_wire.Pod) -> bool:
    """Return whether a pod is on a node, and its status has resources or an infeasible resize."""
    if not pod.spec.node_name:
        return False
    status = pod.status
    said = status.container_statuses or status.init_container_statuses or status.resources
    return bool(said) or _resize_infeasible(pod)


def _sum_of_containers(pod: pod_wire.Pod, count: Count) -> Amounts:
    running = resources.total(
        count(each, f"spec.containers[{i}]") for i, each in enumerate(pod.spec.containers)
    )
    sidecars: Amounts = {}
    peak: Amounts = {}
    for i, container in enumerate(pod.spec.init_containers):
        asks = count(container, f"spec.initContainers[{i}]")
        if container.restart_policy == "Always":
            sidecars = resources.add(sidecars, asks)
            asks = {}
        peak = resources.maximum(peak, resources.add(sidecars, asks))
    return resources.maximum(resources.add(running, sidecars), peak)


def _wanted(container: Container, field: str) -> Amounts:
    # The API server defaults requests to limits on creation; manifests of `simulate` lack that.
    defaulted = {**container.resources.limits, **container.resources.requests}
    return amounts(defaulted, f"{field}.resources.requests")


def _containers_in_use(pod: pod_wire.Pod) -> Amounts:
    """Return the sum of the containers during a resize; an infeasible resize does not count."""
    said = pod.status.resources
    infeasible = _resize_infeasible(pod)
    wanted = {} if infeasible else _sum_of_containers(pod, _wanted)
    if said is not None and said.requests and pod.status.allocated_resources:
        in_use = resources.maximum(_said_in_use(pod), _said_allocated(pod))
    else:
        allocated, used = _said_of_containers(pod, infeasible=infeasible)
        in_use = resources.maximum(
            _sum_of_containers(pod, allocated), _sum_of_containers(pod, used)
        )
    return resources.maximum(wanted, in_use)


def _said_of_containers(pod: pod_wire.Pod, *, infeasible: bool) -> tuple[Count, Count]:
    """Return the allocated and the actual resources of containers, as far as statuses have them."""
    known = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    statuses = {status.name: status for status in known}

    def allocated(container: Container, field: str) -> Amounts:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources:
            return amounts(status.allocated_resources, f"status of {field}.allocatedResources")
        return {} if infeasible else _wanted(container, field)

    def used(container: Container, field: str) -> Amounts:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return amounts(status.resources.requests, f"status of {field}.resources.requests")
        return allocated(container, field)

    return allocated, used


def _whole_in_use(pod: pod_wire.Pod, own: Amounts) -> Amounts:
    """Return the pod-level requests during a resize, for resources that a pod can name."""
    if not own or pod.status.resources is None:
        return own
    in_use = resources.maximum(_said_in_use(pod), _said_allocated(pod))
    wanted = {} if _resize_infeasible(pod) else own
    everything = resources.maximum(wanted, in_use)
    return {name: everything[name] for name in everything if _is_pod_level(name)}


def _said_in_use(pod: pod_wire.Pod) -> Amounts:
    said = pod.status.resources
    return amounts(said.requests, "status.resources.requests") if said is not None else {}


def _said_allocated(pod: pod_wire.Pod) -> Amounts:
    return amounts(pod.status.allocated_resources, "status.allocatedResources")


def _is_pod_level(name: str) -> bool:
    return name in (resources.CPU, resources.MEMORY) or name.startswith(resources.HUGE_PAGES)


def _resize_infeasible(pod: pod_wire.Pod) -> bool:
    pending = (each for each in pod.status.conditions if each.type == "PodResizePending")
    return any(each.reason == "Infeasible" for each in pending)


TOLERATION_OPERATORS: Final = frozenset({"Exists", "Equal", "Lt", "Gt", ""})
PREFERRED_NODES: Final = f"spec.affinity.nodeAffinity.{PREFERRED}"
RESOURCE_CLAIMS: Final = "spec.resourceClaims"
"""Unsupported in a cluster whose devices are not known."""
MOST_KNOWN: Final = 8192

_ENCODER: Final = msgspec.msgpack.Encoder()
_known: dict[bytes, PodClass] = {}
"""Classes by the encoded fields of a pod, if these are short."""
interned: Final = Interned[PodClass]()
"""The first of equal classes: pods of one class share one object."""


def pod_class_of(source: pod_wire.Pod) -> PodClass:
    """Return the class of a pod; pods with the same text share one. Raises InvalidField."""
    text = _written(source)
    pod_class = _known.get(text)
    if pod_class is None:
        pod_class = interned(_read(source))
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        if len(text) <= LONGEST:
            _known[text] = pod_class
    # The requirements on other pods also depend on the pod's own labels and namespace.
    pod_affinity = pod_affinity_of(source)
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
    """Return the class of a pod without its requirements on other pods."""
    spec = source.spec
    restartable = (each for each in spec.init_containers if each.restart_policy == "Always")
    return PodClass(
        requests=tuple(sorted(pod_requests(source).items())),
        node_selector=tuple(sorted(spec.node_selector.items())),
        affinity=_node_affinity(spec.affinity.node_affinity.required),
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


def _node_affinity(required: NodeSelector | None) -> tuple[NodeTerm, ...] | None:
    if required is None:
        return None
    return tuple(_node_term(term) for term in required.node_selector_terms)


def _preferred(preferred: Iterable[PreferredSchedulingTerm]) -> Iterable[tuple[int, NodeTerm]]:
    for i, each in enumerate(preferred):
        check_weight(f"{PREFERRED_NODES}[{i}].weight", each.weight)
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
    """Yield the unsupported fields that must not be ignored."""
    spec = source.spec
    yield from (f"metadata.annotations[{key}]" for key in _unknown_annotations(source))
    if spec.resource_claims:
        yield RESOURCE_CLAIMS
    for i, toleration in enumerate(spec.tolerations):
        if toleration.operator not in TOLERATION_OPERATORS:
            yield f"spec.tolerations[{i}].operator"


def _unknown_annotations(source: pod_wire.Pod) -> Iterator[str]:
    for key in sorted(source.metadata.annotations):
        if key.startswith(annotations.KUEUE_PODSET_PREFIX) and key not in annotations.PODSET_KEYS:
            yield key
