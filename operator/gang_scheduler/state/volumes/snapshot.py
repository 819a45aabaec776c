"""What a snapshot has to know of volumes: what can be promised, where, and what is in use."""

from collections.abc import Mapping
from dataclasses import replace

from gang_scheduler.decode.volume_objects import PersistentVolume
from gang_scheduler.model.volumes import Attachment, Pool, Provisioning, Volume, Volumes
from gang_scheduler.state.volumes.assume_cache import ClaimPromises
from gang_scheduler.state.volumes.store import VolumeShelves
from gang_scheduler.state.volumes.usage import VolumeUses


def of(shelves: VolumeShelves, promises: ClaimPromises, uses: VolumeUses) -> Volumes:
    """Return the state. Linear in volumes, drivers on nodes and attachments."""
    return Volumes(
        available=_available(shelves, promises),
        provisioning=_provisioning(shelves),
        uses=uses.counts(),
        lingering=_lingering(shelves, uses),
        limits=_limits(shelves),
        installed=_installed(shelves),
    )


def _available(shelves: VolumeShelves, promises: ClaimPromises) -> Mapping[str, tuple[Volume, ...]]:
    found: dict[str, list[Volume]] = {}
    for each in shelves.volumes:
        volume = _offered(each, shelves, promises)
        if volume is not None:
            found.setdefault(volume.storage_class, []).append(volume)
    return {
        name: tuple(sorted(volumes, key=lambda each: (each.size, each.name)))
        for name, volumes in found.items()
    }


def _offered(
    found: PersistentVolume, shelves: VolumeShelves, promises: ClaimPromises
) -> Volume | None:
    """Return the volume as it is offered: to anybody, or to the claim that it is kept for."""
    if found.deleting:
        return None
    owner = found.claim.key if found.claim is not None else promises.claim_of(found.key)
    if not owner:
        return found.volume if found.available else None
    claim = shelves.claims.get(owner)
    return None if claim is None or claim.bound else replace(found.volume, kept=True)


def _provisioning(shelves: VolumeShelves) -> Mapping[str, Provisioning]:
    pools: dict[str, set[Pool]] = {}
    for each in shelves.capacities:
        if each.pool is not None:
            pools.setdefault(each.storage_class, set()).add(each.pool)
    found = {}
    for made_by in shelves.classes:
        driver = shelves.drivers.get(made_by.provisioner)
        tells = driver is not None and driver.tells_capacity
        known = tuple(sorted(pools.get(made_by.key, ()), key=repr)) if tells else None
        if made_by.makes_volumes:
            found[made_by.key] = Provisioning(made_by.nodes, known)
    return found


def _lingering(shelves: VolumeShelves, uses: VolumeUses) -> frozenset[Attachment]:
    """Return the attachments of volumes that no pod on the node uses."""
    found = set()
    for each in shelves.attachments:
        volume = shelves.volumes.get(each.volume)
        if volume is None or volume.csi is None or not shelves.counted(each.driver):
            continue
        handle = volume.csi[1]
        if not uses.has((each.node, each.driver, handle)):
            found.add(Attachment(each.node, each.driver, handle))
    return frozenset(found)


def _limits(shelves: VolumeShelves) -> Mapping[str, Mapping[str, int]]:
    limits: dict[str, dict[str, int]] = {}
    for node in shelves.nodes:
        for driver, limit in node.drivers:
            if limit is not None:
                limits.setdefault(driver, {})[node.key] = limit
    return limits


def _installed(shelves: VolumeShelves) -> Mapping[str, frozenset[str]]:
    nodes: dict[str, set[str]] = {each.key: set() for each in shelves.drivers if each.required}
    for node in shelves.nodes:
        for driver, _ in node.drivers:
            if driver in nodes:
                nodes[driver].add(node.key)
    return {driver: frozenset(names) for driver, names in nodes.items()}
