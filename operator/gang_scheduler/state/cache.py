"""The cluster as last seen, and as we know it will be: our own binds count at once.

Plain synchronous code. Handlers and the binder change it, the loop takes snapshots of it, and
status reads it; all on one event loop, so nothing here needs a lock.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from gang_scheduler.api.kinds import GVR, NAMESPACES, NODES, POD_DISRUPTION_BUDGETS, PODS
from gang_scheduler.decode import topologies
from gang_scheduler.decode import volumes as volume_decode
from gang_scheduler.decode.budgets import DeclaredBudget
from gang_scheduler.decode.gangs import membership
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.namespaces import DeclaredNamespace
from gang_scheduler.decode.topologies import DeclaredTopology
from gang_scheduler.decode.volume_objects import VolumeObject
from gang_scheduler.model.gangs import GangGroup, GangKey
from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.network.topology_request import TopologyRequest
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pod_affinity import AffinityCounts
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import JobPods
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.model.volumes import NO_VOLUMES, Volumes
from gang_scheduler.state import pod_classes
from gang_scheduler.state.evictable_pods import DEFAULT_RULES, EvictablePods, Rules
from gang_scheduler.state.foreign_members import ForeignMembers
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.node_usage import NodeUsage
from gang_scheduler.state.nominator import Nominator
from gang_scheduler.state.pod_affinity.matches import SelectorMatches
from gang_scheduler.state.topologies import Topologies
from gang_scheduler.state.victims import Victims
from gang_scheduler.state.volumes.volume_cache import VolumeCache


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
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self.schedulers = frozenset(schedulers)
        self.node_usage = NodeUsage()
        self.evictable_pods = EvictablePods(rules)
        self.gang_queue = GangQueue(self.schedulers, timeout_seconds, self.evictable_pods)
        self.topologies = Topologies()
        self.foreign_members = ForeignMembers()
        self.selector_matches = SelectorMatches()
        self.volumes = VolumeCache(self.node_usage.table)
        self._entries: dict[str, _Entry] = {}
        self._assumed: dict[str, str] = {}
        self._nominator = Nominator()
        self.victims = Victims(self.evictable_pods, self._nominator, self.gang_queue, on_change)
        self._on_change = on_change

    def upsert_pod(self, pod: Pod) -> None:
        """Take in a pod as the API server shows it."""
        if pod.node:
            self._assumed.pop(pod.uid, None)
            self._nominator.forget(pod.uid)
        else:
            pod = self._nominator.seen(pod)
        if pod.uid in self._assumed:
            # An older state than our own bind, whose echo is still on its way.
            pod = replace(pod, node=self._assumed[pod.uid], assumed=True)
        self._replace(pod.uid, pod)

    def delete_pod(self, uid: str) -> None:
        """Forget a pod whose object is gone."""
        self._assumed.pop(uid, None)
        self._nominator.forget(uid)
        self._replace(uid, None)

    def upsert_node(self, node: Node) -> None:
        """Take in a node."""
        if self.node_usage.upsert_node(node):
            self.topologies.nodes_changed()
            self._moved(node.name)
            self._freed()

    def delete_node(self, name: str, uid: str = "") -> None:
        """Forget a node; with a uid, only if it is still this one."""
        if self.node_usage.delete_node(name, uid):
            self.topologies.nodes_changed()
            if self.selector_matches:
                # A domain may be gone that nobody could use, and that held a spread up.
                self._freed()
            lost = tuple(self._nominator.gangs_on(name))
            if lost:
                self.gang_queue.nominations_lost(lost)
                self._on_change()

    def upsert_gang_specs(self, api_group: str, uid: str, declared: Iterable[GangSpec]) -> None:
        """Take in what an object says of gangs."""
        self.gang_queue.upsert_gang_specs(api_group, uid, declared)
        self._on_change()

    def delete_gang_specs(self, api_group: str, uid: str) -> None:
        """Forget an object that described gangs."""
        self.gang_queue.delete_gang_specs(api_group, uid)
        self._on_change()

    def upsert_job(self, uid: str, pods: JobPods | None) -> None:
        """Note how many pods a Job can have; None forgets it."""
        self.gang_queue.upsert_job(uid, pods)
        self._on_change()

    def upsert_topology(self, declared: DeclaredTopology) -> None:
        """Take in an object that says how a tree of the network is made."""
        if self.topologies.upsert(declared):
            self._trees_changed()

    def delete_topology(self, uid: str) -> None:
        """Forget an object that said how a tree is made."""
        if self.topologies.delete(uid):
            self._trees_changed()

    def upsert_budget(self, declared: DeclaredBudget) -> None:
        """Take in a PodDisruptionBudget."""
        if self.evictable_pods.upsert_budget(declared):
            self._freed()

    def delete_budget(self, uid: str) -> None:
        """Forget a PodDisruptionBudget."""
        if self.evictable_pods.delete_budget(uid):
            self._freed()

    def upsert_namespace(self, declared: DeclaredNamespace) -> None:
        """Take in a Namespace."""
        if self.selector_matches.upsert_namespace(declared):
            self._freed()

    def delete_namespace(self, uid: str) -> None:
        """Forget a Namespace."""
        if self.selector_matches.delete_namespace(uid):
            self._freed()

    def upsert_volume(self, gvr: GVR, found: VolumeObject) -> None:
        """Take in a claim, a volume, or something that makes them."""
        if self.volumes.upsert(gvr, found):
            self._freed()

    def delete_volume(self, gvr: GVR, uid: str) -> None:
        """Forget a claim, a volume, or something that makes them."""
        if self.volumes.delete(gvr, uid):
            self._freed()

    def assume(self, bind: Bind) -> None:
        """Count a pod on a node before the API server has confirmed it."""
        self._assumed[bind.pod.uid] = bind.node
        if bind.pod.volumes:
            self.volumes.assume(bind.pod, bind.node, bind.volumes)
        self._replace(bind.pod.uid, replace(bind.pod, node=bind.node, assumed=True))

    def forget(self, uid: str) -> None:
        """Take an assumed bind back: it did not happen."""
        entry = self._entries.get(uid)
        if self._assumed.pop(uid, None) is not None and entry is not None:
            self.volumes.forget(uid)
            self._replace(uid, replace(entry.pod, node="", assumed=False))

    def nominate(self, binds: Iterable[Bind]) -> None:
        """Keep room for pods before the API server has confirmed it."""
        for bind in binds:
            self._nominate(bind.pod.uid, bind.node)

    def clear_nominations(self, uids: Iterable[str]) -> None:
        """Keep no more room for pods, whether that was ever written or not."""
        for uid in uids:
            self._nominate(uid, "")

    def snapshot(self, now: int) -> Snapshot:
        """Return the cluster with the gangs that are worth a try. `now` is in seconds."""
        self._enrich_stale()
        self.gang_queue.matches_came(self.selector_matches.take_helped())
        groups = self.gang_queue.take_due(now)
        nominated = self._nominator.all(self.gang_queue.infos)
        gated = any(gang.min_resources for group in groups for gang in group.gangs)
        return Snapshot(
            taken_at=now,
            nodes=self.node_usage.table(),
            free=self.node_usage.free(),
            host_ports=self.node_usage.host_ports(),
            affinity_counts=self._selector_matches(groups, nominated),
            volumes=self._volumes(groups),
            held=self.node_usage.held() if gated else {},
            tree_specs=self.topologies.tree_specs(),
            bound_pods=self.evictable_pods.bound_pods_for(
                groups, self.gang_queue.infos, self.pods, now, self.gang_queue.ranked()
            ),
            nominated=nominated,
            groups=groups,
        )

    def domain_of(
        self, nodes: Iterable[str], asked: TopologyRequest | None = None
    ) -> Domain | None:
        """Return the lowest domain of these nodes, in the tree that was asked for or the first.

        None is the whole cluster, or that no tree has them. Nothing is built before nodes change.
        """
        return self.topologies.domain_of(nodes, self.node_usage.table(), asked)

    def pod(self, uid: str) -> Pod | None:
        """Return a pod with the node it is counted on."""
        entry = self._entries.get(uid)
        return entry.pod if entry else None

    def pods(self) -> Iterable[Pod]:
        """Return all pods."""
        return (entry.pod for entry in self._entries.values())

    def uids(self, gvr: GVR) -> Collection[str]:
        """Return the uids of all known objects of a kind."""
        if gvr == PODS:
            return self._entries.keys()
        if gvr == NODES:
            return self.node_usage.uids.keys()
        if gvr == POD_DISRUPTION_BUDGETS:
            return self.evictable_pods.budgets.uids
        if gvr == NAMESPACES:
            return self.selector_matches.namespaces.uids
        if gvr in volume_decode.READERS:
            return self.volumes.uids(gvr)
        is_tree = gvr.group in topologies.KINDS
        group = gvr.group
        return self.topologies.uids(group) if is_tree else self.gang_queue.objects(group).keys()

    def uid_gone(self, gvr: GVR, uid: str) -> None:
        """Forget an object of which only the uid is known."""
        if gvr == PODS:
            self.delete_pod(uid)
        elif gvr == NODES:
            self.delete_node(self.node_usage.uids.get(uid, ""))
        elif gvr.group in topologies.KINDS:
            self.delete_topology(uid)
        elif gvr == POD_DISRUPTION_BUDGETS:
            self.delete_budget(uid)
        elif gvr == NAMESPACES:
            self.delete_namespace(uid)
        elif gvr in volume_decode.READERS:
            self.delete_volume(gvr, uid)
        else:
            self.delete_gang_specs(gvr.group, uid)
            self.gang_queue.upsert_job(uid, None)

    def _replace(self, uid: str, pod: Pod | None) -> None:
        before = self._entries.get(uid)
        if pod is None:
            self._entries.pop(uid, None)
            self.foreign_members.note(uid, None)
            self.selector_matches.delete(uid)
            self.volumes.delete_pod(uid)
        else:
            named = membership.gang_of(pod)
            gang = named if pod.scheduler in self.schedulers else None
            self.foreign_members.note(uid, named if gang is None else None)
            # What it asks of others comes first: it may ask for pods such as itself.
            self.selector_matches.upsert(pod, gang)
            pod = self._enriched(pod)
            self._entries[uid] = _Entry(pod, gang, _counted_on(pod))
        self._house(uid, self._entries.get(uid))
        if pod is not None and before is not None and before.pod == pod:
            return
        self._count(uid, before, self._entries.get(uid))
        self._join(uid, before, self._entries.get(uid))

    def _enriched(self, pod: Pod) -> Pod:
        """Return the pod with what is known of it only in this cluster."""
        storage = self.volumes.storage_of(pod) if pod.volumes else None
        pod_class = pod_classes.enrich(
            pod.pod_class, self.selector_matches.meaning(pod.uid), storage
        )
        return pod if pod_class is pod.pod_class else replace(pod, pod_class=pod_class)

    def _enrich_stale(self) -> None:
        """Take in which other selectors mean a pod now, and what its claims ask for.

        That frees no room, and takes none.
        """
        for uid in {*self.selector_matches.take_stale(), *self.volumes.take_stale()}:
            entry = self._entries[uid]
            pod = self._enriched(entry.pod)
            if pod is not entry.pod:
                self._entries[uid] = after = replace(entry, pod=pod)
                self._house(uid, after)
                if after.node:
                    self.node_usage.reclassify(pod, after.node)
                if after.gang:
                    self.gang_queue.member_reclassified(after.gang, pod)

    def _house(self, uid: str, after: _Entry | None) -> None:
        """Keep account of who is on a node, and of whom room is kept for."""
        if after is not None and after.node:
            self.evictable_pods.upsert(after.pod, after.gang)
        else:
            self.evictable_pods.delete(uid)
        pod, gang = (after.pod, after.gang) if after is not None else (None, None)
        if self._nominator.note(uid, pod, gang):
            self._freed()

    def _count(self, uid: str, before: _Entry | None, after: _Entry | None) -> None:
        """Move the pod's usage."""
        if before and before.node and (after is None or after.node != before.node):
            self.node_usage.remove(uid, before.node)
            self._freed()
        if after and after.node and (before is None or before.node != after.node):
            self.node_usage.add(after.pod, after.node)
            if after.pod.pod_class.selected_by:
                self._came(after.pod)
        elif before and after and after.node and after.pod.pod_class != before.pod.pod_class:
            self.node_usage.add(after.pod, after.node)
            self._freed()
        if self.evictable_pods.rules.preemption and _begins_to_leave(before, after):
            # From now on a gang may wait for its room.
            self._freed()

    def _came(self, pod: Pod) -> None:
        """Try those again that wait for such a pod."""
        if self.selector_matches.came(pod.pod_class.selected_by):
            self._on_change()

    def _join(self, uid: str, before: _Entry | None, after: _Entry | None) -> None:
        """Move the pod between gangs."""
        if before and before.gang and (after is None or after.gang != before.gang):
            self.gang_queue.delete_member(before.gang, uid)
            self._on_change()
        if after and after.gang:
            self.gang_queue.upsert_member(after.gang, after.pod)
            self._on_change()

    def _nominate(self, uid: str, node: str) -> None:
        entry = self._entries.get(uid)
        if entry is None or (entry.pod.node and not entry.pod.assumed):
            return
        self._nominator.assume(uid, node)
        self._replace(uid, replace(entry.pod, nominated=node))
        if entry.gang is not None and not node:
            self.gang_queue.preemption_over([entry.gang])

    def _selector_matches(
        self, groups: Iterable[GangGroup], nominated: Iterable[Nominated]
    ) -> AffinityCounts:
        """Return what those who are to be placed must know of the pods on the nodes."""
        if not self.selector_matches:
            return AffinityCounts()
        waiting = {pod.pod_class for each in groups for gang in each.gangs for pod in gang.pending}
        return self.node_usage.affinity_counts(waiting | {each.pod.pod_class for each in nominated})

    def _volumes(self, groups: Iterable[GangGroup]) -> Volumes:
        """Return the volumes, if any of those who are to be placed asks for some."""
        if not self.volumes.in_use:
            return NO_VOLUMES
        waiting = (pod for each in groups for gang in each.gangs for pod in gang.pending)
        asked = any(pod.pod_class.storage is not None for pod in waiting)
        return self.volumes.snapshot() if asked else NO_VOLUMES

    def _trees_changed(self) -> None:
        self.gang_queue.topologies_changed()
        self._on_change()

    def _moved(self, node: str) -> None:
        """Look at those on a node again: they may be in another domain now."""
        entries = (self._entries.get(uid) for uid in self.node_usage.uids_on(node))
        self.gang_queue.changed |= {each.gang for each in entries if each and each.gang}

    def _freed(self) -> None:
        self.gang_queue.room_freed()
        self._on_change()


def _begins_to_leave(before: _Entry | None, after: _Entry | None) -> bool:
    if before is None or after is None or not after.node:
        return False
    return after.pod.deleting and not before.pod.deleting


def _counted_on(pod: Pod) -> str:
    """Return the node whose room the pod uses: ended pods use none."""
    return "" if pod.terminal else pod.node
