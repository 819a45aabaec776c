"""Which claims, disks and attachments are in use, and which volumes are chosen for claims."""

from collections import Counter
from collections.abc import Iterator

from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import Disk, DiskUse, SoleUse, Storage, Use, Volumes
from gang_scheduler.scheduler.ledgers.attachments import Attachments
from gang_scheduler.scheduler.ledgers.volume_choices import VolumeChoices


class VolumeLedger:
    """The volumes of a snapshot, changed by what is assumed on it."""

    def __init__(self, volumes: Volumes, nodes: NodeTable) -> None:
        self.attachments = Attachments(volumes, nodes)
        self.choices = VolumeChoices(volumes, nodes)
        self._nodes = nodes
        self._uses: Counter[Use] = Counter(volumes.uses)

    def copy(self) -> "VolumeLedger":
        """Return another ledger of the same state."""
        other = object.__new__(VolumeLedger)
        other.attachments, other.choices = self.attachments.copy(), self.choices.copy()
        other._nodes, other._uses = self._nodes, self._uses.copy()
        return other

    def in_use(self, claim: str) -> bool:
        """Return whether a pod uses a ReadWriteOncePod claim."""
        return self._uses[SoleUse(claim)] > 0

    def disks(self) -> Iterator[tuple[int, Disk]]:
        """Yield the disks that pods name themselves, with the rows of these pods."""
        for use, pods in self._uses.items():
            if isinstance(use, DiskUse) and pods > 0 and use.node in self._nodes.rows:
                yield self._nodes.rows[use.node], use.disk

    def apply(self, pod_class: PodClass, rows: IntArray, counts: IntArray) -> None:
        """Count so many pods of a class on these rows; negative counts take back."""
        storage = pod_class.storage
        if storage is None:
            return
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            self._use(storage, row, count)
        if storage.needs:
            self.choices.apply(storage.needs, rows, counts)

    def _use(self, storage: Storage, row: int, count: int) -> None:
        node = self._nodes.nodes[row].name
        for claim in storage.sole:
            self._uses[SoleUse(claim)] += count
        for disk in storage.disks:
            self._uses[DiskUse(node, disk)] += count
        if storage.attached:
            self.attachments.apply(storage.attached, row, count)
