"""The volumes of a snapshot: where each can be used, which are in use, and the needs of pods."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from gang_scheduler.decode.volumes import Claim, PersistentVolume, StorageClass
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import NodeTerm
from gang_scheduler.model.volumes import (
    PRIVATE,
    Attachment,
    DiskUse,
    Need,
    PodVolume,
    Pool,
    Provisioning,
    SoleUse,
    Storage,
    Use,
    Volume,
    Volumes,
)
from gang_scheduler.state.volumes.claims import AssumeCache
from gang_scheduler.state.volumes.store import VolumeStores

# The storage that a pod needs, from the present state of its claims. The rules are those of
# kube-scheduler's volume plugins, in their order and words. Values that differ between otherwise
# equal pods are left out, so that such members are of one class: the name of a claim is included
# only if other pods use the claim, too.

NOTHING = Storage()
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class Known:
    """Look-ups of objects by key, and of facts about them.

    `shared`: whether several pods use a claim. `same_handle`: whether several volumes have a
    handle. `counted`: whether a driver's volumes are counted. `volume_of` and `selected` return the
    volume and the node of a claim.
    """

    claim: Callable[[str], Claim | None]
    volume: Callable[[str], PersistentVolume | None]
    storage_class: Callable[[str], StorageClass | None]
    shared: Callable[[str], bool]
    same_handle: Callable[[tuple[str, str]], bool]
    counted: Callable[[str], bool]
    volume_of: Callable[[Claim], str]
    selected: Callable[[Claim], str]


class _Used(NamedTuple):
    """A claim that a pod uses, and the pod's volume that names it."""

    claim: Claim
    source: PodVolume


def storage_of(pod: Pod, known: Known) -> Storage | None:
    """Return the storage that a pod's volumes need, or use if it is bound; None without any."""
    used = _used(pod, known)
    found = Storage(
        sole=tuple(sorted(each.claim.key for each in used if _is_contested(each, known))),
        disks=tuple(each.disk for each in pod.volumes if each.disk is not None),
        attached=tuple(sorted(_attached(used, known))),
    )
    if not pod.node or pod.assumed:
        found = _of_waiting(pod, used, found, known)
    return None if found == NOTHING else found


def needs_of(pod: Pod, known: Known) -> list[tuple[Need, Claim]]:
    """Return the unbound WaitForFirstConsumer claims of a pod, in the order of its needs."""
    unbound = (each.claim for each in _used(pod, known) if _waits(each.claim, known))
    needs = [(_need(claim, known), claim) for claim in unbound]
    return sorted(needs, key=lambda each: _order(*each))


def _order(need: Need, claim: Claim) -> tuple[int, bool, str, str]:
    """Return a sort key: the smallest first; for equal sizes, claims with a selector first."""
    return need.size, not need.selector, repr(need), claim.key


def handles_of(pod: Pod, known: Known) -> list[tuple[str, str]]:
    """Return the drivers and real handles of a pod's volumes that count towards limits."""
    found = (_csi(claim, known) for claim, _ in _used(pod, known))
    return [(driver, handle) for driver, handle in found if known.counted(driver)]


def claim_keys(pod: Pod) -> list[str]:
    """Return `namespace/name` of all claims that a pod names."""
    return [f"{pod.namespace}/{each.claim}" for each in pod.volumes if each.claim]


def _used(pod: Pod, known: Known) -> list[_Used]:
    """Return the existing claims of a pod, each once."""
    used: dict[str, _Used] = {}
    for each in pod.volumes:
        claim = known.claim(f"{pod.namespace}/{each.claim}") if each.claim else None
        if claim is not None:
            used.setdefault(claim.key, _Used(claim, each))
    return list(used.values())


def _of_waiting(pod: Pod, used: list[_Used], found: Storage, known: Known) -> Storage:
    problem = next(_problems(pod, known), "") or _unready(used, known)
    if problem:
        return replace(found, problem=problem)
    volumes = [(each, known.volume(each.claim.volume)) for each in used if each.claim.bound]
    return replace(
        found,
        affinities=tuple(_affinities(volume for _, volume in volumes)),
        zones=tuple(sorted(_zones(volumes))),
        needs=tuple(need for need, _ in needs_of(pod, known)),
    )


