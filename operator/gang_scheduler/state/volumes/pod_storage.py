"""What the volumes of a pod ask for, from its claims as they are now.

Rules of kube-scheduler's volume plugins, in their order and words. Values that only distinguish
pods are left out, so that members that ask the same are of one class: the name of a claim is there
only if other pods use the claim, too.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from gang_scheduler.decode.volume_objects import Claim, PersistentVolume, StorageClass
from gang_scheduler.model.affinity.requirements import NodeTerm
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.volumes import PRIVATE, Need, PodVolume, Storage

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
    """Return what a pod's volumes ask for; None for nothing. For a bound pod, what they use."""
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
    """Return a sort key: the smallest first; of one size, claims with a selector first."""
    return need.size, not need.selector, repr(need), claim.key


def handles_of(pod: Pod, known: Known) -> list[tuple[str, str]]:
    """Return the drivers and real handles of a pod's volumes that count."""
    found = (_csi(claim, known) for claim, _ in _used(pod, known))
    return [(driver, handle) for driver, handle in found if known.counted(driver)]


def claim_keys(pod: Pod) -> list[str]:
    """Return `namespace/name` of all claims that a pod names."""
    return [f"{pod.namespace}/{each.claim}" for each in pod.volumes if each.claim]


def _used(pod: Pod, known: Known) -> list[_Used]:
    """Return the claims of a pod that exist, each once."""
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
    """Yield the driver and the handle of each volume that counts."""
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
