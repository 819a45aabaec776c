"""From the wire to what a pod asks of other pods.

Rules of kube-scheduler's InterPodAffinity and PodTopologySpread, and of the API server, which
merges `matchLabelKeys` and `mismatchLabelKeys` into selectors: for most pods that is done already,
and requirements that are there are not added twice.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import label_selectors
from gang_scheduler.model.affinity.pod_affinity import (
    Affinity,
    AffinityTerm,
    Clause,
    PodAffinity,
    PodSelector,
    Spread,
)
from gang_scheduler.model.affinity.requirements import Operator, Requirement
from gang_scheduler.model.remembered import Interned
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.affinity import (
    PREFERRED,
    REQUIRED,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.spreads import NodeInclusionPolicy, SpreadConstraint, WhenUnsatisfiable

NEAR = "spec.affinity.podAffinity"
FAR = "spec.affinity.podAntiAffinity"
SPREAD = "spec.topologySpreadConstraints"
MATCHES_NONE = Clause(labels=())
"""The clause of a term without a selector: it has no namespace, and so selects no pod."""
GREATEST_WEIGHT = 100


def pod_affinity_of(pod: pod_wire.Pod) -> PodAffinity | None:
    """Return what a pod asks of other pods; None for nothing. Raises InvalidField."""
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
    """Raise InvalidField for a weight that no preference may have."""
    if not 1 <= weight <= GREATEST_WEIGHT:
        raise InvalidField(where, weight, f"must be from 1 to {GREATEST_WEIGHT}")


def _term(me: Metadata, where: str, term: PodAffinityTerm) -> AffinityTerm:
    selector = _interned(PodSelector((_clause(me, where, term),)))
    return AffinityTerm(selector, _key(f"{where}.topologyKey", term.topology_key))


def _clause(me: Metadata, where: str, term: PodAffinityTerm) -> Clause:
    selector, spaces = term.label_selector, term.namespace_selector
    of_namespaces = None
    if spaces is not None:
        of_namespaces = label_selectors.requirements(spaces, f"{where}.namespaceSelector")
    if selector is None:
        return MATCHES_NONE
    labels = label_selectors.all_of(
        (
            *label_selectors.requirements(selector, f"{where}.labelSelector"),
            *_of_own(me, term.match_label_keys, Operator.IN),
            *_of_own(me, term.mismatch_label_keys, Operator.NOT_IN),
        )
    )
    own = () if term.namespaces or spaces is not None else (me.namespace,)
    return Clause(labels, frozenset((*term.namespaces, *own)), of_namespaces)


def _of_own(me: Metadata, keys: Iterable[str], operator: Operator) -> Iterator[Requirement]:
    """Yield requirements by the pod's own labels; keys that the pod does not have are left out."""
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
    given = label_selectors.requirements(asked.label_selector, f"{where}.labelSelector")
    own = _of_own(me, asked.match_label_keys, Operator.IN)
    return Clause(label_selectors.all_of((*given, *own)), frozenset({me.namespace}))


def _key(where: str, key: str) -> str:
    if not key:
        raise InvalidField(where, None, "is required")
    return key


_interned: Final = Interned[PodSelector]()
"""The first of equal selectors: as keys of dictionaries, selectors are found by identity."""