def _problems(pod: Pod, known: Known) -> Iterator[str]:
    """Yield the problems of claims, in the order of the pod's volumes."""
    for each in pod.volumes:
        if not each.claim:
            continue
        claim = known.claim(f"{pod.namespace}/{each.claim}")
        if claim is None:
            waiting = "waiting for ephemeral volume controller to create the "
            quoted = f'persistentvolumeclaim "{each.claim}"'
            yield f"{waiting}{quoted}" if each.ephemeral else f"{quoted} not found"
        elif claim.lost:
            lost = f'persistentvolumeclaim "{each.claim}" bound to non-existent persistentvolume '
            yield f'{lost}"{claim.volume}"'
        elif claim.deleting:
            yield f'persistentvolumeclaim "{each.claim}" is being deleted'
        elif each.ephemeral and claim.owner != pod.uid:
            yield f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def _unready(used: list[_Used], known: Known) -> str:
    """Return the problem of claims that should be bound, or of their volumes; "" for none."""
    if any(not each.claim.bound and not _waits(each.claim, known) for each in used):
        return UNBOUND
    for claim, source in used:
        if claim.bound and known.volume(claim.volume) is None:
            if source.ephemeral:
                return "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            return f'persistentvolume "{claim.volume}" not found'
    return ""


def _waits(claim: Claim, known: Known) -> bool:
    """Return whether a claim has no volume, and its class is WaitForFirstConsumer."""
    made_by = known.storage_class(claim.need.storage_class)
    return not claim.volume and made_by is not None and made_by.waits


def _need(claim: Claim, known: Known) -> Need:
    return replace(
        claim.need,
        claim=claim.key if known.shared(claim.key) else "",
        volume=known.volume_of(claim),
        node=known.selected(claim),
    )


def _is_contested(used: _Used, known: Known) -> bool:
    return used.claim.sole and not used.source.ephemeral and known.shared(used.claim.key)


def _affinities(volumes: Iterable[PersistentVolume | None]) -> list[tuple[NodeTerm, ...]]:
    found = {each.volume.nodes for each in volumes if each is not None}
    return sorted((nodes for nodes in found if nodes is not None), key=repr)


def _zones(
    volumes: Iterable[tuple[_Used, PersistentVolume | None]],
) -> set[tuple[str, tuple[str, ...]]]:
    # kube-scheduler's VolumeZone does not look at generic ephemeral volumes.
    here = (volume for used, volume in volumes if volume and not used.source.ephemeral)
    return {zone for volume in here for zone in volume.zones}


def _attached(used: Iterable[_Used], known: Known) -> Iterator[tuple[str, str]]:
    """Yield the driver and the handle of each volume that counts towards limits."""
    for claim, _ in used:
        driver, handle = _csi(claim, known)
        if driver and known.counted(driver):
            shared = known.shared(claim.key) or known.same_handle((driver, handle))
            yield driver, handle if shared else PRIVATE


def _csi(claim: Claim, known: Known) -> tuple[str, str]:
    """Return the driver and handle of a claim; without a volume, by its StorageClass."""
    volume = known.volume(claim.volume) if claim.volume else None
    if volume is not None:
        return volume.csi or ("", "")
    made_by = known.storage_class(claim.need.storage_class)
    return (made_by.provisioner, f"claim {claim.key}") if made_by is not None else ("", "")


# The claims, disks and attachments that pods on nodes use, kept up to date pod by pod.

Handle = tuple[str, str, str]
"""A node, a driver and a handle."""
K = TypeVar("K", bound=Hashable)


