"""What a pod asks of the pods around it: affinity, anti-affinity and spread."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gang_scheduler.model.affinity.requirements import Requirement, hold
from gang_scheduler.model.nodes import IntArray

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Clause:
    """Pods with certain labels in certain namespaces.

    A pod's namespace must be named in `namespaces`, or its labels must satisfy `of_namespaces`:
    None is satisfied by no namespace, () by all.
    """

    labels: tuple[Requirement, ...]
    namespaces: frozenset[str] = frozenset()
    of_namespaces: tuple[Requirement, ...] | None = None

    def selects(self, namespace: str, labels: Labels, of_namespace: Labels) -> bool:
        """Return whether the clause selects a pod with `labels`, in a namespace and its labels."""
        here = namespace in self.namespaces or (
            self.of_namespaces is not None and hold(self.of_namespaces, of_namespace)
        )
        return here and hold(self.labels, labels)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PodSelector:
    """The pods that all clauses select; `staying`: without pods that are being deleted.

    The hash is kept, since selectors are keys of what is counted.
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
        """Return whether all clauses select a pod with `labels`, in a namespace and its labels."""
        if deleting and self.staying:
            return False
        return all(each.selects(namespace, labels, of_namespace) for each in self.clauses)


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """To be in one domain with selected pods: on nodes with the same value of the label `key`."""

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
    """A topology spread constraint; one that is not `hard` is a preference.

    `honours_affinity` and `honours_taints` decide which nodes are counted at all.
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
    """All that a pod asks of other pods; `preferred` are weighted terms, negative for avoidance."""

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
        """The selectors of pods that make nodes near them feasible, or better."""
        return self.selectors - {each.selector for each in self.anti}

    @property
    def gains(self) -> bool:
        """Other pods that are placed can make nodes feasible for this pod."""
        return self.affinity is not None or any(each.hard for each in self.spread)


@dataclass(frozen=True, slots=True, eq=False)
class AffinityCounts:
    """Pods on the nodes, a row a node.

    `present` is how many pods each selector selects; `avoiding` how many have a term of required
    anti-affinity. A selector or term that is absent counts no pod.
    """

    present: Mapping[PodSelector, IntArray] = field(default_factory=dict)
    avoiding: Mapping[AffinityTerm, IntArray] = field(default_factory=dict)
