"""Selectors: requirements on labels, node selector terms, and pod affinity and spread."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gang_scheduler.model.api_words import Operator


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression, over a label or (`on_field`, for nodes) `metadata.name`."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    on_field: bool = False


NodeTerm = tuple[Requirement, ...]
"""Requirements that must all hold. An empty term matches no node, as in Kubernetes."""

LABEL_OPERATORS: Mapping[Operator, Callable[[str | None, tuple[str, ...]], bool]] = {
    Operator.IN: lambda value, values: value in values,
    Operator.NOT_IN: lambda value, values: value not in values,
    Operator.EXISTS: lambda value, _: value is not None,
    Operator.DOES_NOT_EXIST: lambda value, _: value is None,
}
"""By operator: whether a label value, or None if the label is absent, satisfies an expression."""


def hold(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy all expressions of a label selector."""
    return all(
        LABEL_OPERATORS[each.operator](labels.get(each.key), each.values) for each in requirements
    )


# Whether the terms of a node selector match one node; for all nodes of a table, see `any_term` in
# `model/nodes`. The semantics are those of component-helpers' `nodeaffinity`: terms are
# alternatives, all requirements of a term must hold, an empty term matches nothing, and a
# comparison is false unless both values are integers.

NAME_FIELD = "metadata.name"
_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def matches_any_term(terms: Iterable[NodeTerm], name: str, labels: Mapping[str, str]) -> bool:
    """Return whether at least one of the terms matches this node."""
    return any(term and all(_is_met(each, name, labels) for each in term) for term in terms)


def _is_met(requirement: Requirement, name: str, labels: Mapping[str, str]) -> bool:
    if requirement.on_field:
        value = name if requirement.key == NAME_FIELD else None
    else:
        value = labels.get(requirement.key)
    if requirement.operator in LABEL_OPERATORS:
        return LABEL_OPERATORS[requirement.operator](value, requirement.values)
    bound = integer_of(requirement.values[0]) if len(requirement.values) == 1 else None
    number = integer_of(value) if value is not None else None
    if bound is None or number is None:
        return False
    return number > bound if requirement.operator is Operator.GT else number < bound


def integer_of(text: str) -> int | None:
    """Return the integer of a text as `strconv.ParseInt` reads it; None if it is none."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and _SMALLEST <= number <= _LARGEST else None


# The affinity, anti-affinity and spread that a pod requests.

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Clause:
    """Pods with certain labels in certain namespaces.

    A pod's namespace must be named in `namespaces`, or its labels must satisfy `of_namespaces`:
    None excludes all namespaces, () allows all.
    """

    labels: tuple[Requirement, ...]
    namespaces: frozenset[str] = frozenset()
    of_namespaces: tuple[Requirement, ...] | None = None

    def selects(self, namespace: str, labels: Labels, of_namespace: Labels) -> bool:
        """Return whether a pod is selected; `of_namespace` are the labels of its namespace."""
        here = namespace in self.namespaces or (
            self.of_namespaces is not None and hold(self.of_namespaces, of_namespace)
        )
        return here and hold(self.labels, labels)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PodSelector:
    """The pods that all clauses select; with `staying`, pods that are being deleted do not count.

    The hash is kept, since selectors are keys of counters.
    """

    clauses: tuple[Clause, ...]
    staying: bool = False
    digest: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the hash."""
        object.__setattr__(self, "digest", hash((self.clauses, self.staying)))

    def __hash__(self) -> int:
        return self.digest

    def selects(
        self, namespace: str, labels: Labels, of_namespace: Labels, *, deleting: bool
    ) -> bool:
        """Return whether a pod is selected; `of_namespace` are the labels of its namespace."""
        if deleting and self.staying:
            return False
        return all(each.selects(namespace, labels, of_namespace) for each in self.clauses)


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """The rule to share a domain with selected pods: nodes with one value of the label `key`."""

    selector: PodSelector
    key: str


@dataclass(frozen=True, slots=True)
class Affinity:
    """A pod must share a domain of every key with pods that the selector selects.

    Kubernetes counts only pods that all terms of an affinity select, so one selector has the
    clauses of all terms.
    """

    selector: PodSelector
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint; it is a preference unless it is `hard`.

    `honours_affinity` and `honours_taints` decide which nodes are counted.
    """

    key: str
    max_skew: int
    selector: PodSelector
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    hard: bool = True


@dataclass(frozen=True, slots=True)
class PodAffinity:
    """All requirements of a pod on other pods.

    `preferred` are weighted terms, with a negative weight for avoidance.
    """

    affinity: Affinity | None = None
    anti: tuple[AffinityTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    preferred: tuple[tuple[int, AffinityTerm], ...] = ()

    @property
    def selectors(self) -> frozenset[PodSelector]:
        """The selectors of all terms and constraints."""
        affinity = () if self.affinity is None else (self.affinity.selector,)
        return frozenset(
            (
                *affinity,
                *(each.selector for each in self.anti),
                *(each.selector for each in self.spread),
                *(term.selector for _, term in self.preferred),
            )
        )

    @property
    def approached(self) -> frozenset[PodSelector]:
        """The selectors of pods whose arrival makes nodes near them feasible, or better."""
        return self.selectors - {each.selector for each in self.anti}

    @property
    def gains(self) -> bool:
        """Whether other pods, once placed, can make nodes feasible for this pod."""
        return self.affinity is not None or any(each.hard for each in self.spread)


@dataclass(frozen=True, eq=False)
class FewNodes:
    """The pods on few of `number` nodes: their rows, and how many pods on each."""

    rows: Sequence[int]
    counts: Sequence[int]
    number: int

    @functools.cached_property
    def column(self) -> NDArray[np.int64]:
        """The pods on all nodes."""
        found = np.zeros(self.number, dtype=np.int64)
        found[list(self.rows)] = self.counts
        found.flags.writeable = False
        return found


NodeCounts = NDArray[np.int64] | FewNodes


def column_of(counts: NodeCounts) -> NDArray[np.int64]:
    """Return the pods on all nodes, the same array each time."""
    return counts.column if isinstance(counts, FewNodes) else counts


@dataclass(frozen=True, slots=True, eq=False)
class AffinityCounts:
    """Pods on the nodes, one row a node.

    `present` is how many pods each selector selects; `avoiding` how many have a term of required
    anti-affinity. A missing selector or term counts no pod.
    """

    present: Mapping[PodSelector, NodeCounts] = field(default_factory=dict)
    avoiding: Mapping[AffinityTerm, NodeCounts] = field(default_factory=dict)
