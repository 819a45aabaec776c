"""All pods, with the nodes on which they count. The scheduler's own decisions are included.

A pod concerns nearly every part of the state: usage of nodes, gangs, victims, nominations,
selectors, volumes and devices. All of them learn of a change here, in one order.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state import pod_affinity
from gang_scheduler.state.changes import Change
from gang_scheduler.state.devices.device_cache import DeviceCache
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.gangs.workloads import TrainJobs
from gang_scheduler.state.nodes import NodeUsage, Nominator, RefusedShapes
from gang_scheduler.state.pod_affinity import SelectorMatches
from gang_scheduler.state.queues.charges import Flavors
from gang_scheduler.state.queues.usage import Counted, QueueUsageStore
from gang_scheduler.state.suspended.virtual_pods import VirtualPodStore
from gang_scheduler.state.volumes.volume_cache import VolumeCache

# Gangs with members of another scheduler, which also writes their statuses.


class ForeignMembers:
    """The members of other schedulers, by gang."""

    def __init__(self) -> None:
        self._gangs: dict[str, GangKey] = {}
        self._members: dict[GangKey, dict[str, Pod]] = {}

    def note(self, pod: Pod, gang: GangKey) -> bool:
        """Note the gang of another scheduler's pod; return whether it is new."""
        is_news = self._gangs.get(pod.uid) != gang
        if is_news:
            self.forget(pod.uid)
        self._gangs[pod.uid] = gang
        self._members.setdefault(gang, {})[pod.uid] = pod
        return is_news

    def forget(self, uid: str) -> None:
        """Note that a pod is gone, or belongs to this scheduler."""
        before = self._gangs.pop(uid, None)
        if before is not None:
            del self._members[before][uid]
            if not self._members[before]:
                del self._members[before]

    def are_in(self, gang: GangKey) -> bool:
        """Return whether a gang has members of another scheduler."""
        return gang in self._members

    def of(self, gang: GangKey) -> Collection[Pod]:
        """Return the pods of other schedulers that name a gang."""
        return self._members.get(gang, {}).values()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A pod, its gang (None for other schedulers' pods) and the node on which it counts."""

    pod: Pod
    gang: GangKey | None
    node: str


class PodStore:
    """All pods. Every method that changes something returns its meaning for gangs."""

    def __init__(
        self,
        schedulers: frozenset[str],
        *,
        node_usage: NodeUsage,
        evictable_pods: EvictablePods,
        gang_queue: GangQueue,
        nominator: Nominator,
        foreign_members: ForeignMembers,
        selector_matches: SelectorMatches,
        volumes: VolumeCache,
        devices: DeviceCache,
        queue_usage: QueueUsageStore,
        train_jobs: TrainJobs,
        virtual_pods: VirtualPodStore,
        refused_shapes: RefusedShapes,
    ) -> None:
        self._refused_shapes = refused_shapes
        self.train_jobs = train_jobs
        self._virtual_pods = virtual_pods
        self._virtual: set[str] = set()
        self._schedulers = schedulers
        self._node_usage = node_usage
        self._evictable_pods = evictable_pods
        self._gang_queue = gang_queue
        self._decisions = Decisions(gang_queue)
        self._nominator = nominator
        self._foreign_members = foreign_members
        self._selector_matches = selector_matches
        self._volumes = volumes
        self._devices = devices
        self._queue_usage = queue_usage
        self._entries: dict[str, _Entry] = {}
        self._assumed: dict[str, str] = {}
        self._stale: set[str] = set()
        """Pods that are still to be enriched."""
        self._freed = False
        """Whether pods that were enriched have freed room."""

    # As the API server shows them.

    def upsert(self, pod: Pod) -> Change:
        """Take in a pod as the API server shows it."""
        known = self._entries.get(pod.uid)
        pod = self.train_jobs.settled(pod, None if known is None else known.pod.gang)
        is_confirmed = bool(pod.node) and self._assumed.pop(pod.uid, None) is not None
        if pod.node:
            self._nominator.forget(pod.uid)
        else:
            pod = self._nominator.seen(pod)
        if pod.uid in self._assumed:
            # The API server shows a state from before our binding, whose event is still to come.
            pod = revised(pod, node=self._assumed[pod.uid], assumed=True)
        change = self._replace(pod.uid, pod)
        if is_confirmed:
            self._decisions.confirmed(pod.gang)
        return change

    def delete(self, uid: str) -> Change:
        """Forget a pod whose object is gone."""
        self._assumed.pop(uid, None)
        self._nominator.forget(uid)
        self._queue_usage.decide(uid, ())
        return self._replace(uid, None)

    def settle(self, uids: Iterable[str]) -> Change:
        """Assign pods to their gangs again, now that their JobSet is known."""
        changes = set()
        for uid in uids:
            entry = self._entries[uid]
            changes.add(self._replace(uid, self.train_jobs.settled(entry.pod, entry.pod.gang)))
        return Change.ROOM_FREED if Change.ROOM_FREED in changes else Change.NOTHING

    def uids(self) -> Collection[str]:
        """Return the uids of all pods that have been created."""
        return self._entries.keys() - self._virtual if self._virtual else self._entries.keys()

    def counted_uids(self) -> Iterable[str]:
        """Return the uids of all pods, including pods of suspended workloads."""
        return [*self._entries, *self._virtual_pods.uids()]

    def get(self, uid: str) -> Pod | None:
        """Return a pod with the node on which it is counted."""
        entry = self._entries.get(uid)
        return entry.pod if entry else None

    def counted(self, uid: str) -> Counted | None:
        """Return a pod as quotas count it."""
        entry = self._entries.get(uid)
        if entry is None:
            return self._virtual_pods.counted(uid)
        return Counted(entry.pod, entry.gang, entry.node)

    def __len__(self) -> int:
        return len(self._entries)

    def all(self) -> Iterable[Pod]:
        """Return all pods."""
        return (entry.pod for entry in self._entries.values())

    def gangs_on(self, node: str) -> set[GangKey]:
        """Return the gangs that have members on a node."""
        entries = (self._entries.get(uid) for uid in self._node_usage.uids_on(node))
        return {entry.gang for entry in entries if entry and entry.gang}

    # As we decided.

    def assume(self, bind: Bind) -> Change:
        """Count a pod on a node before the API server has confirmed it."""
        self._assumed[bind.pod.uid] = bind.node
        self._queue_usage.decide(bind.pod.uid, bind.flavors)
        if bind.pod.volumes:
            self._volumes.assume(bind.pod, bind.node, bind.volumes)
        if bind.claims:
            self._devices.assume(bind.pod.uid, bind.claims)
        return self._replace(bind.pod.uid, revised(bind.pod, node=bind.node, assumed=True))

    def forget(self, uid: str) -> Change:
        """Undo an assumed binding: it did not happen."""
        entry = self._entries.get(uid)
        if self._assumed.pop(uid, None) is None or entry is None:
            return Change.NOTHING
        self._volumes.forget(uid)
        self._devices.forget(uid)
        self._queue_usage.decide(uid, ())
        return self._replace(uid, revised(entry.pod, node="", assumed=False))

    def nominate(self, uid: str, node: str, flavors: Flavors = ()) -> Change:
        """Keep room for a pod before the API server confirms it; "" stops keeping it."""
        entry = self._entries.get(uid)
        if entry is None or (entry.pod.node and not entry.pod.assumed):
            return Change.NOTHING
        self._nominator.assume(uid, node)
        self._queue_usage.decide(uid, flavors)
        change = self._replace(uid, revised(entry.pod, nominated=node))
        if entry.gang is not None and not node:
            self._decisions.preemption_over([entry.gang])
        return change

    def enrich_stale(self) -> Change:
        """Update pods whose matching selectors, volumes or claims of devices have changed.

        This takes no room; it only frees the room of nominations that ended.
        """
        for _ in self.enrich_in_steps():
            pass
        freed, self._freed = self._freed, False
        return Change.ROOM_FREED if freed else Change.NOTHING

    def enrich_in_steps(self) -> Iterator[None]:
        """Do the work of `enrich_stale` in small steps; `enrich_stale` then returns the result."""
        yield from self._selector_matches.compare_in_steps()
        stale = {
            *self._selector_matches.take_stale(),
            *self._volumes.take_stale(),
            *self._devices.take_stale(),
        }
        if stale:
            for key, members in self._virtual_pods.enrich(stale):
                self._gang_queue.virtual_reclassified(key, members)
        self._stale |= stale
        while self._stale:
            self._enrich(self._stale.pop())
            yield

    def _enrich(self, uid: str) -> None:
        entry = self._entries.get(uid)
        pod = None if entry is None else self._enriched(entry.pod)
        if entry is None or pod is None or pod is entry.pod:
            return
        self._entries[uid] = after = replace(entry, pod=pod)
        self._freed |= self._update_kept_room(uid, after)
        if after.node:
            self._node_usage.reclassify(pod, after.node)
        if after.gang and _problems_of(pod) != _problems_of(entry.pod):
            # The object that it waited for is there now, or is gone.
            self._gang_queue.upsert_member(after.gang, pod)
        elif after.gang:
            self._gang_queue.member_reclassified(after.gang, pod)

    # Consequences of a change.

    def _replace(self, uid: str, pod: Pod | None) -> Change:
        before = self._entries.get(uid)
        if pod is None:
            self._entries.pop(uid, None)
            self._virtual.discard(uid)
            if before is not None:
                self.train_jobs.forget(before.pod)
            self._foreign_members.forget(uid)
            self._selector_matches.delete(uid)
            self._volumes.delete_pod(uid)
            self._devices.delete_pod(uid)
        else:
            gang = pod.gang if pod.scheduler in self._schedulers else None
            if gang is not None:
                self._foreign_members.forget(uid)
            elif self._foreign_members.note(pod, pod.gang):
                self._gang_queue.foreign_member_came(pod.gang)
            # The pod's own affinity terms come first: one of them may select the pod itself.
            self._selector_matches.upsert(pod, gang)
            pod = self._enriched(pod)
            self._entries[uid] = _Entry(pod, gang, _counted_on(pod))
            if pod.virtual:
                self._virtual.add(uid)
        after = self._entries.get(uid)
        freed = self._update_kept_room(uid, after)
        touched = False
        if pod is None or before is None or before.pod != pod:
            self._queue_usage.touch(uid)
            freed |= self._count(uid, before, after)
            if after and after.pod.refused and not (before and before.pod.refused):
                self._refused_shapes.note(after.pod, after.pod.node, after.gang)
            touched = self._may_help_waiting(before, after)
            touched |= self._join(uid, before, after)
        elif before.pod.gone_by != pod.gone_by:
            self._queue_usage.touch(uid)
        if freed:
            return Change.ROOM_FREED
        return Change.GANGS_TOUCHED if touched else Change.NOTHING

    def _enriched(self, pod: Pod) -> Pod:
        """Return the pod with facts from other objects: selectors, its storage and its devices."""
        storage = self._volumes.storage_of(pod) if pod.volumes else None
        devices = self._devices.needs_of(pod) if pod.claims or pod.extended else None
        pod_class = pod_affinity.enrich(
            *(pod.pod_class, self._selector_matches.selectors_matching(pod.uid), storage, devices),
            claimed=self._devices.charged_for(pod) if pod.claims else (),
            refuses_claims=bool(pod.claims) and not self._devices.are_known,
            # Asked of each pod: a call would be noticeable.
            leaves_out_terms=bool(self._selector_matches.left_out)
            and self._selector_matches.leaves_out(pod),
        )
        return pod if pod_class is pod.pod_class else revised(pod, pod_class=pod_class)

    def _update_kept_room(self, uid: str, after: _Entry | None) -> bool:
        """Update pods on nodes and kept room; return whether any room becomes free."""
        if after is not None and after.node:
            self._evictable_pods.upsert(after.pod, after.gang)
        else:
            self._evictable_pods.delete(uid)
        pod, gang = (after.pod, after.gang) if after is not None else (None, None)
        return self._nominator.note(uid, pod, gang)

    def _count(self, uid: str, before: _Entry | None, after: _Entry | None) -> bool:
        """Move the pod's usage; return whether room is free now, or will be."""
        freed = False
        if before and before.node and (after is None or after.node != before.node):
            self._node_usage.remove(uid, before.node)
            if after is None or not after.pod.refused:
                self._refused_shapes.left(before.node)
            freed = True
        if after and after.node and (before is None or before.node != after.node):
            self._node_usage.add(after.pod, after.node)
        elif before and after and after.node and after.pod.pod_class != before.pod.pod_class:
            self._node_usage.add(after.pod, after.node)
            freed = True
        # From its deletion on, a gang may wait for its room.
        return freed or (self._evictable_pods.rules.preemption and _begins_to_leave(before, after))

    def _may_help_waiting(self, before: _Entry | None, after: _Entry | None) -> bool:
        """Return whether a pod has got a node, and gangs wait for that: they are tried again."""
        if not after or not after.node or (before is not None and before.node == after.node):
            return False
        selected_by = after.pod.pod_class.selected_by
        return bool(selected_by) and self._selector_matches.pod_placed(selected_by)

    def _join(self, uid: str, before: _Entry | None, after: _Entry | None) -> bool:
        """Move the pod between gangs; return whether it has or had one."""
        left = before is not None and before.gang is not None
        if before and before.gang and (after is None or after.gang != before.gang):
            self._gang_queue.delete_member(before.gang, uid)
        if after and after.gang:
            self._gang_queue.upsert_member(after.gang, after.pod)
            return True
        return left


def _begins_to_leave(before: _Entry | None, after: _Entry | None) -> bool:
    if before is None or after is None or not after.node:
        return False
    return after.pod.deleting and not before.pod.deleting


def _counted_on(pod: Pod) -> str:
    """Return the node whose room the pod uses; "" for an ended pod."""
    return "" if pod.terminal else pod.node


def _problems_of(pod: Pod) -> tuple[Problem | None, Sequence[str]]:
    devices = pod.pod_class.devices
    return None if devices is None else devices.problem, pod.pod_class.unsupported
