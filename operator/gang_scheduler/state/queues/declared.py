"""Queues and flavors of all products, and the present set of them.

Plain synchronous code, a part of the cache. Lazy: the set is made when it is first needed, and kept
until an object changes.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Generic, TypeVar

from gang_scheduler.decode.events import HasUid
from gang_scheduler.decode.queues import ours
from gang_scheduler.decode.queues.declared import (
    AdmissionCheck,
    DeclaredFlavor,
    DeclaredQueue,
    LocalQueue,
    ProvisioningRequestConfig,
    WorkloadPriorityClass,
)
from gang_scheduler.decode.queues.kueue import PROVISIONING
from gang_scheduler.model.api_words import QueueNamespaces, QuotaOf, TransformationStrategy
from gang_scheduler.model.queues import (
    DEFAULT_FAIRNESS,
    Flavor,
    LocalQueueKey,
    Product,
    ProvisioningRules,
    Queue,
    QueueKind,
    QueueRef,
    QueueSet,
    RecentUsage,
    SavingRules,
)
from gang_scheduler.model.resources import (
    DEVICE_CLASS,
    RequestRules,
    Transformation,
    amount_of,
    of_sources,
    parse_quantity,
)
from gang_scheduler.model.rules import NO_SETTINGS, QueueRules


class DeclaredQueues:
    """All objects that declare queues and flavors.

    `declared` are the queues by uid, even invalid ones; `rules` are not changed.
    """

    def __init__(self, rules: QueueRules = NO_SETTINGS.queues) -> None:
        self.declared: dict[str, DeclaredQueue] = {}
        self.rules = rules
        self._uids: dict[QueueRef, str] = {}
        self._flavors: dict[str, DeclaredFlavor] = {}
        self.requests = _request_rules(rules)
        """The rules by which requests are charged to quotas."""
        quotas = {Product.KUEUE: rules.kueue, Product.VOLCANO: rules.volcano}
        self.watched = frozenset(each for each in quotas if quotas[each] is QuotaOf.AUTO)
        """The products whose quotas are enforced unless their own controller runs."""
        self._unenforced = frozenset(each for each in quotas if quotas[each] is QuotaOf.IGNORE)
        self._served = frozenset({Product.OURS})
        self._set: QueueSet | None = None
        self.provisioned: Callable[[], Mapping[str, ProvisioningRules]] = dict
        """The admission checks that this scheduler answers by requesting nodes, and how."""

    def outdated(self) -> None:
        """Note that objects that queues refer to have changed: the set of queues is made again."""
        self._set = None

    def queue_set(self) -> QueueSet | None:
        """Return the declared queues: the same object until one changes; None without queues."""
        if self._set is None and self.declared:
            self._set = self._made()
        return self._set

    def has(self, product: Product) -> bool:
        """Return whether any queue of a product is declared."""
        return any(each.queue.ref.product is product for each in self.declared.values())

    @property
    def enforced(self) -> frozenset[Product]:
        """The products whose quotas this scheduler enforces, as far as is known."""
        return frozenset(Product) - self._unenforced

    @property
    def served(self) -> frozenset[Product]:
        """The products that may have queues: this one, and products whose CRDs are installed."""
        return self._served

    def recent(self) -> dict[QueueRef, RecentUsage]:
        """Return the recent usage of queues, as last written to their objects."""
        found = self.declared.values()
        return {each.queue.ref: each.recent for each in found if each.recent is not None}

    def editions(self, ref: QueueRef) -> Iterator[tuple[str, int]]:
        """Yield the uid and the generation of a queue and of its ancestors, if declared."""
        return ((each.uid, each.generation) for each in self._upwards(ref))

    def saving(self, ref: QueueRef | None) -> SavingRules:
        """Return the saving rules of a queue. Unset ones come from the nearest queue above."""
        found = [each.queue.saving for each in self._upwards(ref)] if ref is not None else []
        return SavingRules(
            timeout=next((each.timeout for each in found if each.timeout is not None), None),
            grace=next((each.grace for each in found if each.grace is not None), None),
        )

    def _upwards(self, ref: QueueRef) -> Iterator[DeclaredQueue]:
        """Yield a queue and its ancestors, as far as they are declared."""
        seen: set[QueueRef] = set()
        while (declared := self.declared.get(self._uids.get(ref, ""))) and ref not in seen:
            seen.add(ref)
            yield declared
            ref = declared.queue.parent or ref

    def uids(self, kinds: Collection[QueueKind]) -> Collection[str]:
        """Return the uids of all queues of these kinds."""
        return {u for u, each in self.declared.items() if each.queue.ref.kind in kinds}

    def flavor_uids(self, product: Product) -> Collection[str]:
        """Return the uids of all flavors of a product."""
        return {u for u, each in self._flavors.items() if each.flavor.product is product}

    def upsert(self, declared: DeclaredQueue) -> bool:
        """Add or replace a queue; return whether its declaration has changed."""
        uid = self._uids.get(declared.queue.ref, declared.uid)
        if uid != declared.uid:
            # The deletion of an earlier object of this name was missed.
            self.delete(uid)
        before = self.declared.get(declared.uid)
        self.declared[declared.uid] = declared
        self._uids[declared.queue.ref] = declared.uid
        return self._changed(before is None or not _alike(before, declared))

    def delete(self, uid: str) -> bool:
        """Forget a queue; return whether it was known."""
        before = self.declared.pop(uid, None)
        if before is not None:
            self._uids.pop(before.queue.ref, None)
        return self._changed(before is not None)

    def upsert_flavor(self, declared: DeclaredFlavor) -> bool:
        """Add or replace a flavor; return whether it has changed."""
        flavor = declared.flavor
        named = [
            each
            for each in self._flavors.values()
            if (each.flavor.product, each.flavor.name) == (flavor.product, flavor.name)
        ]
        for each in named:
            del self._flavors[each.uid]
        self._flavors[declared.uid] = declared
        return self._changed(not any(_same(each.flavor, flavor) for each in named))

    def delete_flavor(self, uid: str) -> bool:
        """Forget a flavor; return whether it was known."""
        return self._changed(self._flavors.pop(uid, None) is not None)

    def enforce(self, product: Product, *, enforced: bool) -> bool:
        """Note whether this scheduler enforces a product's quotas; return whether that is new."""
        others = self._unenforced - {product}
        unenforced = others if enforced else others | {product}
        changed, self._unenforced = unenforced != self._unenforced, unenforced
        return self._changed(changed)

    def serve(self, product: Product, *, served: bool) -> bool:
        """Note whether a product may have queues; return whether that is new."""
        others = self._served - {product}
        now = others | {product} if served else others
        changed, self._served = now != self._served, now
        return changed

    def _changed(self, changed: bool) -> bool:  # noqa: FBT001 - the answer of a part.
        if changed:
            self._set = None
        return changed

    def _made(self) -> QueueSet:
        rules = self.rules
        found = sorted(self.declared.values(), key=lambda each: each.queue.ref)
        return QueueSet(
            queues=tuple(self._in_force(each) for each in found),
            flavors=tuple(_shared(each.flavor for each in self._flavors.values())),
            fairness={**DEFAULT_FAIRNESS, Product.KUEUE: rules.kueue_fairness},
            enforced=self.enforced,
            gpu_resources=rules.gpu_resources,
            request_rules=self.requests,
        )

    def _in_force(self, declared: DeclaredQueue) -> Queue:
        """Return a queue with the settings applied to it."""
        queue = declared.queue
        if not (declared.names_namespaces or self.rules.queue_namespaces is QueueNamespaces.ALL):
            queue = replace(queue, namespaces=None)
        if queue.ref.kind is QueueKind.CLUSTER_QUEUE:
            queue = _provisioned(queue, self.provisioned())
        problem = queue.problem or ours.gpus_twice(queue, self.rules.gpu_resources)
        return queue if problem is queue.problem else replace(queue, problem=problem)


