"""Queues: the quota that each is promised, the most it may hold, and the charges on it.

A tree of queues is made of the objects of one product: ours, Kueue's or Volcano's. Only a leaf
takes gangs. Amounts are integers as everywhere (milli-CPU, bytes, units), for each pair of a
flavor and a resource.
"""

import enum
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeVar

from gang_scheduler.model.api_words import (
    EvictionPolicy,
    Fairness,
    FlavorPreference,
    StopPolicy,
    Strategy,
)
from gang_scheduler.model.nodes import Taint, Toleration
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import NO_RULES, RequestRules, Requests
from gang_scheduler.model.selectors import Requirement

# How nodes are requested, as users and queues declare it.


class Retry(NamedTuple):
    """How often, and after how many seconds, a failed request is repeated.

    After the n-th failure the pause is `base_seconds` x 2^(n-1), at most `most_seconds`.
    """

    times: int = 3
    base_seconds: int = 60
    most_seconds: int = 1800

    def pause(self, attempt: int) -> int:
        """Return the pause in seconds after this attempt failed."""
        doubled = self.base_seconds << min(attempt - 1, self.most_seconds.bit_length())
        return min(doubled, self.most_seconds)


DEFAULT_RETRY: Final = Retry()


@dataclass(frozen=True, slots=True)
class ProvisioningRules:
    """How nodes are requested: the class, and its parameters.

    Only members that request one of the `managed` resources count; all members if it is empty.
    Without a `retry` the settings decide.
    """

    class_name: str
    parameters: tuple[tuple[str, str], ...] = ()
    managed: tuple[str, ...] = ()
    retry: Retry | None = None


T = TypeVar("T")


class QueueKind(enum.StrEnum):
    """The kind of object that declares a queue, as it is shown to users."""

    QUEUE = "Queue"
    CLUSTER_QUEUE = "ClusterQueue"
    COHORT = "Cohort"
    VOLCANO_QUEUE = "VolcanoQueue"


class Product(enum.StrEnum):
    """The product whose objects form a tree. Trees of two products lend nothing to each other."""

    OURS = "py-gang-scheduler"
    KUEUE = "kueue"
    VOLCANO = "volcano"


PRODUCTS: Final[Mapping[QueueKind, Product]] = {
    QueueKind.QUEUE: Product.OURS,
    QueueKind.CLUSTER_QUEUE: Product.KUEUE,
    QueueKind.COHORT: Product.KUEUE,
    QueueKind.VOLCANO_QUEUE: Product.VOLCANO,
}

DEFAULT_FAIRNESS: Final[Mapping[Product, Fairness]] = {
    Product.OURS: Fairness.FAIR_SHARE,
    Product.KUEUE: Fairness.PRIORITY,
    Product.VOLCANO: Fairness.FAIR_SHARE,
}
"""The fairness of a tree that declares none."""


class QueueRef(NamedTuple):
    """A queue by kind and name: a ClusterQueue and a Cohort may share a name."""

    kind: QueueKind
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def product(self) -> Product:
        """The product to whose tree the queue belongs."""
        return PRODUCTS[self.kind]


ROOT: Final = QueueRef(QueueKind.QUEUE, "root")
"""The root of our tree, also without an object."""
VOLCANO_ROOT: Final = QueueRef(QueueKind.VOLCANO_QUEUE, "root")
NONE: Final = QueueRef(QueueKind.QUEUE, "none")
"""The leaf of our tree for gangs that name no queue."""


class LocalQueueKey(NamedTuple):
    """The name of a LocalQueue."""

    namespace: str
    name: str


class LocalQueueWeight(NamedTuple):
    """A LocalQueue of a queue that orders gangs by the recent usage of their LocalQueues."""

    key: LocalQueueKey
    weight: Fraction = Fraction(1)


class FlavorResource(NamedTuple):
    """What a quota is for: a resource on the nodes of a flavor."""

    flavor: str
    resource: str


Charge = Mapping[FlavorResource, int]
"""Amounts that are charged, or requested, together."""

DEFAULT_FLAVOR: Final = "default"
"""The flavor of a queue of ours that names none: every node."""

GPU: Final = "gpu"
"""A resource of our queues that stands for the sum of `QueueSet.gpu_resources`.

No pod requests it by this name. Sums of requests or of capacity list it in addition to its parts.
"""


@dataclass(frozen=True, slots=True)
class Fungibility:
    """Which flavors end the search, so that later ones are not judged."""

    stop_when_borrowing: bool = True
    stop_when_evicting: bool = False
    preference: FlavorPreference = FlavorPreference.BORROWING_OVER_PREEMPTION


