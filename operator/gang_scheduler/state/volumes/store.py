"""Claims, volumes and other storage objects, by uid and by name, with indexes between them."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from gang_scheduler.api.kinds import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    GVR,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)
from gang_scheduler.decode.volumes import (
    Capacity,
    Claim,
    CsiDriver,
    CsiNode,
    PersistentVolume,
    StorageClass,
    VolumeAttachment,
    VolumeObject,
)


class Named(Protocol):
    """An object of any storage kind."""

    @property
    def uid(self) -> str:
        """Its uid."""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name of an object without a namespace."""


T = TypeVar("T", bound=Named)
K = TypeVar("K", bound=Hashable)


class Store(Generic[T]):
    """All objects of one kind by name: a new uid of the same name replaces the object."""

    def __init__(self) -> None:
        self._by_key: dict[str, T] = {}
        self._keys: dict[str, str] = {}

    def __iter__(self) -> Iterator[T]:
        return iter(self._by_key.values())

    @property
    def uids(self) -> Collection[str]:
        """The uids of all objects."""
        return self._keys.keys()

    def get(self, key: str) -> T | None:
        """Return the object of a name."""
        return self._by_key.get(key)

    def upsert(self, found: T) -> T | None:
        """Add or replace an object; return the earlier object of its name."""
        before = self._by_key.get(found.key)
        if before is not None:
            self._keys.pop(before.uid, None)
        self._by_key[found.key] = found
        self._keys[found.uid] = found.key
        return before

    def delete(self, uid: str) -> T | None:
        """Forget an object; return its last state."""
        key = self._keys.pop(uid, None)
        return None if key is None else self._by_key.pop(key)


class VolumeStores:
    """The stores of all storage kinds."""

    def __init__(self) -> None:
        self.claims: Store[Claim] = Store()
        self.volumes: Store[PersistentVolume] = Store()
        self.classes: Store[StorageClass] = Store()
        self.nodes: Store[CsiNode] = Store()
        self.drivers: Store[CsiDriver] = Store()
        self.capacities: Store[Capacity] = Store()
        self.attachments: Store[VolumeAttachment] = Store()
        self._kinds: Mapping[GVR, Store[Any]] = {
            PERSISTENT_VOLUME_CLAIMS: self.claims,
            PERSISTENT_VOLUMES: self.volumes,
            STORAGE_CLASSES: self.classes,
            CSI_NODES: self.nodes,
            CSI_DRIVERS: self.drivers,
            CSI_STORAGE_CAPACITIES: self.capacities,
            VOLUME_ATTACHMENTS: self.attachments,
        }
        self._by_claim: dict[str, set[str]] = {}
        self._handles: dict[tuple[str, str], set[str]] = {}
        self._counting: Counter[str] = Counter()

    def uids(self, gvr: GVR) -> Collection[str]:
        """Return the uids of all objects of a kind."""
        return self._kinds[gvr].uids

    def upsert(self, gvr: GVR, found: VolumeObject) -> VolumeObject | None:
        """Add or replace an object; return the earlier object of its name."""
        before: VolumeObject | None = self._kinds[gvr].upsert(found)
        self._moved(before, found)
        return before

    def delete(self, gvr: GVR, uid: str) -> VolumeObject | None:
        """Forget an object; return its last state."""
        before: VolumeObject | None = self._kinds[gvr].delete(uid)
        self._moved(before, None)
        return before

    def for_claim(self, claim: str) -> list[PersistentVolume]:
        """Return the volumes whose claimRef names a claim, sorted by name."""
        found = (self.volumes.get(name) for name in sorted(self._by_claim.get(claim, ())))
        return [each for each in found if each is not None]

    def of_handle(self, csi: tuple[str, str] | None) -> list[PersistentVolume]:
        """Return the volumes with the same driver and handle."""
        found = (self.volumes.get(name) for name in self._handles.get(csi or ("", ""), ()))
        return [each for each in found if each is not None]

    def counted(self, driver: str) -> bool:
        """Return whether any node limits the volumes of a driver, or may lack the driver."""
        return driver in self._counting

    @property
    def counted_drivers(self) -> frozenset[str]:
        """All drivers that any node limits or may lack."""
        return frozenset(self._counting)

    def _moved(self, before: VolumeObject | None, after: VolumeObject | None) -> None:
        for each, sign in ((before, -1), (after, 1)):
            if isinstance(each, PersistentVolume):
                _file(self._by_claim, each.claim.key if each.claim else None, each.key, sign)
                _file(self._handles, each.csi, each.key, sign)
            for driver in _counts(each):
                self._counting[driver] += sign
        self._counting = +self._counting


def _file(index: dict[K, set[str]], key: K | None, name: str, sign: int) -> None:
    if key is None:
        return
    if sign > 0:
        index.setdefault(key, set()).add(name)
        return
    index[key].discard(name)
    if not index[key]:
        del index[key]


def _counts(found: VolumeObject | None) -> list[str]:
    """Return the drivers that an object makes subject to a volume limit."""
    if isinstance(found, CsiNode):
        return [driver for driver, limit in found.drivers if limit is not None]
    return [found.key] if isinstance(found, CsiDriver) and found.required else []