def _provisioned(queue: Queue, known: Mapping[str, ProvisioningRules]) -> Queue:
    """Return a queue without the admission checks that are answered by requesting nodes."""
    if not known:
        return queue
    found: dict[str, ProvisioningRules] = {}
    for flavor, checks in {**queue.flavor_checks, "": queue.checks}.items():
        rules = next((known[each] for each in checks if each in known), None)
        if rules is not None:
            found[flavor] = rules
    return replace(
        queue,
        provisioning=found,
        checks=_others(queue.checks, known),
        flavor_checks={name: _others(some, known) for name, some in queue.flavor_checks.items()},
    )


def _others(checks: Iterable[str], known: Mapping[str, ProvisioningRules]) -> tuple[str, ...]:
    return tuple(each for each in checks if each not in known)


def _alike(one: DeclaredQueue, other: DeclaredQueue) -> bool:
    return one.names_namespaces == other.names_namespaces and _same(one.queue, other.queue)


def _same(one: Queue | Flavor, other: Queue | Flavor) -> bool:
    """Return whether all fields are equal.

    The == of these types compares identity.
    """
    return all(getattr(one, each.name) == getattr(other, each.name) for each in fields(one))


def _shared(flavors: Iterable[Flavor]) -> Iterator[Flavor]:
    """Yield for each product the flavors that its queues may name: its own come first."""
    by_product: dict[Product, Mapping[str, Flavor]] = {}
    known = sorted(flavors, key=lambda each: (each.name, each.product))
    for product in (Product.OURS, Product.KUEUE):
        others = {each.name: each for each in known if each.product is not product}
        own = {each.name: each for each in known if each.product is product}
        by_product[product] = {**others, **own}
    for product, found in by_product.items():
        for name in sorted(found):
            yield replace(found[name], product=product)


