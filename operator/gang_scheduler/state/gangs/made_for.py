"""Which gangs have an object that a controller made for a workload of several roles."""

from collections.abc import Collection

from gang_scheduler.model.refs import GangKey


class MadeFor:
    """The gangs of PodGroups by the gang that their workload would be."""

    def __init__(self) -> None:
        self._gangs: dict[GangKey, set[GangKey]] = {}
        self._workloads: dict[GangKey, GangKey] = {}

    def upsert(self, key: GangKey, workload: GangKey | None) -> None:
        """Note for which workload the object of a gang was made; None: for none."""
        if self._workloads.get(key) == workload:
            return
        self.forget(key)
        if workload is not None:
            self._workloads[key] = workload
            self._gangs.setdefault(workload, set()).add(key)

    def forget(self, key: GangKey) -> None:
        """Forget a gang."""
        workload = self._workloads.pop(key, None)
        if workload is None:
            return
        gangs = self._gangs[workload]
        gangs.discard(key)
        if not gangs:
            del self._gangs[workload]

    def workload_of(self, key: GangKey) -> GangKey | None:
        """Return the workload that the object of a gang was made for, if it was."""
        return self._workloads.get(key)

    def of(self, workload: GangKey) -> Collection[GangKey]:
        """Return the gangs of the objects that were made for a workload."""
        return self._gangs.get(workload, ())
