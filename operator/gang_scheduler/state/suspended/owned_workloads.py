"""Workloads created by suspended workloads, and the owner to which their pods belong.

For example, a TrainJob already has a JobSet while it waits, and only the JobSet declares the
members. The RayCluster of a RayJob is created when the RayJob is started, and its name is not known
before.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

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
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.workloads import table

MOST_OWNED: Final = 8
"""At most this many owned workloads of an owner count: a user may create a thousand."""


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
        found = [each for each in self._of(workload.uid) if each.namespace == workload.namespace]
        return found[:MOST_OWNED]

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


# Started workloads, and the workload to which a gang or a pod belongs.
#
# A user with the right to create pods can write the uid of any owner into one. So a pod does not
# belong to a workload in another namespace, even if it names it.


class StartedWorkloads:
    """Started workloads by uid, and by gang the uid of the workload that creates its pods."""

    def __init__(self, gang_queue: GangQueue, owned: OwnedWorkloads) -> None:
        self._gang_queue = gang_queue
        self._owned = owned
        self._managed: dict[str, Managed] = {}
        self._by_gang: dict[GangKey, str] = {}

    def add(self, uid: str, managed: Managed) -> None:
        """Note that a workload was started.

        Its gangs stay known even if the objects it created are gone.
        """
        before = self._managed.get(uid)
        gangs = dict.fromkeys((*(before.gangs if before is not None else ()), *managed.gangs))
        self._managed[uid] = managed._replace(gangs=tuple(gangs))
        self.name(gangs, uid)

    def remove(self, uid: str, *, is_held: bool) -> None:
        """Note that a workload is not, or no longer, ours to suspend.

        `is_held`: room is kept for its pods, which are known by their gangs.
        """
        managed = self._managed.pop(uid, None)
        if managed is not None and not is_held:
            self.unname(managed.gangs, uid)

    def take_planned(self) -> list[Managed]:
        """Return all workloads with their plans, and forget the plans."""
        found = [*self._managed.values()]
        self._managed = {uid: each._replace(planned=None) for uid, each in self._managed.items()}
        return found

    def name(self, gangs: Iterable[GangKey], uid: str) -> None:
        """Note the gangs of a workload."""
        self._by_gang.update(dict.fromkeys(gangs, uid))

    def unname(self, gangs: Iterable[GangKey], uid: str) -> None:
        """Forget the gangs that belong to this workload alone, unless it was started."""
        for key in gangs:
            if self._by_gang.get(key) == uid and uid not in self._managed:
                del self._by_gang[key]

    def named(self, key: GangKey) -> str:
        """Return the uid of the workload that named a gang; "" if none did."""
        return self._by_gang.get(key, "")

    def uid_of(self, pod: Pod) -> str:
        """Return the uid of the known workload to which a pod belongs."""
        found = self.named(pod.gang) or self._owned.owner_of(pod.gang)
        if not found and (key := label_key(pod)) is not None:
            found = self.named(key) or self._owned.owner_of(key)
        return found or pod.job_uid

    def workload_of(self, pod: Pod) -> ManagedWorkload | None:
        """Return the started workload of a pod; None if it has none."""
        if not self._managed:
            return None
        found = self._managed.get(self.uid_of(pod))
        is_own = found is not None and found.workload.namespace == pod.namespace
        return found.workload if found is not None and is_own else None

    def pods_of(self, workload: ManagedWorkload) -> Iterator[Pod]:
        """Yield the existing pods of a started workload."""
        managed = self._managed.get(workload.uid)
        return self.pods_in(workload, managed.gangs if managed is not None else ())

    def pods_in(self, workload: ManagedWorkload, gangs: Iterable[GangKey]) -> Iterator[Pod]:
        """Yield the existing pods of a workload: in these gangs, and all others that it created."""
        uid = workload.uid
        found = {*self._gang_queue.gangs_of_job(uid), *self._owned.gangs_of(uid), *gangs}
        yield from self.members_of(key for key in found if key.namespace == workload.namespace)

    def members_of(self, keys: Iterable[GangKey]) -> Iterator[Pod]:
        """Yield the existing members of gangs."""
        for key in sorted(set(keys) & self._gang_queue.infos.keys()):
            members = [*self._gang_queue.infos[key].observed.members.values()]
            yield from (pod for pod in members if not pod.virtual)
