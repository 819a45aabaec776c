"""The claims, disks and attachments that pods on nodes use, kept up to date pod by pod."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from gang_scheduler.model.volumes import Attachment, DiskUse, SoleUse, Storage, Use

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