# LocalQueues, WorkloadPriorityClasses, AdmissionChecks and their configurations, each by name. All
# are dicts that change in place; a change of any is `Change.QUEUES_CHANGED`.

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=HasUid)


class ByName(Generic[K, T]):
    """The objects of one kind by name, since a new object of a name replaces the old one.

    `changed` is called when the content of one changes.
    """

    def __init__(self, key: Callable[[T], K], changed: Callable[[], None] | None = None) -> None:
        self.all: dict[K, T] = {}
        self._key = key
        self._changed = changed
        self._keys: dict[str, K] = {}

    def get(self, key: K) -> T | None:
        """Return the object of a name; None if there is none."""
        return self.all.get(key)

    def uids(self) -> Collection[str]:
        """Return the uids of all objects."""
        return self._keys.keys()

    def upsert(self, decoded: T) -> bool:
        """Add or replace an object; return whether its content has changed."""
        key = self._key(decoded)
        before = self.all.get(key)
        if before is not None:
            # The deletion of an earlier object of this name may have been missed.
            self._keys.pop(before.uid, None)
        self.all[key] = decoded
        self._keys[decoded.uid] = key
        return self._noted(changed=before != decoded)

    def delete(self, uid: str) -> bool:
        """Forget an object; return whether it was known."""
        key = self._keys.pop(uid, None)
        if key is None:
            return False
        del self.all[key]
        return self._noted(changed=True)

    def _noted(self, *, changed: bool) -> bool:
        if changed and self._changed is not None:
            self._changed()
        return changed


class KueueObjects:
    """The Kueue objects that gangs and queues refer to by name.

    `local_queues` are by namespace and name: the ClusterQueue, and whether the LocalQueue is
    stopped. `priority_classes` (WorkloadPriorityClasses, their values) and `admission_checks`
    (their controllers) are by name. `provisioning_configs` say how a check requests nodes.
    `outdated` is called when the meaning of queues may have changed.
    """

    def __init__(self, outdated: Callable[[], None]) -> None:
        self.local_queues = ByName[LocalQueueKey, LocalQueue](
            lambda each: LocalQueueKey(each.namespace, each.name)
        )
        self.priority_classes = ByName[str, WorkloadPriorityClass](lambda each: each.name)
        self.admission_checks = ByName[str, AdmissionCheck](lambda each: each.name, outdated)
        self.provisioning_configs = ByName[str, ProvisioningRequestConfig](
            lambda each: each.name, outdated
        )

    def provisioning(self) -> dict[str, ProvisioningRules]:
        """Return the checks for which nodes are requested, by name, and how."""
        found = {}
        for check in self.admission_checks.all.values():
            config = self.provisioning_configs.get(check.config)
            if check.controller == PROVISIONING and config is not None:
                found[check.name] = config.rules
        return found


def _request_rules(rules: QueueRules) -> RequestRules:
    """Return the rules by which quotas count requests."""
    transformations: dict[str, Transformation] = {}
    for mapping in rules.device_class_mappings:
        renamed = Transformation(((mapping.name, Fraction(1)),), replaces=True)
        for name in mapping.device_class_names:
            counted = f"{DEVICE_CLASS}{name}"
            if mapping.sources:
                transformations[counted] = Transformation((), replaces=True)
                transformations[of_sources(name)] = renamed
            else:
                transformations[counted] = renamed
    for each in rules.resource_transformations:
        outputs = ((name, _factor(name, factor)) for name, factor in each.outputs.items())
        replaces = each.strategy is TransformationStrategy.REPLACE
        transformations[each.input] = Transformation(
            tuple(outputs), replaces=replaces, multiply_by=each.multiply_by
        )
    return RequestRules(transformations, rules.exclude_resource_prefixes)


def _factor(resource: str, quantity: str | int) -> Fraction:
    """Return a quantity in the unit of its resource, down to a thousandth of one."""
    return Fraction(parse_quantity(quantity, 1000), 1000) * amount_of(resource, 1)