@dataclass(frozen=True, slots=True)
class Quota:
    """The declared quota of one flavor and resource, before the tree is known.

    `nominal` is the own quota of a leaf. For an interior queue, it is the quota it shares among its
    children, or with `total` the sum of all promises in its subtree. `implied`: it was not
    declared, and follows from other fields. Then `nominal` is used only for a leaf, and an interior
    queue has 0; for Volcano it has its guarantee, which includes the guarantees below. At most one
    of `guaranteed` and `lending_limit` (nominal quota that may be lent) is set, and at most one of
    `borrowing_limit` and `borrowing_ratio` (of nominal quota); without either, borrowing has no
    limit. `limit` caps all usage in the subtree.
    """

    nominal: int = 0
    total: bool = False
    implied: bool = False
    guaranteed: int | None = None
    lending_limit: int | None = None
    borrowing_limit: int | None = None
    borrowing_ratio: Fraction | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources of a podset that must have the same flavor; flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """Limits for a gang, however much room is free. None is no limit.

    `jobs` counts groups that hold quota at once, `gpus_per_job` all members that can exist.
    """

    jobs: int | None = None
    gpus_per_job: int | None = None
    lowest_priority: int | None = None
    highest_priority: int | None = None


@dataclass(frozen=True, slots=True)
class EvictionRules:
    """The gangs that a gang of this queue may evict, and the protection of its own gangs.

    `may_lose`: gangs from outside may evict from the queue; `may_lose_to` are the only queues
    (leaves or subtrees) whose gangs may, None: all. `fence`: gangs look for victims no higher than
    here. `min_runtime` is how long gangs run, in seconds, before they may be evicted.
    """

    within_queue: EvictionPolicy = EvictionPolicy.LOWER_PRIORITY
    reclaim: EvictionPolicy = EvictionPolicy.ANY
    while_borrowing: EvictionPolicy = EvictionPolicy.NEVER
    while_borrowing_threshold: int | None = None
    may_lose: bool = True
    may_lose_to: frozenset[str] | None = None
    fence: bool = False
    min_runtime: int = 0

    @property
    def may_evict(self) -> bool:
        """Whether a gang of the queue may evict any other."""
        return self.reaches_out or self.within_queue is not EvictionPolicy.NEVER

    @property
    def reaches_out(self) -> bool:
        """Whether a gang of the queue may evict gangs of other queues."""
        never = EvictionPolicy.NEVER
        return self.reclaim is not never or self.while_borrowing is not never


@dataclass(frozen=True, slots=True)
class Aging:
    """The bonus in priority for waiting, which changes the order of gangs.

    None: as in the settings.
    """

    per_hour: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class SavingRules:
    """The time that gangs of the queue get to save their work before an eviction, in seconds.

    `timeout` is for gangs that are asked. `grace` is the least time from the notice of a deletion
    to the end of a pod. None: use the next queue above that sets it, else the setting or the pod.
    """

    timeout: int | None = None
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class ReservationRules:
    """Whether long-waiting gangs of a queue get a reservation, and after how many seconds.

    None: as in the settings.
    """

    enabled: bool = True
    after_seconds: int | None = None


@dataclass(frozen=True, eq=False)
class Queue:
    """A queue as its object declares it: values are valid, relations are not checked yet.

    `parent` is None for the root of a tree. `resource_groups` are empty for an interior queue and
    for a queue without quota for any resource. `namespaces` are the requirements on the labels of a
    namespace that may use the queue, None: none may. `order` is Volcano's priority among siblings.
    `default_quota` applies to resources that `quotas` does not name; None: they can only be
    borrowed through a Cohort or a Volcano queue. `lenders` are the queues (leaves or subtrees) that
    the queue may borrow from, None: any. `by_local_usage`: gangs of the LocalQueue with the least
    recent usage come first. `checks` are the names of its admission checks, with any controller,
    and `flavor_checks` the ones that apply only to gangs on a flavor. `provisioning` is how nodes
    of each flavor are requested; "" stands for all flavors that it does not name. `problem` is a
    fault in the object itself; such a queue is inactive, and so are the queues below it.
    """

    ref: QueueRef
    uid: str = ""
    created_at: float = 0
    parent: QueueRef | None = None
    weight: Fraction = Fraction(1)
    order: int = 0
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    default_quota: Quota | None = None
    resource_groups: tuple[ResourceGroup, ...] = ()
    strategy: Strategy = Strategy.BEST_EFFORT_FIFO
    stop: StopPolicy = StopPolicy.NONE
    namespaces: tuple[Requirement, ...] | None = ()
    fairness: Fairness | None = None
    lenders: frozenset[str] | None = None
    limits: AdmissionLimits = AdmissionLimits()
    fungibility: Fungibility = Fungibility()
    evictions: EvictionRules = EvictionRules()
    aging: Aging = Aging()
    reservations: ReservationRules = ReservationRules()
    saving: SavingRules = SavingRules()
    checks: tuple[str, ...] = ()
    flavor_checks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provisioning: Mapping[str, ProvisioningRules] = field(default_factory=dict)
    by_local_usage: bool = False
    problem: Problem | None = None


