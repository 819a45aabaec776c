"""The cache: the cluster as last seen, plus our own writes, which count at once.

Plain synchronous code. Handlers and the binder change it, the loop takes snapshots of it, and
status reads it; all on one event loop, so nothing here needs a lock.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from gang_scheduler.model.api_words import Dra, GangKind
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.device_needs import NO_DEVICES, Devices
from gang_scheduler.model.devices import DeviceId
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Bind, Plan
from gang_scheduler.model.pods import Pod, one_of_each
from gang_scheduler.model.provisioning import ProvisioningRequest
from gang_scheduler.model.queues import Product, ProvisioningRules, QueueRef, QueueState
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import NO_SETTINGS, Rules
from gang_scheduler.model.selectors import AffinityCounts
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.model.topology import Domain
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.model.volumes import NO_VOLUMES, Volumes
from gang_scheduler.state.changes import Change, Changes
from gang_scheduler.state.devices.charges import OfDevices
from gang_scheduler.state.devices.device_cache import DeviceCache
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.failures import DegradedGangs, FailedNodes
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gang_queue import MOST_CHECKPOINTS, GangQueue
from gang_scheduler.state.gangs.workloads import DescribedGangs, TrainJobs
from gang_scheduler.state.nodes import NodeUsage, Nominator, RefusedShapes
from gang_scheduler.state.past_evictions import EvictionRecords
from gang_scheduler.state.pod_affinity import SelectorMatches
from gang_scheduler.state.pods import ForeignMembers, PodStore
from gang_scheduler.state.provisioning import ProvisioningState
from gang_scheduler.state.queues import running_gangs
from gang_scheduler.state.queues.declared import DeclaredQueues, KueueObjects
from gang_scheduler.state.queues.names import KnownQueues, QueueNames
from gang_scheduler.state.queues.recent_usage import RecentUsages
from gang_scheduler.state.queues.reservations_in_force import waits_of
from gang_scheduler.state.queues.running_gangs import RunningGangs
from gang_scheduler.state.queues.usage import QueueUsageStore
from gang_scheduler.state.stores import NodeStore, Store
from gang_scheduler.state.suspended.virtual_pods import VirtualPodStore
from gang_scheduler.state.suspended.workloads import SuspendedWorkloads
from gang_scheduler.state.topologies import Topologies
from gang_scheduler.state.volumes.volume_cache import VolumeCache

# Evictions that are decided, counted before the API server shows them.


class Victims:
    """Counts victims as leaving, and as staying again when they are spared.

    `cycle` is set when a spared pod keeps room that was nominated for gangs: these plan again.
    """

    def __init__(
        self,
        evictable_pods: EvictablePods,
        nominator: Nominator,
        gang_queue: GangQueue,
        cycle: asyncio.Event,
    ) -> None:
        self._evictable_pods = evictable_pods
        self._nominator = nominator
        self._gang_queue = gang_queue
        self._cycle = cycle

    def decided(self, uids: Collection[str]) -> None:
        """Count pods as leaving."""
        self._evictable_pods.decided(uids)

    def spared(self, uids: Collection[str]) -> None:
        """Count pods as staying after all, unless they are terminating already."""
        nodes = self._evictable_pods.spared(uids)
        waiting = {gang for node in nodes for gang in self._nominator.gangs_on(node)}
        if waiting:
            self._gang_queue.nominations_lost(waiting)
            self._cycle.set()


T = TypeVar("T")


class Cache:
    """Everything that the scheduler knows. `changes` reports changes to other parts.

    Objects come in through stores, one for each kind: `kinds` has the table.
    """

    def __init__(
        self,
        schedulers: Iterable[str],
        changes: Changes,
        rules: Rules = NO_SETTINGS,
        *,
        most_checkpoints: int = MOST_CHECKPOINTS,
        of_devices: OfDevices | None = None,
    ) -> None:
        self.schedulers = frozenset(schedulers)
        self.node_usage = NodeUsage()
        self.evictable_pods = EvictablePods(rules.preemption)
        self.topologies = Topologies(changes.topologies)
        self.selector_matches = SelectorMatches(rules.gangs.max_term_comparisons)
        self.queues = DeclaredQueues(rules.queues)
        self.kueue_objects = KueueObjects(self.queues.outdated)
        self.gang_queue = GangQueue(
            *(self.schedulers, rules.gangs.schedule_timeout_seconds),
            *(self.evictable_pods, self.topologies.layers),
            QueueNames(
                KnownQueues.of(self.queues, self.kueue_objects),
                self.selector_matches.namespaces,
                rules.queues,
            ),
            promises=rules.promises,
            elastic_kinds=rules.workloads.elastic_kinds,
            most_checkpoints=most_checkpoints,
        )
        self.decisions = Decisions(self.gang_queue)
        self.checkpoints = self.gang_queue.checkpoints
        self._running_gangs = RunningGangs(
            self.gang_queue.infos, self.gang_queue.queues, rules.preemption
        )
        self.evictions = EvictionRecords(
            self.gang_queue, self.queues, rules.queues.yield_memory_seconds
        )
        self.queue_usage = QueueUsageStore(self.gang_queue, self.node_usage.labels_of, rules)
        self.provisioning = ProvisioningState(
            self.gang_queue, self.queue_usage, self.queue_of, rules.workloads
        )
        self.queues.provisioned = self._checks_answered
        self.recent_usages = RecentUsages(rules.queues.usage_half_life_seconds, self.queues.recent)
        self.foreign_members = ForeignMembers()
        self.volumes = VolumeCache(self.node_usage.table, changes.waits_for_claims)
        self.devices = DeviceCache(
            enabled=rules.devices.dra is Dra.AUTO,
            gather_compute_domains=rules.devices.gather_compute_domains,
            asked=self.node_usage.ask_of_devices,
            spec_of=self.gang_queue.spec_of,
            of_devices=of_devices,
        )
        self._nominator = Nominator()
        self._table = self.node_usage.table()
        self._changes = changes
        self.victims = Victims(self.evictable_pods, self._nominator, self.gang_queue, changes.cycle)
        self._virtual_pods = VirtualPodStore(self.selector_matches, self.devices)
        self.refused_shapes = RefusedShapes()
        self._described = DescribedGangs()
        self.pod_store = PodStore(
            self.schedulers,
            node_usage=self.node_usage,
            evictable_pods=self.evictable_pods,
            gang_queue=self.gang_queue,
            nominator=self._nominator,
            foreign_members=self.foreign_members,
            selector_matches=self.selector_matches,
            volumes=self.volumes,
            devices=self.devices,
            queue_usage=self.queue_usage,
            train_jobs=TrainJobs(enabled=GangKind.TRAIN_JOB in rules.gangs.gang_kinds),
            virtual_pods=self._virtual_pods,
            refused_shapes=self.refused_shapes,
        )
        self.suspended = SuspendedWorkloads(
            rules.workloads,
            self.schedulers,
            gang_queue=self.gang_queue,
            pod_store=self.pod_store,
            virtual_pods=self._virtual_pods,
            queue_usage=self.queue_usage,
            queues=self.queues,
            note=self._note,
        )
        self.failed_nodes = FailedNodes(rules.gangs)
        self.degraded = DegradedGangs(
            *(self.gang_queue, self.failed_nodes, self.node_usage, self.topologies),
            pod=self.pod_store.get,
        )
        self.node_store = NodeStore(
            node_usage=self.node_usage,
            pod_store=self.pod_store,
            gang_queue=self.gang_queue,
            nominator=self._nominator,
            selector_matches=self.selector_matches,
            topologies=self.topologies,
            queue_usage=self.queue_usage,
            failed_nodes=self.failed_nodes,
            degraded=self.degraded,
            refused_shapes=self.refused_shapes,
        )

    def upsert(self, store: Store[T], decoded: T) -> None:
        """Add or replace an object of a kind; gangs that this may help are tried again."""
        self._note(store.upsert(decoded))
        if self.suspended.holds and isinstance(decoded, Pod):
            self.suspended.pod_created(decoded)

    def delete(self, store: Store[T], uid: str) -> None:
        """Forget an object of a kind; gangs that this may help are tried again."""
        self._note(store.delete(uid))

    def enforce_quota(self, product: Product, *, enforced: bool) -> None:
        """Note whether this scheduler enforces the quotas of a product."""
        if self.queues.enforce(product, enforced=enforced):
            self._note(Change.QUEUES_CHANGED)

    def serve_queues(self, product: Product, *, served: bool) -> None:
        """Note whether a product may have queues: whether its CRDs are installed."""
        if self.queues.serve(product, served=served):
            self._note(Change.QUEUES_CHANGED)

    def serve_provisioning(self, *, served: bool) -> None:
        """Note whether nodes can be requested: whether the CRD is installed."""
        if self.provisioning.serve(served=served):
            self.queues.outdated()
            self._note(Change.QUEUES_CHANGED)

    def serve_devices(self, *, served: bool) -> None:
        """Note whether claims of devices can be read: whether the API server has their kinds."""
        if self.devices.serve(served=served):
            self._note(Change.ROOM_FREED)

    def avoid_devices(self, gangs: Collection[GangKey], devices: Iterable[DeviceId]) -> None:
        """Let gangs use no devices that could not be attached for them."""
        self.devices.avoid(gangs, devices)

    def use_devices_again(self, gangs: Collection[GangKey]) -> None:
        """Let gangs use all devices again, and try them."""
        self.devices.use_again(gangs)
        self._note(Change.ROOM_FREED)

    def upsert_request(self, request: ProvisioningRequest) -> None:
        """Store a request for nodes as the API server answered it."""
        self._note_request(changed=self.provisioning.upsert(request))

    def note_node_requests(self, plan: Plan, now: int) -> None:
        """Note a cycle's decisions on gangs that request nodes. `now` is in seconds."""
        # The quota for requested nodes is charged member by member.
        self.suspended.nominate(each.gang for each in plan.node_requests if each.members)
        self.provisioning.take_in(plan, now)
        self._changes.provisioning.set()

    def upsert_pod(self, pod: Pod) -> None:
        """Store a pod as the API server shows it."""
        self.upsert(self.pod_store, pod)

    def delete_pod(self, uid: str) -> None:
        """Forget a pod whose object is gone."""
        self.delete(self.pod_store, uid)

    def assume(self, bind: Bind) -> None:
        """Count a pod on a node before the API server has confirmed it."""
        self._note(self.pod_store.assume(bind))

    def forget(self, uid: str) -> None:
        """Undo an assumed binding: it did not happen."""
        self._note(self.pod_store.forget(uid))

    def nominate(self, binds: Iterable[Bind]) -> None:
        """Keep room for pods before the API server has confirmed it."""
        for bind in binds:
            self._note(self.pod_store.nominate(bind.pod.uid, bind.node, bind.flavors))

    def clear_nominations(self, uids: Iterable[str]) -> None:
        """Stop keeping room for pods, whether or not their nominations were written."""
        for uid in uids:
            self._note(self.pod_store.nominate(uid, ""))
            self.suspended.displaced(uid)

    def settle_failed_nodes(self, now: int) -> None:
        """Find the nodes that have failed by now, in seconds, and the nodes that have recovered."""
        for name in self.failed_nodes.settle(now, lambda node: bool(self.node_usage.uids_on(node))):
            gangs = self.pod_store.gangs_on(name)
            if name in self.failed_nodes.names:
                self.degraded.failing(name, gangs)
            self.gang_queue.changed |= gangs

    def find_gone_nodes(self) -> None:
        """Find nodes that were gone before this process began: no event reports these."""
        for name in self.node_usage.without_node():
            if not self.failed_nodes.is_suspect(name):
                self.failed_nodes.gone(name)
                self.degraded.failing(name, self.pod_store.gangs_on(name))

    def snapshot(self, now: int, *, whole: bool = True) -> Snapshot:
        """Return the cluster with the gangs that should be tried. `now` is in seconds.

        If very many gangs have changed and it is not `whole`, some are left to the next cycle.
        """
        return self.with_bound_pods(self.snapshot_to_place(now, whole=whole))

    def with_bound_pods(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with the bound pods that its groups need, and with past evictions.

        Linear in gangs on nodes. The same snapshot if no group may evict, or be promised a start.
        It is only right while nothing has changed since the snapshot was taken.
        """
        now = snapshot.taken_at
        bound_pods = self._bound_pods(snapshot.groups, now, snapshot.queues)
        if bound_pods is None:
            return snapshot
        waiting = (gang.key for group in snapshot.groups for gang in group.gangs)
        yielded = self.evictions.yielded(now, waiting)
        return replace(snapshot, bound_pods=bound_pods, yielded=yielded)

    def snapshot_to_place(self, now: int, *, whole: bool = True) -> Snapshot:
        """Return the snapshot without bound pods: enough if all groups find free room.

        If a plan of it only places groups, it is also the plan of the whole snapshot: a group looks
        for victims, or gets a promise, only if it finds no free room.
        """
        self._take_in(now)
        queues = self.queue_state(now)
        self.gang_queue.reservations.waits = {} if queues is None else waits_of(queues.declared)
        if (table := self.node_usage.table()) is not self._table:
            self._table = table
            self.gang_queue.quota_waits.nodes_changed()
        groups = self.gang_queue.take_due(now, whole=whole)
        nominated = self._nominator.all(self.gang_queue.infos)
        gated = any(gang.min_resources for group in groups for gang in group.gangs)
        return Snapshot(
            taken_at=now,
            nodes=self.node_usage.table(),
            free=self.node_usage.free(),
            host_ports=self.node_usage.host_ports(),
            affinity_counts=self._selector_matches(groups, nominated),
            volumes=self._volumes(groups),
            devices=self._devices(groups),
            held=self.node_usage.held() if gated else {},
            tree_specs=self.topologies.tree_specs(),
            pinned=self.node_usage.pinned(),
            nominated=nominated,
            groups=groups,
            queues=queues,
            resting=self.gang_queue.reservations.not_searched(now),
            promised=self.gang_queue.reservations.promised(),
            promised_long=self.gang_queue.reservations.lasting(now),
            provisioning=self.provisioning.snapshot(),
            failed_nodes=self.failed_nodes.names,
            build_work=self.gang_queue.take_made() + self.queue_usage.take_work(),
        )

    def prepare(self, now: int) -> Iterator[None]:
        """Do work of the next snapshot ahead of time, a little in each step.

        There is such work only if very many gangs of queues have changed, terms of pods about very
        many other pods, or very many pods on nodes that a gang may evict. Events may come in
        between the steps. The snapshot is the same with or without this.
        """
        are_new = self.gang_queue.queues_are_new
        yield from self.pod_store.enrich_in_steps()
        self._take_in_objects(now)
        yield from self.gang_queue.regroup_in_steps()
        self.gang_queue.take_in()
        yield from self.evictable_pods.evaluate_in_steps(self.gang_queue.may_evict)
        keys = self.gang_queue.to_make(every=are_new)
        if keys:
            while self.queue_usage.settle_part(self.pod_store, now):
                yield
                self._take_in(now)
            self.queue_state(now)
            yield
            yield from self.gang_queue.make(keys, now)
            # What was done here takes no time from the cycle.
            self.gang_queue.take_made()
            self.queue_usage.take_work()

    def _take_in(self, now: int) -> None:
        """Apply all changes since the last snapshot."""
        self._take_in_objects(now)
        self.gang_queue.take_in()

    def _take_in_objects(self, now: int) -> None:
        self.settle_failed_nodes(now)
        self.suspended.settle(now)
        self._note(self.node_store.settle_refusals(now))
        self._note(self.pod_store.enrich_stale())
        self.checkpoints.take_in(now)
        self.gang_queue.matching_pods_placed(self.selector_matches.take_gangs_to_retry())

    def room(self, now: int) -> Snapshot:
        """Return the nodes with their free and reserved room, and no gang to try."""
        return Snapshot(
            taken_at=now,
            nodes=self.node_usage.table(),
            free=self.node_usage.free(),
            tree_specs=self.topologies.tree_specs(),
            nominated=self._nominator.all(self.gang_queue.infos),
            pinned=self.node_usage.pinned(),
            failed_nodes=self.failed_nodes.names,
            devices=self._devices(()),
        )

    def with_more(self, key: GangKey, number: int, now: int) -> Snapshot | None:
        """Return a snapshot in which a running gang has `number` more workers to place.

        None if no bound worker shows what the new ones would be like. A plan for this snapshot is
        never carried out: it only says whether the workers would find room.
        """
        info = self.gang_queue.infos.get(key)
        elastic = None if info is None else info.observed.elastic
        if info is None or elastic is None:
            return None
        workers = [pod for pod in info.observed.bound() if elastic.counts(pod)]
        if not workers:
            return None
        like = revised(workers[-1], node="", nominated="", assumed=False, charged_to=None)
        devices = self.devices.needs_of_another(like)
        if devices is not None:
            like = revised(like, pod_class=replace(like.pod_class, devices=devices))
        pods = tuple(
            revised(like, uid=f"{like.uid}+{each}", name=f"{like.name}+{each}")
            for each in range(1, number + 1)
        )
        queues, nominated = self.queue_state(now), self._nominator.all(self.gang_queue.infos)
        groups = (self.gang_queue.grouping.with_more(key, pods, now),)
        return replace(
            self.room(now),
            host_ports=self.node_usage.host_ports(),
            affinity_counts=self._selector_matches(groups, nominated),
            volumes=self._volumes(groups),
            devices=self._devices(groups),
            groups=groups,
            queues=queues,
        )

    def running(self, now: int) -> BoundPods:
        """Return all pods on nodes, with the expected ends of their gangs. Linear in pods.

        It includes pods that a cycle would leave out. `now` is in seconds.
        """
        evictable, infos = self.evictable_pods, self.gang_queue.infos
        if evictable.rules.preemption:
            bound_pods = evictable.bound_pods(infos, self.pods, now, self.gang_queue.ranked())
        else:
            bound_pods = running_gangs.all_bound(self.pod_store)
        bound_pods = self._with_saves(bound_pods)
        charged = self.queue_usage.charged()
        return self._running_gangs.put_in(bound_pods, charged, now, enforcing=False)

    def queue_state(self, now: int) -> QueueState | None:
        """Return the queues with their charges; None without queues. `now` is in seconds."""
        state, freed = self.queue_usage.settle(self.pod_store, now)
        self.gang_queue.quota_waits.freed(freed)
        return None if state is None else self.recent_usages.added(state, now)

    def next_retry(self) -> int | None:
        """Return when gangs must be tried even if nothing changes, in seconds since the epoch."""
        ends = (self.queue_usage.next_end(), self.refused_shapes.next_end())
        moments = (self.gang_queue.next_retry(), *ends)
        return min((each for each in moments if each is not None), default=None)

    def next_known_retry(self, now: int) -> int | None:
        """Return when a time passes that a gang is known to wait for. Backoffs do not count.

        In seconds since the epoch. Linear in waiting gangs.
        """
        ends = (self.queue_usage.next_end(), self.refused_shapes.next_end())
        moments = (self.gang_queue.retries.next_known(now), *ends)
        return min((each for each in moments if each is not None), default=None)

    def queue_of(self, key: GangKey) -> QueueRef | None:
        """Return the queue that a gang is in, None if it is unclear.

        For a running gang, it is the queue to which its pods are charged, since its own may be
        gone.
        """
        resolved, info = self.gang_queue.queues.of(key), self.gang_queue.infos.get(key)
        if resolved is None or resolved.ref is not None or info is None:
            return None if resolved is None else resolved.ref
        charged = (self.queue_usage.charge_of(pod.uid) for pod in info.observed.with_node())
        return next((each[0] for each in charged if each is not None), None)

    def usage_differences(self) -> int:
        """Compare the charges of queues with a new sum; return how many figures differ."""
        return self.queue_usage.differences(self.pod_store)

    def domain_of(
        self, nodes: Iterable[str], asked: TopologyRequest | None = None
    ) -> Domain | None:
        """Return the lowest domain of these nodes, in the requested tree or else in the first.

        None is the whole cluster, or means that no tree has them. Nothing is built again until
        nodes change.
        """
        return self.topologies.domain_of(nodes, self.node_usage.table(), asked)

    def pod(self, uid: str) -> Pod | None:
        """Return a pod with the node on which it is counted."""
        return self.pod_store.get(uid)

    def pods(self) -> Iterable[Pod]:
        """Return all pods."""
        return self.pod_store.all()

    def described_gangs(self) -> Iterator[GangInfo]:
        """Yield the gangs for answers: all, except workloads whose pods name other gangs."""
        return self._described.of(self.gang_queue.infos, self.pods)

    def _note_request(self, *, changed: bool) -> None:
        self._changes.provisioning.set()
        self._note(Change.GANGS_TOUCHED if changed else Change.NOTHING)

    def _checks_answered(self) -> Mapping[str, ProvisioningRules]:
        """Return the admission checks that are answered by requesting nodes."""
        return self.kueue_objects.provisioning() if self.provisioning.is_on else {}

    def _note(self, change: Change) -> None:
        """Let gangs be tried again that a change may help."""
        if change is Change.NOTHING:
            return
        if change is Change.ROOM_FREED:
            self.gang_queue.room_freed()
        elif change is Change.TREES_CHANGED:
            self.gang_queue.topologies_changed()
        elif change is Change.QUEUES_CHANGED:
            self.gang_queue.queues_changed()
        self._changes.cycle.set()

    def _bound_pods(
        self, groups: Sequence[GangGroup], now: int, queues: QueueState | None
    ) -> BoundPods | None:
        """Return the pods on nodes with their queues, if a group may evict some of them.

        They are also returned if a group may be promised a start: then with the expected ends of
        gangs.
        """
        evictable, infos = self.evictable_pods, self.gang_queue.infos
        ranked = self.gang_queue.ranked()
        if queues is None:
            found = evictable.bound_pods_for(groups, infos, self.pods, now, ranked)
            return None if found is None else self._with_saves(found)
        promising = self.gang_queue.reservations.wanted(groups, now)
        enforcing = self.gang_queue.reservations.rules.enforce_backfill
        bound_pods: BoundPods | None
        if promising and not evictable.rules.preemption:
            bound_pods = running_gangs.all_bound(self.pod_store)
        elif (
            promising
            or running_gangs.may_evict(groups, queues.declared)
            or (enforcing and running_gangs.were_overrun(groups, infos, now))
        ):
            bound_pods = evictable.bound_pods(infos, self.pods, now, ranked)
        else:
            bound_pods = evictable.leaving_for(groups, now)
        if bound_pods is None:
            return None
        charged, ends_as_of = self.queue_usage.charged(), now if promising else None
        bound_pods = self._with_saves(bound_pods)
        return self._running_gangs.put_in(bound_pods, charged, ends_as_of, enforcing=enforcing)

    def _with_saves(self, bound_pods: BoundPods) -> BoundPods:
        """Return bound pods with the times at which their gangs last saved their work."""
        saved_at = self.checkpoints.all_saved_at()
        return replace(bound_pods, saved_at=saved_at) if saved_at else bound_pods

    def _selector_matches(
        self, groups: Iterable[GangGroup], nominated: Iterable[Nominated]
    ) -> AffinityCounts:
        """Return the affinity counts that waiting and nominated pods need."""
        if not self.selector_matches:
            return AffinityCounts()
        gangs = (gang for each in groups for gang in each.gangs)
        waiting = {pod.pod_class for gang in gangs for pod in one_of_each(gang.pending)}
        return self.node_usage.affinity_counts(waiting | {each.pod.pod_class for each in nominated})

    def _volumes(self, groups: Iterable[GangGroup]) -> Volumes:
        """Return the volumes, if any pod to be placed uses some."""
        if not self.volumes.in_use:
            return NO_VOLUMES
        gangs = (gang for each in groups for gang in each.gangs)
        waiting = (pod for gang in gangs for pod in one_of_each(gang.pending))
        asked = any(pod.pod_class.storage is not None for pod in waiting)
        return self.volumes.snapshot() if asked else NO_VOLUMES

    def _devices(self, groups: Iterable[GangGroup]) -> Devices:
        """Return the devices, if pods to be placed ask for some, or nodes are counted by them."""
        if self.devices.are_counted:
            return self.devices.snapshot()
        if not self.devices.in_use:
            return NO_DEVICES
        gangs = (gang for each in groups for gang in each.gangs)
        waiting = (pod for gang in gangs for pod in one_of_each(gang.pending))
        asked = any(pod.pod_class.devices is not None for pod in waiting)
        return self.devices.snapshot() if asked else NO_DEVICES
