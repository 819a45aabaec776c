"""Workloads created by suspended workloads, and the owner to which their pods belong.

For example, a TrainJob already has a JobSet while it waits, and only the JobSet declares the
members. The RayCluster of a RayJob is created when the RayJob is started, and its name is not known
before.
"""

from collections.abc import Iterator
from dataclasses import replace

from gang_scheduler.decode.gangs.specs import (
    GangObject,
    Managed,
    OwnedWorkload,
    Planned,
    VirtualGang,
)
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.workloads import table


class OwnedWorkloads:
    """Owned workloads and their owners, each by uid. Either may be seen first."""

    def __init__(self) -> None:
        self._owned: dict[str, OwnedWorkload] = {}
        self._of_owner: dict[str, set[str]] = {}
        self._by_gang: dict[GangKey, str] = {}
        self._owners: dict[str, GangObject] = {}
        self._has_resumed = False

    def upsert(self, described: GangObject) -> Iterator[GangObject]:
        """Add or replace an object; yield all objects whose content changes with it."""
        self._forget_owned(described.uid)
        owned = described.owned
        if owned is not None:
            known = owned._replace(expanded=None) if self._has_resumed else owned
            self._owned[described.uid] = known
            self._of_owner.setdefault(owned.owner, set()).add(described.uid)
            self._by_gang.update(dict.fromkeys(owned.keys, owned.owner))
        self._owners.pop(described.uid, None)
        if described.suspended is not None or described.managed is not None:
            self._owners[described.uid] = described
        yield self._completed(described)
        owner = self._owners.get(owned.owner) if owned is not None else None
        if owner is not None:
            yield self._completed(owner)

    def delete(self, uid: str) -> GangObject | None:
        """Forget an object; return its owner, if the owner's content changes."""
        self._owners.pop(uid, None)
        owned = self._forget_owned(uid)
        owner = self._owners.get(owned.owner) if owned is not None else None
        return None if owner is None else self._completed(owner)

    def owner_of(self, key: GangKey) -> str:
        """Return the uid of the owner of the workload that has a gang; "" for no owner."""
        return self._by_gang.get(key, "")

    def gangs_of(self, owner: str) -> set[GangKey]:
        """Return the gangs of all workloads of an owner."""
        return {key for each in self._of(owner) for key in each.keys}

    def planned_of(self, managed: Managed) -> Planned | None:
        """Return the planned nodes of all members of a workload; None if their number differs.

        If only the workloads that it owns declare the members, their members count.
        """
        planned = managed.planned
        if planned is None or planned.gangs:
            return planned
        gangs = tuple(gang for each in self._own(managed.workload) for gang in _members(each))
        number = sum(len(each.pods) for each in gangs)
        return planned._replace(gangs=gangs) if number == len(planned.nodes) else None

    def has_resumed(self) -> None:
        """Note that plans of an earlier process are no longer needed."""
        self._has_resumed = True
        self._owned = {uid: each._replace(expanded=None) for uid, each in self._owned.items()}

    def _own(self, workload: ManagedWorkload) -> list[OwnedWorkload]:
        # An object of another namespace can name any owner, so it does not count.
        return [each for each in self._of(workload.uid) if each.namespace == workload.namespace]

    def _of(self, owner: str) -> list[OwnedWorkload]:
        return [self._owned[uid] for uid in sorted(self._of_owner.get(owner, ()))]

    def _forget_owned(self, uid: str) -> OwnedWorkload | None:
        owned = self._owned.pop(uid, None)
        if owned is not None:
            self._of_owner[owned.owner].discard(uid)
            if not self._of_owner[owned.owner]:
                del self._of_owner[owned.owner]
            for key in owned.keys:
                self._by_gang.pop(key, None)
        return owned

    def _completed(self, described: GangObject) -> GangObject:
        """Return the description of a workload, with the members that its own workloads declare."""
        said, managed = described.suspended, described.managed
        known = said or managed
        owned = [] if known is None else self._own(known.workload)
        if said is not None and not said.gangs:
            gangs = tuple(gang for each in owned for gang in each.gangs)
            names = (*said.names, *(name for each in owned for name in each.names))
            said = replace(said, gangs=gangs, names=tuple(dict.fromkeys(names)))
        if managed is not None:
            keys = (*managed.gangs, *(key for each in owned for key in each.keys))
            managed = managed._replace(gangs=tuple(dict.fromkeys(keys)))
        return replace(described, suspended=said, managed=managed)


def _members(owned: OwnedWorkload) -> tuple[VirtualGang, ...]:
    return owned.gangs if owned.gangs or owned.expanded is None else owned.expanded()


def label_key(pod: Pod) -> GangKey | None:
    """Return the owned workload that a pod names in a label, as the gang that it would be."""
    found = ((kind, pod.labels.get(label)) for label, kind in table.OWNED_BY_LABEL.items())
    return next((GangKey(kind, pod.namespace, name) for kind, name in found if name), None)