@dataclass(frozen=True, eq=False)
class Flavor:
    """A set of nodes, chosen by labels.

    A pod needs tolerations of its own for tainted nodes, or `tolerations`, which are added to pods
    that may be edited. `topology` names the tree of the nodes.
    """

    product: Product
    name: str
    node_labels: tuple[tuple[str, str], ...] = ()
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""


@dataclass(frozen=True, eq=False)
class QueueSet:
    """All declared queues and flavors: the same object as long as none changes.

    `flavors` are, for each product, the flavors that its queues may name. `fairness` is the default
    for the trees of each product. A product that is not `enforced` has a controller of its own that
    decides quota: its queues are charged and shown, but refuse nothing. `gpu_resources` add up to
    `GPU`. Values derived from the set, and the charges by `request_rules`, are stored in it.
    """

    queues: tuple[Queue, ...] = ()
    flavors: tuple[Flavor, ...] = ()
    fairness: Mapping[Product, Fairness] = field(default_factory=dict)
    enforced: frozenset[Product] = frozenset(Product)
    gpu_resources: tuple[str, ...] = ("nvidia.com/gpu", "amd.com/gpu")
    request_rules: RequestRules = NO_RULES
    _cache: dict[str, tuple[tuple[object, ...], Any]] = field(
        default_factory=dict, init=False, repr=False
    )
    _charged: dict[Requests, Mapping[str, int]] = field(
        default_factory=dict, init=False, repr=False
    )

    def charged(self, requests: Requests) -> Mapping[str, int]:
        """Return the charge for requests, by resource, computed once; without zeros.

        `GPU` is the sum of the charges of `gpu_resources`.
        """
        known = self._charged.get(requests)
        if known is None:
            known = self._charged[requests] = self._sum_charges(requests)
        return known

    def _sum_charges(self, requests: Requests) -> Mapping[str, int]:
        charged = self.request_rules.charged(requests)
        gpus = sum(charged.get(each, 0) for each in {GPU, *self.gpu_resources})
        return {**charged, GPU: gpus} if gpus else charged

    def cached(self, name: str, basis: tuple[object, ...], compute: Callable[[], T]) -> T:
        """Return the result of `compute`, cached until `basis` consists of other objects."""
        known = self._cache.get(name)
        if known is None or not all(map(operator.is_, known[0], basis)):
            known = self._cache[name] = (basis, compute())
        found: T = known[1]
        return found


@dataclass(frozen=True, slots=True)
class RecentUsage:
    """The decaying average of the usage of a queue, by resource, at a time in seconds."""

    at: int
    amounts: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class QueueUsage:
    """The charges of leaves, and the requests of their waiting gangs.

    `charged` counts pods on nodes that have not ended, and nominated pods. `asked` are waiting
    requests, in the first flavor that the queue has for a resource. `running` is the number of
    groups that hold quota. `recent` is the decaying average of usage, by resource; None if only
    current charges count. `local_charged` and `local_recent` are the same for LocalQueues, in
    queues whose order depends on LocalQueues.
    """

    charged: Mapping[QueueRef, Charge] = field(default_factory=dict)
    asked: Mapping[QueueRef, Charge] = field(default_factory=dict)
    running: Mapping[QueueRef, int] = field(default_factory=dict)
    recent: Mapping[QueueRef, Mapping[str, int]] | None = None
    local_charged: Mapping[LocalQueueKey, Charge] = field(default_factory=dict)
    local_recent: Mapping[LocalQueueKey, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class QueueState:
    """Facts about queues that a cycle needs: declarations and charges."""

    declared: QueueSet
    usage: QueueUsage


class Amounts(NamedTuple):
    """The figures of a queue for one flavor and resource, for display.

    `nominal` is the total promised in the subtree, `used` the total charged to its leaves.
    `fair_share` is the exact share that the queue should have, by demand and quotas.
    """

    nominal: int = 0
    used: int = 0
    borrowed: int = 0
    lent: int = 0
    fair_share: int | Fraction = 0


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """A queue as users see it. `problem` is why it is inactive.

    `share` is the number by which the tree compares queues, None if infinite. `pending` are the
    gangs that wait in a leaf, in the order of turns. `starving`: one of them has waited long for
    quota that the queue was promised. `oversubscribed` has the promises to the queues below, and
    the smaller amount that this queue has for them.
    """

    queue: Queue
    amounts: Mapping[FlavorResource, Amounts]
    share: Fraction | None = Fraction(0)
    problem: Problem | None = None
    oversubscribed: Mapping[FlavorResource, tuple[int, int]] = field(default_factory=dict)
    running: int = 0
    pending: tuple[GangKey, ...] = ()
    starving: bool = False
