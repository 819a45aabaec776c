"""Started workloads, and the workload to which a gang or a pod belongs.

A user with the right to create pods can write the uid of any owner into one. So a pod does not
belong to a workload in another namespace, even if it names it.
"""

from collections.abc import Iterable, Iterator

from gang_scheduler.decode.gangs.specs import Managed
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.suspended.owned_workloads import OwnedWorkloads, label_key


class StartedWorkloads:
    """Started workloads by uid; and the uids of all workloads, by the gangs that they name."""

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
