"""The gangs with their members, and the gangs that the next cycle must try."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from gang_scheduler.decode.gangs.specs import GangSpec, MisplacedRequest
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.pods import Pod, VirtualPods
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey, JobPods, QueueRequest
from gang_scheduler.model.rules import NO_PROMISES, PromiseRules
from gang_scheduler.model.suspended import Suspended
from gang_scheduler.state.checkpoints import CheckpointRecords
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs import gangs_to_try
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gangs_to_try import GangsToTry
from gang_scheduler.state.gangs.group_topology import MisplacedRequests
from gang_scheduler.state.gangs.grouping import NOTHING_COMES, Grouping, PreemptionEligibility
from gang_scheduler.state.gangs.retries import (
    Deadlines,
    QueueingHints,
    Retries,
)
from gang_scheduler.state.gangs.workloads import FailedJobs, GangsByWorkload, JobSizes, MadeFor
from gang_scheduler.state.queues.names import QueueNames
from gang_scheduler.state.queues.queues_of_gangs import QueuesOfGangs
from gang_scheduler.state.queues.quota_waits import QuotaWaits
from gang_scheduler.state.queues.reservations_in_force import Reservations

MOST_CHECKPOINTS = 5
"""The number of saves of a gang that are remembered by default."""


class GangQueue:
    """All gangs, and the set of gangs to try in the next cycle.

    A gang is tried after a change of itself or its group, and after a change of nodes, pods or the
    network that may help it. As a safety net, it is also tried after a pause (backoff). So the cost
    of a cycle grows with the changes, not with the gangs that wait.
    """

    def __init__(
        self,
        schedulers: Iterable[str],
        timeout_seconds: int,
        evictable_pods: EvictablePods,
        layers: Callable[[], Collection[str]],
        queue_names: QueueNames | None = None,
        *,
        promises: PromiseRules = NO_PROMISES,
        elastic_kinds: Collection[str] = (),
        most_checkpoints: int = MOST_CHECKPOINTS,
    ) -> None:
        self.schedulers = frozenset(schedulers)
        self.infos: dict[GangKey, GangInfo] = {}
        self.changed: set[GangKey] = set()
        """Gangs whose status may have to be written."""
        self.reworded: set[GangKey] = set()
        """Gangs whose status has changed only in its numbers."""
        self.deadlines = Deadlines(timeout_seconds)
        self._objects: dict[str, dict[str, tuple[GangKey, ...]]] = {}
        self._to_regroup: set[GangKey] = set()
        self._regrouped: set[GangKey] = set()
        """Gangs whose group may have changed, in its members or in its requests."""
        self._apart: set[GangKey] = set()
        self.once_evicted: set[GangKey] = set()
        """Gangs whose object has once recorded evictions; it may not do so any more."""
        self._by_workload = GangsByWorkload()
        self._job_sizes = JobSizes(self._by_workload)
        self.misplaced_requests = MisplacedRequests()
        self._failed_jobs = FailedJobs()
        self._made_for = MadeFor()
        self.retries = Retries()
        self.queues = QueuesOfGangs(self.infos, queue_names or QueueNames(), self._by_workload)
        self._round = 0
        self.grouping = Grouping(
            self.infos,
            self.schedulers,
            job_sizes=self._job_sizes,
            misplaced_requests=self.misplaced_requests,
            preemption_eligibility=PreemptionEligibility(evictable_pods),
            retries=self.retries,
            layers=layers,
            changed=self.changed,
            queues=self.queues,
            elastic_kinds=elastic_kinds,
        )
        self.quota_waits = QuotaWaits(self.queues.names.known.queue_set)
        self.reservations = Reservations(self.infos, promises)
        self.checkpoints = CheckpointRecords(self.infos, self.changed, most_checkpoints)
        self.queueing_hints = QueueingHints(self.infos, self.quota_waits, self.reservations)
        self.waiting = self.queueing_hints.waiting
        """How many gangs wait, by reason."""
        self._due = GangsToTry(
            self.infos,
            self.schedulers,
            self.grouping,
            retries=self.retries,
            queueing_hints=self.queueing_hints,
            quota_waits=self.quota_waits,
            reservations=self.reservations,
        )
        self.to_try = self._due.to_try
        """Gangs that the next cycle tries because they, or something that helps them, changed."""
        self.set_aside = self._due.set_aside
        self.vain_rounds = self._due.vain_rounds

    def expect_nothing(self) -> None:
        """Do not wait for pods that may still come: no more will come."""
        self.grouping.patience = NOTHING_COMES

    # Events of the watches.

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Add or replace a member."""
        observed = self.info(key).observed
        before = observed.members.get(pod.uid)
        observed.upsert_member(pod)
        self._note_member(key, pod, is_new=before is None)
        self._touched(key)

    def _note_member(self, key: GangKey, pod: Pod, *, is_new: bool) -> None:
        """Record a member for the workloads that it belongs to."""
        if self.infos[key].observed.may_rank_apart:
            self._apart.add(key)
        self.misplaced_requests.upsert_member(key, pod)
        self.checkpoints.seen_on_pod(key, pod)
        if pod.job_uid:
            self._by_workload.upsert_member(key, pod)
            # After its Job is gone, a late pod is not recorded again: no event would remove the
            # record.
            if is_new or self._job_sizes.has(pod.job_uid):
                self._failed_jobs.upsert_member(key, pod)
                self._settle_failure([key])

    def foreign_member_came(self, key: GangKey) -> None:
        """Note that a pod of another scheduler names a gang."""
        if key in self.infos:
            self.changed.add(key)

    def member_reclassified(self, key: GangKey, pod: Pod) -> None:
        """Replace a member that differs only in the affinity of other pods to it."""
        self.info(key).observed.upsert_member(pod)

    def delete_member(self, key: GangKey, uid: str) -> None:
        """Forget a member whose object is gone."""
        info = self.infos.get(key)
        pod = info.observed.delete_member(uid) if info is not None else None
        if pod is not None:
            self.misplaced_requests.delete_member(key, pod)
            self.checkpoints.forget_source(uid)
            self._touched(key)

    def upsert_virtual(
        self,
        key: GangKey,
        pods: VirtualPods | None,
        suspended: Suspended | None,
        *,
        rests_until: int = 0,
    ) -> None:
        """Note the members that a suspended workload would have; None if it has none any more.

        The gang is not tried before `rests_until`, in seconds.
        """
        info = self.infos.get(key)
        if info is None:
            if pods is None:
                return
            info = self.info(key)
        is_news = (info.observed.virtual, info.rests_until) != (pods, rests_until)
        info.rests_until = rests_until
        if info.suspended != suspended:
            info.suspended = suspended
            info.related_object_changed()
        if not is_news:
            return
        info.observed.set_virtual(pods)
        for pod in pods.prototypes if pods is not None else ():
            self._note_member(key, pod, is_new=True)
        self._touched(key)

    def virtual_reclassified(self, key: GangKey, pods: VirtualPods) -> None:
        """Replace virtual members that differ only in the affinity of other pods to them."""
        self.info(key).observed.set_virtual(pods)

    def await_pods(self, key: GangKey, *, awaits: bool) -> None:
        """Note whether a gang has room, and waits only for its pods."""
        info = self.infos.get(key)
        if info is None:
            return
        info.awaits_pods = awaits
        if not awaits:
            info.suspended = None
        info.related_object_changed()
        self._touched(key)

    def gangs_of_job(self, uid: str) -> Collection[GangKey]:
        """Return the gangs that have had pods of a Job."""
        return self._by_workload.of(uid)

    def release_members(self, keys: Iterable[GangKey]) -> None:
        """Drop the virtual members of these gangs to save memory."""
        self.grouping.release_members(keys)

    def spec_of(self, key: GangKey) -> GangSpec | None:
        """Return the declaration of a gang by an object; None without one."""
        info = self.infos.get(key)
        return None if info is None else info.observed.spec

    def upsert_gang_specs(self, kind: str, uid: str, declared: Iterable[GangSpec]) -> None:
        """Add or replace the gangs that an object of a kind describes."""
        declared = tuple(declared)
        known = self._objects.setdefault(kind, {})
        for key in set(known.get(uid, ())) - {each.key for each in declared}:
            self._withdraw_spec(key, uid)
        known[uid] = tuple(each.key for each in declared)
        for each in declared:
            self._spec(each)

    def delete_gang_specs(self, kind: str, uid: str) -> None:
        """Forget an object that described gangs."""
        for key in self._objects.get(kind, {}).pop(uid, ()):
            self._withdraw_spec(key, uid)

    def objects(self, kind: str) -> Mapping[str, tuple[GangKey, ...]]:
        """Return the objects of a kind that describe gangs, by uid."""
        return self._objects.get(kind, {})

    def described_by(self, uid: str) -> Iterator[GangKey]:
        """Yield the gangs that an object describes."""
        for known in self._objects.values():
            yield from known.get(uid, ())

    def upsert_job(self, uid: str, pods: JobPods | None) -> None:
        """Note the number of pods that a Job can have; None forgets it."""
        for key in self._job_sizes.upsert(uid, pods) & self.infos.keys():
            info = self.infos[key]
            info.related_object_changed()
            info.attempt.spare(self._job_sizes.spared(info))
            self.to_try.add(key)

    def upsert_parts(self, uid: str, parts: Iterable[tuple[str, int]]) -> None:
        """Note how many pods the replicatedJobs of a JobSet can have; none forgets them."""
        for key in self._job_sizes.upsert_parts(uid, parts) & self.infos.keys():
            self.infos[key].related_object_changed()
            self.to_try.add(key)

    def upsert_misplaced(self, uid: str, request: MisplacedRequest | None) -> None:
        """Record a workload's request in the wrong place; None if it has none, or is gone."""
        for key in self.misplaced_requests.upsert(uid, request) & self.infos.keys():
            self.infos[key].related_object_changed()
            self.to_try.add(key)

    def upsert_workload(self, uid: str, workload: str, request: QueueRequest | None) -> None:
        """Note the queue that a Job or JobSet names for its pods."""
        self._requeue(self.queues.workloads.upsert(uid, workload, request))

    def delete_workload(self, uid: str) -> None:
        """Forget the queue that a Job or JobSet named for its pods."""
        self._requeue(self.queues.workloads.delete(uid))

    def upsert_run_time(
        self, uid: str, run_time: RunTime | None, problem: Problem | None = None
    ) -> None:
        """Note the run time that a Job declares for its pods, and any problem with it."""
        self._requeue(self.queues.run_times.upsert(uid, run_time, problem))

    def job_failed(self, uid: str, gang: GangKey | None) -> None:
        """Record the gang of a Job that has failed for good; None if the Job has not failed."""
        self._settle_failure(self._failed_jobs.upsert(uid, gang))

    def job_gone(self, uid: str) -> None:
        """Forget a Job that is gone."""
        self._requeue(self.queues.run_times.delete(uid))
        self._settle_failure(self._failed_jobs.delete(uid))

    def room_freed(self) -> None:
        """Try all gangs again that lacked room, or a topology layer, which only nodes bring."""
        self.queueing_hints.room_freed()

    def topologies_changed(self) -> None:
        """Try gangs again that changed trees may help, and update the domains of all gangs."""
        self.queueing_hints.topologies_changed()
        self.to_try |= self.grouping.take_expecting_layers() & self.infos.keys()
        self.changed.update(self.infos)

    def queues_changed(self) -> None:
        """Look up the queues of all gangs again, and try gangs again that this may help."""
        self.queues.start_over()
        self.queueing_hints.queues_changed()

    def try_all(self) -> None:
        """Try all gangs again that have waiting members. Linear in members."""
        waiting = (info for info in self.infos.values() if info.has_pending(self.schedulers))
        self.to_try.update(info.key for info in waiting)

    def provisioning_changed(self, keys: Collection[GangKey]) -> None:
        """Try all gangs again that wait for nodes, and these, whose requests for nodes changed."""
        self.to_try.update(self.infos.keys() & set(keys))
        self.queueing_hints.provisioning_changed()

    def matching_pods_placed(self, keys: Collection[GangKey]) -> None:
        """Try again the gangs whose members have affinity to a pod that has just found a node."""
        self.to_try.update(keys & self.infos.keys())

    def undecided(self, keys: Iterable[GangKey]) -> None:
        """Try gangs again that a cycle took and did not decide."""
        undecided = self.infos.keys() & set(keys)
        # The cause may be an error, and the kept group may lead to the same error again.
        self.grouping.release(undecided)
        self._due.put_back(undecided)

    def untried(self, keys: Iterable[GangKey], now: int) -> None:
        """Note gangs that the last cycle had no looks left for; the next cycles try them."""
        self._due.untried.leave((key for key in keys if key in self.infos), now)

    @property
    def is_due_at_once(self) -> bool:
        """Whether the next cycle is due at once, because the last one has left gangs."""
        return self._due.untried.is_due_at_once

    def nominations_lost(self, keys: Iterable[GangKey]) -> None:
        """Try gangs again whose nominated nodes are gone."""
        self.to_try.update(keys)

    def members_of(self, key: GangKey) -> Collection[str]:
        """Return the uids of all members of a gang; equal virtual members have one uid."""
        info = self.infos.get(key)
        if info is None:
            return ()
        virtual = info.observed.virtual
        if virtual is None:
            return info.observed.members.keys()
        return [*info.observed.members, *(pod.uid for pod in virtual.prototypes)]

    def group_of(self, key: GangKey) -> GangKey:
        """Return the gang that stands for its group: the same one for every gang of the group."""
        return self.grouping.gangs_of_group(key)[0]

    def ranked(self) -> dict[GangKey, int]:
        """Return the priorities of gangs whose members have different priorities."""
        known = ((key, self.infos.get(key)) for key in self._apart)
        infos = ((key, info.observed) for key, info in known if info is not None)
        return {key: observed.priority for key, observed in infos if observed.ranks_apart}

    # The choice of gangs to try.

    def take_in(self) -> None:
        """Update the groups of gangs, and the queues if they have changed.

        This comes before usage is summed, which counts groups, and before the queue of any gang is
        looked up.
        """
        self._take_in_queues()
        for key in [*self._to_regroup]:
            self._regroup(key)
        # A running gang is tried without its group, so the group is not found through it.
        regrouped, self._regrouped = self._regrouped, set()
        self.to_try |= self.grouping.mates(regrouped)

    def regroup_in_steps(self) -> Iterator[None]:
        """Do most of `take_in` in small steps for very many gangs, which may change in between."""
        self._take_in_queues()
        if len(self._to_regroup) >= gangs_to_try.MANY:
            for key in [*self._to_regroup]:
                if key in self._to_regroup:
                    self._regroup(key)
                    yield

    def _take_in_queues(self) -> None:
        if self._round != self.queues.round:
            self._round = self.queues.round
            for info in self.infos.values():
                info.related_object_changed()

    def _regroup(self, key: GangKey) -> None:
        """Update the group of a gang; after an error the next `take_in` tries again."""
        self._to_regroup.discard(key)
        with confined("assemble", key) as step:
            self._regrouped |= self.grouping.regroup(key)
        if step.failed:
            self._to_regroup.add(key)

    @property
    def queues_are_new(self) -> bool:
        """Whether queues have changed since the last `take_in`: all groups are made again."""
        return self._round != self.queues.round

    def to_make(self, *, every: bool) -> list[GangKey]:
        """Return gangs of queues whose groups the next cycle must make, if there are very many.

        With `every`, this covers all gangs, not only the gangs to try.
        """
        keys = self.infos.keys() if every else self.to_try & self.infos.keys()
        if not self.queues.names.in_use or len(keys) < gangs_to_try.MANY:
            return []
        waiting = {key for key in keys if self.infos[key].has_pending(self.schedulers)}
        return sorted(self.grouping.not_kept(waiting))

    def may_evict(self, priority: int) -> bool:
        """Return whether a gang to try may evict pods of this priority: a quick test."""
        infos = (self.infos[key] for key in self.to_try & self.infos.keys())
        above = (info for info in infos if info.observed.priority > priority)
        in_use = self.queues.names.in_use
        return in_use or any(info.has_pending(self.schedulers) for info in above)

    def make(self, keys: Iterable[GangKey], now: int) -> Iterator[None]:
        """Make the groups of these gangs, one for each step; gangs may disappear meanwhile."""
        known = (key for key in keys if key in self.infos)
        for _ in self.grouping.groups(known, now):
            yield

    def take_due(self, now: int, *, whole: bool = True) -> tuple[GangGroup, ...]:
        """Return the groups to try now, and expect a verdict on each of their waiting gangs.

        If very many gangs have changed, some of lower priority are left to the next cycle, unless
        all are wanted (`whole`).
        """
        self.take_in()
        # The order of a queue depends on all its gangs.
        whole = whole or self.queues.names.in_use
        return self._due.take(now, whole=whole)

    def next_retry(self) -> int | None:
        """Return the end of the first backoff, in seconds since the epoch."""
        return self._due.next_retry()

    def take_made(self) -> int:
        """Return the number of gangs that were made again since the last call."""
        return self.grouping.take_made()

    # Infos.

    def _settle_failure(self, keys: Iterable[GangKey]) -> None:
        """Note which of these gangs get no more members, because their Jobs have failed."""
        for key in keys:
            info, has_failed = self.infos.get(key), self._failed_jobs.are_all(key)
            if info is not None and info.jobs_failed != has_failed:
                info.jobs_failed = has_failed
                self.changed.add(key)

    def _spec(self, gang_spec: GangSpec) -> None:
        info = self.info(gang_spec.key)
        before = info.observed.upsert_spec(gang_spec)
        self.checkpoints.seen_on_object(gang_spec)
        if info.observed.may_rank_apart:
            self._apart.add(gang_spec.key)
        if gang_spec.evictions is not None:
            self.once_evicted.add(gang_spec.key)
        if before is None:
            info.attempt.take_over(gang_spec)
            info.scaling.take_over(gang_spec)
            self.reservations.take_over(info.key, gang_spec.rests_since)
        elif (before.options, before.topology_request) != (
            gang_spec.options,
            gang_spec.topology_request,
        ):
            # A bound gang is not tried again, so its warnings would stay after their causes are
            # gone.
            info.verdict.drop_warnings()
        self._made_for.upsert(gang_spec.key, gang_spec.made_for)
        has_other_roles = self._take_roles(gang_spec.key)
        if has_other_roles or before != gang_spec:
            self._touched(gang_spec.key)
            self._give_roles(gang_spec.key)

    def _withdraw_spec(self, key: GangKey, uid: str) -> None:
        info = self.infos.get(key)
        self.checkpoints.forget_source(uid)
        if info is not None and info.observed.delete_spec(uid):
            self._touched(key)
            self._give_roles(key)

    def _give_roles(self, workload: GangKey) -> None:
        """Pass the roles that a workload declares to the gangs of objects that were made for it."""
        for key in tuple(self._made_for.of(workload)):
            if self._take_roles(key):
                self._touched(key)

    def _take_roles(self, key: GangKey) -> bool:
        """Give a gang the roles of its workload; return whether this is news."""
        workload = self._made_for.workload_of(key)
        info = None if workload is None else self.infos.get(workload)
        return self.infos[key].observed.made_for(None if info is None else info.observed.spec)

    def info(self, key: GangKey) -> GangInfo:
        """Return the record of a gang; a new record if the gang is not known."""
        info = self.infos.get(key)
        if info is None:
            info = self.infos[key] = GangInfo(key)
            info.jobs_failed = self._failed_jobs.are_all(key)
        return info

    def _touched(self, key: GangKey) -> None:
        info = self.infos[key]
        if info.observed.empty:
            self._forget(key)
            return
        self.retries.start_over(key)
        self.queues.regrouped |= self.grouping.touched(key)
        if self.set_aside:
            self.set_aside.touched(self.grouping.gangs_of_group(key))
        self.queues.touch(key)
        self.changed.add(key)
        self.to_try.add(key)
        self._to_regroup.add(key)

    def _requeue(self, keys: AbstractSet[GangKey]) -> None:
        """Note that gangs may be in another queue, because of another object such as their Job."""
        for key in keys & self.infos.keys():
            self.infos[key].related_object_changed()
            self.queues.touch(key)
            self.to_try.add(key)
            self._to_regroup.add(key)

    def _forget(self, key: GangKey) -> None:
        self.queues.regrouped |= self.grouping.is_named(key)
        self._regrouped |= self.grouping.forget(key)
        self.queueing_hints.forget(self.infos.pop(key))
        self.retries.forget(key)
        self._due.forget(key)
        self.reservations.forget(key)
        self.checkpoints.forget(key)
        self._by_workload.forget(key)
        self.queues.forget(key)
        self._made_for.forget(key)
        for keys in (
            self.changed,
            self.reworded,
            self._to_regroup,
            self._regrouped,
            self._apart,
            self.once_evicted,
        ):
            keys.discard(key)
