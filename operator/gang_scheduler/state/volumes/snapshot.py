"""The volumes of a snapshot: which ones can be chosen, where, and what is in use."""

from collections.abc import Mapping
from dataclasses import replace

from gang_scheduler.decode.volume_objects import PersistentVolume
from gang_scheduler.model.volumes import Attachment, Pool, Provisioning, Volume, Volumes
from gang_scheduler.state.volumes.assume_cache import AssumeCache
from gang_scheduler.state.volumes.store import VolumeStores
from gang_scheduler.state.volumes.usage import VolumeUsage


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
    """Return the volume if it is available to any claim, or kept for a claim that is not bound."""
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
