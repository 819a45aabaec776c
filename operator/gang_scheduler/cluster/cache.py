"""The cluster as last seen, and as we know it will be: our own binds count at once.

Plain synchronous code. Handlers and the binder change it, the loop takes snapshots of it, and
status reads it; all on one event loop, so nothing here needs a lock.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from gang_scheduler.cluster import sources, topologies
from gang_scheduler.cluster.declarations import Declaration
from gang_scheduler.cluster.gangs import Gangs
from gang_scheduler.cluster.ports import NODES, PODS, JobPods, Resource
from gang_scheduler.cluster.room import Room
from gang_scheduler.cluster.topologies import DeclaredTopology, Topologies
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.gathering import Gathering
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology import Domain


@dataclass(frozen=True, slots=True)
class _Entry:
    """A pod and where it is counted: its gang (None for other schedulers') and its node."""

    pod: Pod
    gang: GangKey | None
    node: str


class Cache:
    """Everything that the scheduler knows. `on_change` is called when a cycle may be worth it."""

    def __init__(
        self,
        schedulers: Iterable[str],
        on_change: Callable[[], None] = lambda: None,
        timeout_seconds: int = 600,
    ) -> None:
        self.schedulers = frozenset(schedulers)
        self.room = Room()
        self.gangs = Gangs(self.schedulers, timeout_seconds)
        self.topologies = Topologies()
        self._entries: dict[str, _Entry] = {}
        self._assumed: dict[str, str] = {}
        self._on_change = on_change

    def pod_seen(self, pod: Pod) -> None:
        """Take in a pod as the API server shows it."""
        if pod.node:
            self._assumed.pop(pod.uid, None)
        elif pod.uid in self._assumed:
            # An older state than our own bind, whose echo is still on its way.
            pod = replace(pod, node=self._assumed[pod.uid], assumed=True)
        self._replace(pod.uid, pod)

    def pod_gone(self, uid: str) -> None:
        """Forget a pod whose object is gone."""
        self._assumed.pop(uid, None)
        self._replace(uid, None)

    def node_seen(self, node: Node) -> None:
        """Take in a node."""
        if self.room.node_seen(node):
            self.topologies.nodes_changed()
            self._moved(node.name)
            self._freed()

    def node_gone(self, name: str, uid: str = "") -> None:
        """Forget a node; with a uid, only if it is still this one."""
        self.room.node_gone(name, uid)
        self.topologies.nodes_changed()

    def described(self, api_group: str, uid: str, declared: Iterable[Declaration]) -> None:
        """Take in what an object says of gangs."""
        self.gangs.described(api_group, uid, declared)
        self._on_change()

    def undescribed(self, api_group: str, uid: str) -> None:
        """Forget an object that described gangs."""
        self.gangs.undescribed(api_group, uid)
        self._on_change()

    def job_seen(self, uid: str, pods: JobPods | None) -> None:
        """Note how many pods a Job can have; None forgets it."""
        self.gangs.job_seen(uid, pods)
        self._on_change()

    def topology_seen(self, declared: DeclaredTopology) -> None:
        """Take in an object that says how a tree of the network is made."""
        if self.topologies.seen(declared):
            self._trees_changed()

    def topology_gone(self, uid: str) -> None:
        """Forget an object that said how a tree is made."""
        if self.topologies.gone(uid):
            self._trees_changed()

    def assume(self, bind: Bind) -> None:
        """Count a pod on a node before the API server has confirmed it."""
        self._assumed[bind.pod.uid] = bind.node
        self._replace(bind.pod.uid, replace(bind.pod, node=bind.node, assumed=True))

    def forget(self, uid: str) -> None:
        """Take an assumed bind back: it did not happen."""
        entry = self._entries.get(uid)
        if self._assumed.pop(uid, None) is not None and entry is not None:
            self._replace(uid, replace(entry.pod, node="", assumed=False))

    def snapshot(self, now: int) -> Snapshot:
        """Return the cluster with the gangs that are worth a try. `now` is in seconds."""
        groups = self.gangs.take_due(now)
        gated = any(gang.min_resources for group in groups for gang in group.gangs)
        return Snapshot(
            taken_at=now,
            nodes=self.room.table(),
            free=self.room.free(),
            host_ports=self.room.host_ports(),
            held=self.room.held() if gated else {},
            schemes=self.topologies.schemes(),
            groups=groups,
        )

    def domain_of(self, nodes: Iterable[str], asked: Gathering | None = None) -> Domain | None:
        """Return the lowest domain of these nodes, in the tree that was asked for or the first.

        None is the whole cluster, or that no tree has them. Nothing is built before nodes change.
        """
        return self.topologies.domain_of(nodes, self.room.table(), asked)

    def pod(self, uid: str) -> Pod | None:
        """Return a pod with the node it is counted on."""
        entry = self._entries.get(uid)
        return entry.pod if entry else None

    def pods(self) -> Iterable[Pod]:
        """Return all pods."""
        return (entry.pod for entry in self._entries.values())

    def uids(self, resource: Resource) -> Collection[str]:
        """Return the uids of all known objects of a kind."""
        if resource == PODS:
            return self._entries.keys()
        if resource == NODES:
            return self.room.uids.keys()
        if resource.group in topologies.KINDS:
            return self.topologies.uids(resource.group)
        return self.gangs.objects(resource.group).keys()

    def uid_gone(self, resource: Resource, uid: str) -> None:
        """Forget an object of which only the uid is known."""
        if resource == PODS:
            self.pod_gone(uid)
        elif resource == NODES:
            self.node_gone(self.room.uids.get(uid, ""))
        elif resource.group in topologies.KINDS:
            self.topology_gone(uid)
        else:
            self.undescribed(resource.group, uid)
            self.gangs.job_seen(uid, None)

    def _replace(self, uid: str, pod: Pod | None) -> None:
        before = self._entries.get(uid)
        if pod is None:
            self._entries.pop(uid, None)
        else:
            self._entries[uid] = _Entry(pod, self._gang_of(pod), _counted_on(pod))
            if before is not None and before.pod == pod:
                return
        self._count(uid, before, self._entries.get(uid))
        self._join(uid, before, self._entries.get(uid))

    def _count(self, uid: str, before: _Entry | None, after: _Entry | None) -> None:
        """Move the pod's usage."""
        if before and before.node and (after is None or after.node != before.node):
            self.room.remove(uid, before.node)
            self._freed()
        if after and after.node and (before is None or before.node != after.node):
            self.room.add(after.pod, after.node)
        elif before and after and after.node and after.pod.ask != before.pod.ask:
            self.room.add(after.pod, after.node)
            self._freed()

    def _join(self, uid: str, before: _Entry | None, after: _Entry | None) -> None:
        """Move the pod between gangs."""
        if before and before.gang and (after is None or after.gang != before.gang):
            self.gangs.member_gone(before.gang, uid)
            self._on_change()
        if after and after.gang:
            self.gangs.member_seen(after.gang, after.pod)
            self._on_change()

    def _gang_of(self, pod: Pod) -> GangKey | None:
        return sources.gang_of(pod) if pod.scheduler in self.schedulers else None

    def _trees_changed(self) -> None:
        self.gangs.topologies_changed()
        self._on_change()

    def _moved(self, node: str) -> None:
        """Look at those on a node again: they may be in another domain now."""
        entries = (self._entries.get(uid) for uid in self.room.uids_on(node))
        self.gangs.changed |= {each.gang for each in entries if each and each.gang}

    def _freed(self) -> None:
        self.gangs.room_freed()
        self._on_change()


def _counted_on(pod: Pod) -> str:
    """Return the node whose room the pod uses: ended pods use none."""
    return "" if pod.terminal else pod.node