class VolumeUsage:
    """The uses of all pods on nodes, of any scheduler."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[Use, ...]] = {}
        self._handles_of: dict[str, tuple[Handle, ...]] = {}
        self._uses: Counter[Use] = Counter()
        self._handles: Counter[Handle] = Counter()

    def add(self, uid: str, node: str, storage: Storage | None, handles: Iterable[Handle]) -> None:
        """Count a pod on a node, with the real handles of its volumes; node "" is no node."""
        self.remove(uid)
        if node and storage is not None:
            self._of[uid] = tuple(_uses(node, storage))
            self._handles_of[uid] = tuple(handles)
            self._uses.update(self._of[uid])
            self._handles.update(self._handles_of[uid])

    def remove(self, uid: str) -> None:
        """Stop counting a pod."""
        _subtract(self._uses, self._of.pop(uid, ()))
        _subtract(self._handles, self._handles_of.pop(uid, ()))

    def counts(self) -> Mapping[Use, int]:
        """Return how many pods have each use, as a copy."""
        return dict(self._uses)

    def has(self, handle: Handle) -> bool:
        """Return whether a pod on the node uses a volume of this handle."""
        return handle in self._handles


def _subtract(counts: Counter[K], those: Iterable[K]) -> None:
    for each in those:
        counts[each] -= 1
        if not counts[each]:
            del counts[each]


def _uses(node: str, storage: Storage) -> Iterator[Use]:
    yield from (SoleUse(claim) for claim in storage.sole)
    yield from (DiskUse(node, disk) for disk in storage.disks)
    yield from (Attachment(node, driver, handle) for driver, handle in storage.attached)


def snapshot_of(stores: VolumeStores, assumed: AssumeCache, usage: VolumeUsage) -> Volumes:
    """Return the volumes. Linear in volumes, drivers on nodes and attachments."""
    return Volumes(
        available=_available(stores, assumed),
        provisioning=_provisioning(stores),
        uses=usage.counts(),
        lingering=_lingering(stores, usage),
        limits=_limits(stores),
        installed=_installed(stores),
    )


def _available(stores: VolumeStores, assumed: AssumeCache) -> Mapping[str, tuple[Volume, ...]]:
    found: dict[str, list[Volume]] = {}
    for each in stores.volumes:
        volume = _offered(each, stores, assumed)
        if volume is not None:
            found.setdefault(volume.storage_class, []).append(volume)
    return {
        name: tuple(sorted(volumes, key=lambda each: (each.size, each.name)))
        for name, volumes in found.items()
    }


def _offered(found: PersistentVolume, stores: VolumeStores, assumed: AssumeCache) -> Volume | None:
    """Return the volume if it is available to any claim, or reserved for an unbound claim."""
    if found.deleting:
        return None
    owner = found.claim.key if found.claim is not None else assumed.claim_of(found.key)
    if not owner:
        return found.volume if found.available else None
    claim = stores.claims.get(owner)
    return None if claim is None or claim.bound else replace(found.volume, for_claim=True)


def _provisioning(stores: VolumeStores) -> Mapping[str, Provisioning]:
    pools: dict[str, set[Pool]] = {}
    for each in stores.capacities:
        if each.pool is not None:
            pools.setdefault(each.storage_class, set()).add(each.pool)
    found = {}
    for made_by in stores.classes:
        driver = stores.drivers.get(made_by.provisioner)
        tells = driver is not None and driver.tells_capacity
        known = tuple(sorted(pools.get(made_by.key, ()), key=repr)) if tells else None
        if made_by.makes_volumes:
            found[made_by.key] = Provisioning(made_by.nodes, known)
    return found


def _lingering(stores: VolumeStores, usage: VolumeUsage) -> frozenset[Attachment]:
    """Return the attachments of volumes that no pod on the node uses."""
    found = set()
    for each in stores.attachments:
        volume = stores.volumes.get(each.volume)
        if volume is None or volume.csi is None or not stores.counted(each.driver):
            continue
        handle = volume.csi[1]
        if not usage.has((each.node, each.driver, handle)):
            found.add(Attachment(each.node, each.driver, handle))
    return frozenset(found)


def _limits(stores: VolumeStores) -> Mapping[str, Mapping[str, int]]:
    limits: dict[str, dict[str, int]] = {}
    for node in stores.nodes:
        for driver, limit in node.drivers:
            if limit is not None:
                limits.setdefault(driver, {})[node.key] = limit
    return limits


def _installed(stores: VolumeStores) -> Mapping[str, frozenset[str]]:
    nodes: dict[str, set[str]] = {each.key: set() for each in stores.drivers if each.required}
    for node in stores.nodes:
        for driver, _ in node.drivers:
            if driver in nodes:
                nodes[driver].add(node.key)
    return {driver: frozenset(names) for driver, names in nodes.items()}
