"""What suspended workloads make that have no pods themselves, and whose pods are of which of them.

A TrainJob has a JobSet also while it waits, and only that says what its members are. The RayCluster
of a RayJob is made when that is started, and its name is not known before.
"""

from collections.abc import Iterator
from dataclasses import replace

from gang_scheduler.decode.gangs.pod_groups import GangObject
from gang_scheduler.decode.gangs.specs import MadePart, Managed, Planned, VirtualGang
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.workloads import table


class Parts:
    """The parts by their uid, and the workloads that made them by theirs, whichever came first."""

    def __init__(self) -> None:
        self._parts: dict[str, MadePart] = {}
        self._of_maker: dict[str, set[str]] = {}
        self._by_gang: dict[GangKey, str] = {}
        self._makers: dict[str, GangObject] = {}
        self._has_resumed = False

    def upsert(self, described: GangObject) -> Iterator[GangObject]:
        """Take in what an object says; yield all objects that say something else with it."""
        self._forget_part(described.uid)
        part = described.part
        if part is not None:
            known = part._replace(expanded=None) if self._has_resumed else part
            self._parts[described.uid] = known
            self._of_maker.setdefault(part.maker, set()).add(described.uid)
            self._by_gang.update(dict.fromkeys(part.keys, part.maker))
        self._makers.pop(described.uid, None)
        if described.suspended is not None or described.managed is not None:
            self._makers[described.uid] = described
        yield self._completed(described)
        maker = self._makers.get(part.maker) if part is not None else None
        if maker is not None:
            yield self._completed(maker)

    def delete(self, uid: str) -> GangObject | None:
        """Forget an object; return its maker, if that says something else without it."""
        self._makers.pop(uid, None)
        part = self._forget_part(uid)
        maker = self._makers.get(part.maker) if part is not None else None
        return None if maker is None else self._completed(maker)

    def maker_of(self, key: GangKey) -> str:
        """Return the uid of the workload that made that of which a gang is; "" if none did."""
        return self._by_gang.get(key, "")

    def gangs_of(self, maker: str) -> set[GangKey]:
        """Return the gangs of all that a workload has made."""
        return {key for part in self._of(maker) for key in part.keys}

    def planned_of(self, managed: Managed) -> Planned | None:
        """Return where all members of a workload were to go; None where their number is another.

        Where its parts say what the members are, they are asked.
        """
        planned = managed.planned
        if planned is None or planned.gangs:
            return planned
        parts = self._own(managed.workload)
        gangs = tuple(gang for part in parts for gang in _all(part))
        number = sum(len(each.pods) for each in gangs)
        return planned._replace(gangs=gangs) if number == len(planned.nodes) else None

    def has_resumed(self) -> None:
        """Note that what was planned earlier is asked for no more."""
        self._has_resumed = True
        self._parts = {uid: part._replace(expanded=None) for uid, part in self._parts.items()}

    def _own(self, workload: ManagedWorkload) -> list[MadePart]:
        """Return the objects that a workload owns; one of another namespace only claims that."""
        return [part for part in self._of(workload.uid) if part.namespace == workload.namespace]

    def _of(self, maker: str) -> list[MadePart]:
        return [self._parts[uid] for uid in sorted(self._of_maker.get(maker, ()))]

    def _forget_part(self, uid: str) -> MadePart | None:
        part = self._parts.pop(uid, None)
        if part is not None:
            self._of_maker[part.maker].discard(uid)
            if not self._of_maker[part.maker]:
                del self._of_maker[part.maker]
            for key in part.keys:
                self._by_gang.pop(key, None)
        return part

    def _completed(self, described: GangObject) -> GangObject:
        """Return the description of a workload, with its members as its parts describe them."""
        said, managed = described.suspended, described.managed
        known = said or managed
        parts = [] if known is None else self._own(known.workload)
        if said is not None and not said.gangs:
            gangs = tuple(gang for part in parts for gang in part.gangs)
            names = (*said.names, *(name for part in parts for name in part.names))
            said = replace(said, gangs=gangs, names=tuple(dict.fromkeys(names)))
        if managed is not None:
            keys = (*managed.gangs, *(key for part in parts for key in part.keys))
            managed = managed._replace(gangs=tuple(dict.fromkeys(keys)))
        return replace(described, suspended=said, managed=managed)


def _all(part: MadePart) -> tuple[VirtualGang, ...]:
    """Return the members of a part, whether it waits or runs."""
    return part.gangs if part.gangs or part.expanded is None else part.expanded()


def label_key(pod: Pod) -> GangKey | None:
    """Return the key of the workload that the labels of a pod name; None without one."""
    found = ((kind, pod.labels.get(label)) for label, kind in table.OWNED_BY_LABEL.items())
    return next((GangKey(kind, pod.namespace, name) for kind, name in found if name), None)
