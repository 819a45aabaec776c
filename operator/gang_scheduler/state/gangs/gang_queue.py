"""Who is in which gang, and which gangs are worth a try."""

from collections.abc import Collection, Iterable, Mapping

from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.gangs import Gang, GangGroup, GangKey, Reason
from gang_scheduler.model.plan import Refused, Warned
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import JobPods
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.gangs.backoff import LAST_RETRY_SECONDS, REST_RETRY_SECONDS, Retries
from gang_scheduler.state.gangs.gang_info import GangInfo, Preempting
from gang_scheduler.state.gangs.grouping import NOTHING_COMES, Grouping
from gang_scheduler.state.gangs.job_sizes import JobSizes
from gang_scheduler.state.gangs.preemption_eligibility import MOST_ROUNDS, PreemptionEligibility
from gang_scheduler.state.gangs.queueing_hints import QueueingHints, is_news

WITH_BACKOFF = frozenset({Reason.UNSCHEDULABLE, Reason.WAITING_FOR_VICTIMS, Reason.INTERNAL_ERROR})
"""What only time may change, too: then a gang is tried again after a backoff."""


class GangQueue:
    """All gangs, and the set of those to try in the next cycle.

    A gang is tried when something about itself or its group changed, when room was freed or the
    network changed and that may help it, and after a backoff as a safety net. So a cycle costs what
    changed, not what waits.
    """

    def __init__(
        self,
        schedulers: Iterable[str],
        timeout_seconds: int = 600,
        evictable_pods: EvictablePods | None = None,
    ) -> None:
        self.schedulers = frozenset(schedulers)
        self.infos: dict[GangKey, GangInfo] = {}
        self.changed: set[GangKey] = set()
        """Of whom something else is to be said than before."""
        self.reworded: set[GangKey] = set()
        """Of whom the same is to be said in other numbers."""
        self._timeout_seconds = timeout_seconds
        self._objects: dict[str, dict[str, tuple[GangKey, ...]]] = {}
        self._to_try: set[GangKey] = set()
        self._apart: set[GangKey] = set()
        self._job_sizes = JobSizes()
        self._retries = Retries(self.infos)
        self._grouping = Grouping(
            self.infos,
            self.schedulers,
            job_sizes=self._job_sizes,
            preemption_eligibility=PreemptionEligibility(evictable_pods or EvictablePods()),
            retries=self._retries,
            changed=self.changed,
        )
        self._queueing_hints = QueueingHints(self.infos)
        self.waiting = self._queueing_hints.waiting
        """How many gangs wait, by reason."""

    def expect_nothing(self) -> None:
        """Wait for no pods that may still come: all are there that there will ever be."""
        self._grouping.patience = NOTHING_COMES

    # What is seen.

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Add or replace a member."""
        info = self._info(key)
        info.upsert_member(pod)
        if info.may_rank_apart:
            self._apart.add(key)
        self._job_sizes.upsert_member(key, pod)
        self._touched(key)

    def member_reclassified(self, key: GangKey, pod: Pod) -> None:
        """Replace a member of which only what other pods ask of it is new."""
        self._info(key).upsert_member(pod)

    def delete_member(self, key: GangKey, uid: str) -> None:
        """Forget a member whose object is gone."""
        info = self.infos.get(key)
        if info is not None and info.delete_member(uid):
            self._touched(key)

    def upsert_gang_specs(self, api_group: str, uid: str, declared: Iterable[GangSpec]) -> None:
        """Add or replace what an object says of its gangs."""
        declared = tuple(declared)
        known = self._objects.setdefault(api_group, {})
        for key in set(known.get(uid, ())) - {each.key for each in declared}:
            self._unsaid(key, uid)
        known[uid] = tuple(each.key for each in declared)
        for each in declared:
            self._spec(each)

    def delete_gang_specs(self, api_group: str, uid: str) -> None:
        """Forget an object that described gangs."""
        for key in self._objects.get(api_group, {}).pop(uid, ()):
            self._unsaid(key, uid)

    def objects(self, api_group: str) -> Mapping[str, tuple[GangKey, ...]]:
        """Return the objects of an API group that describe gangs, by uid."""
        return self._objects.get(api_group, {})

    def upsert_job(self, uid: str, pods: JobPods | None) -> None:
        """Note how many pods a Job can have; None forgets it."""
        self._to_try |= self._job_sizes.upsert(uid, pods) & self.infos.keys()

    def room_freed(self) -> None:
        """Try again all gangs that were short of room, or of a layer: nodes make those."""
        self._queueing_hints.room_freed()

    def topologies_changed(self) -> None:
        """Try again all gangs that other trees may help; others may be in another domain now."""
        self._queueing_hints.topologies_changed()
        self.changed.update(self.infos)

    def matches_came(self, keys: Collection[GangKey]) -> None:
        """Try gangs again that wait for pods such as have just found a node."""
        self._to_try.update(keys & self.infos.keys())

    def undecided(self, keys: Iterable[GangKey]) -> None:
        """Try gangs again that were taken for a cycle and got no verdict in it."""
        self._to_try.update(self.infos.keys() & set(keys))

    def nominations_lost(self, keys: Iterable[GangKey]) -> None:
        """Try gangs again whose nominated nodes are gone."""
        self._to_try.update(keys)

    def ranked(self) -> dict[GangKey, int]:
        """Return the priorities of gangs of which some members have others."""
        known = ((key, self.infos.get(key)) for key in self._apart)
        return {key: info.priority for key, info in known if info and info.ranks_apart}

    # What is to be tried.

    def take_due(self, now: int) -> tuple[GangGroup, ...]:
        """Return the groups to try now, and expect a verdict on each of their waiting gangs."""
        due = self._retries.due(now) | self._queueing_hints.helped()
        self._to_try |= {key for key in due if self.infos[key].standing is None}
        for key in list(self._to_try):
            with confined("assemble", str(key)):
                self._to_try |= self._grouping.listen(key)
        for key in self._to_try:
            self.infos[key].standing = None
        groups = list(self._grouping.groups(sorted(self._to_try | due), now))
        self._to_try.clear()
        for gang in (gang for group in groups for gang in group.gangs):
            if not gang.pending and not self.infos[gang.key].volume_waits:
                self._queueing_hints.note(self.infos[gang.key], None)
        return tuple(group for group in groups if group.waiting)

    def next_retry(self) -> int | None:
        """Return when the first backoff ends, in seconds since the epoch."""
        return self._retries.next()

    def deadline(self, info: GangInfo) -> int | None:
        """Return when the schedule timeout ends, in seconds since the epoch; None: not running."""
        if info.quorum_since is None:
            return None
        spec = info.spec
        own = spec.options.timeout_seconds if spec else None
        return info.quorum_since + (own or self._timeout_seconds)

    # What came of it.

    def placed(self, key: GangKey) -> None:
        """Note that the scheduler found room for a gang's quorum."""
        info = self._info(key)
        # What the API server refused last time stands until it takes it.
        self._judged(info, info.refusal if info.failed_binds else None)
        info.retry_at = info.preempting = None
        info.written = False
        self.changed.add(key)

    def refused(self, refusal: Refused, now: int) -> None:
        """Note why a gang waits, and when to try again if nothing happens before."""
        info = self._info(refusal.gang.key)
        deadline = self.deadline(info)
        late = deadline is not None and now >= deadline
        if is_news(info, refusal, late=late):
            self.changed.add(info.key)
        elif info.refusal != refusal:
            self.reworded.add(info.key)
        info.late = late
        self._judged(info, refusal, refusal.reason)
        if refusal.reason is not Reason.WAITING_FOR_VICTIMS:
            info.preempting = None
        if refusal.reason in WITH_BACKOFF:
            self._retries.later(info, now, deadline)
        elif deadline is not None and now < deadline:
            self._retries.at(info, deadline)

    def warned(self, warned: Warned) -> None:
        """Note what people should know of a gang, after the verdict of the same try."""
        info = self._info(warned.gang.key)
        info.warnings = tuple(dict.fromkeys((*(info.warnings or ()), warned.problem)))
        self.changed.add(info.key)

    def bound(self, key: GangKey) -> None:
        """Note that all members of a plan were bound."""
        info = self.infos.get(key)
        if info is not None:
            info.failed_binds = 0
            self._queueing_hints.note(info, None)
            self.changed.add(key)
            info.standing = None
            self._became_whole(info)

    def joined(self, gang: Gang, pods: Collection[Pod]) -> None:
        """Note that members were bound that their gang does not wait for."""
        info = self.infos.get(gang.key)
        if info is None:
            return
        self.changed.add(gang.key)
        if gang.singly or gang.quorum <= 1:
            self._became_whole(info)
        info.standing = None
        uids = {pod.uid for pod in pods}
        if info.refusal is not None and uids.issuperset(pod.uid for pod in info.refusal.pods):
            info.failed_binds = 0
            self._queueing_hints.note(info, None)

    def bind_failed(self, refusal: Refused, now: int) -> None:
        """Note why a binding failed; and do not try again at once, it may fail again."""
        key = refusal.gang.key
        info = self.infos.get(key)
        if info is not None:
            self._queueing_hints.note(info, refusal)
            self.changed.add(key)
            self._to_try.discard(key)
            # Forgetting the failed binds has just reset the other count.
            info.retries = info.failed_binds
            most = REST_RETRY_SECONDS if refusal.gang.partially_bound else LAST_RETRY_SECONDS
            self._retries.later(info, now, self.deadline(info), most)
            info.failed_binds = info.retries

    def hold(self, key: GangKey, *, joins: bool = False) -> None:
        """Note that members wait for claims, whose room is held meanwhile.

        Those that join a gang are none that it waits for.
        """
        info = self.infos.get(key)
        if info is not None:
            info.volume_waits += 1
            info.standing = None
            info.quorum_waits |= not joins

    def held(self, refusal: Refused) -> None:
        """Note which claims a gang waits for that is held."""
        info = self.infos.get(refusal.gang.key)
        if (
            info is not None
            and info.volume_waits
            and (info.refusal is None or info.refusal.cause != refusal.cause)
        ):
            self._queueing_hints.note(info, refusal)
            self.changed.add(info.key)

    def let_go(self, key: GangKey, *, joins: bool = False) -> None:
        """Note that members wait for claims no more, for better or worse, and look at all again."""
        info = self.infos.get(key)
        if info is None or not info.volume_waits:
            return
        info.volume_waits -= 1
        info.quorum_waits &= joins
        refusal = info.refusal
        if not info.volume_waits and refusal and refusal.reason is Reason.WAITING_FOR_VOLUMES:
            self._queueing_hints.note(info, None)
        self.changed.add(key)
        self._to_try.add(key)

    def preempting(
        self, keys: Iterable[GangKey], now: int, victims: Collection[str] = (), domain: str = ""
    ) -> None:
        """Note that victims, by their uids, are being evicted for these gangs."""
        for key in keys:
            info = self._info(key)
            info.preempting = Preempting(now, tuple(victims), domain)
            info.rounds = (*info.rounds, now)[-MOST_ROUNDS:]
            info.standing = None
            self.changed.add(key)

    def preemption_over(self, keys: Iterable[GangKey]) -> None:
        """Note that the preemption for these gangs was given up; they are to be tried again."""
        for key in self.infos.keys() & set(keys):
            if self.infos[key].preempting is not None:
                self.infos[key].preempting = None
                self.changed.add(key)
                self._to_try.add(key)

    def preempted(self, key: GangKey, by: str) -> None:
        """Note who takes members of a gang, until it is whole again."""
        info = self.infos.get(key)
        if info is not None:
            info.taken_from(by)
            self.changed.add(key)

    def _became_whole(self, info: GangInfo) -> None:
        """Note it at once: by the time the watch shows it, a member may already be gone again."""
        if info.become_whole():
            # It holds back no other gang of its group any more, and the cycle will see no news.
            bound_members = self._grouping.bound_members(info.key)
            self._to_try.update(key for key in bound_members if not self.infos[key].was_whole)

    def _judged(
        self, info: GangInfo, refusal: Refused | None, reason: Reason | None = None
    ) -> None:
        self._queueing_hints.note(info, refusal)
        self._queueing_hints.tried(info, reason)
        info.warnings = ()
        info.tried = True

    # Infos.

    def _spec(self, gang_spec: GangSpec) -> None:
        info = self._info(gang_spec.key)
        before = info.specs.get(gang_spec.uid)
        info.upsert_spec(gang_spec)
        if info.may_rank_apart:
            self._apart.add(gang_spec.key)
        if before is None:
            info.was_whole |= gang_spec.was_scheduled
            info.quorum_since = info.quorum_since or gang_spec.quorum_since
        elif (before.options, before.topology_request) != (
            gang_spec.options,
            gang_spec.topology_request,
        ):
            # A gang that is bound is not tried again, and what it was warned of may be gone.
            info.warnings = ()
        if before != gang_spec:
            self._touched(gang_spec.key)

    def _unsaid(self, key: GangKey, uid: str) -> None:
        info = self.infos.get(key)
        if info is not None and info.delete_spec(uid):
            self._touched(key)

    def _info(self, key: GangKey) -> GangInfo:
        info = self.infos.get(key)
        if info is None:
            info = self.infos[key] = GangInfo(key)
        return info

    def _touched(self, key: GangKey) -> None:
        info = self.infos[key]
        if info.empty:
            self._forget(key)
            return
        info.retries = 0
        info.standing = None
        self.changed.add(key)
        self._to_try.add(key)

    def _forget(self, key: GangKey) -> None:
        self._to_try |= self._grouping.forget(key)
        self._queueing_hints.forget(self.infos.pop(key))
        for keys in (self.changed, self.reworded, self._to_try, self._apart):
            keys.discard(key)
