"""Reports decisions and their results: Events on gangs, log lines and warnings."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.outcomes import GangBinding
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.internal_errors import confined
from gang_scheduler.model import refs
from gang_scheduler.model.causes.gangs import PreemptionGivenUp
from gang_scheduler.model.consequences import GangEvent
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Placed, Plan, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.reasons import RULES, Cause, Problem, Reason, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import counted
from gang_scheduler.report.administrator_events import ForeignClaimEvents
from gang_scheduler.report.decision_log import DecisionLog
from gang_scheduler.report.events import About, Events, described
from gang_scheduler.report.failure_events import RefusalEvents
from gang_scheduler.report.pod_events import UNTOLD_BY_GANG, PodEvents
from gang_scheduler.report.queues import gang_texts
from gang_scheduler.report.queues.gang_texts import EvictionTexts
from gang_scheduler.report.words import messages
from gang_scheduler.report.words.messages import by_reason, describe
from gang_scheduler.report.words.text import text_if_any, text_of
from gang_scheduler.report.workload_events import MisplacedRequestEvents, UnprotectedJobs
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.queues.reservations_in_force import News

UNTOLD = UNTOLD_BY_GANG | those_with(lambda rule: rule.event is GangEvent.PREEMPTING)
WAITING_FOR_ROOM = "WaitingForRoom"
"""The reason of Events on pods that terminate already. `Preempting` means that pods are evicted."""
NAMES_SHOWN = 10
GANGS_SHOWN = 3


class GangEvents:
    """Events and log lines about decisions on gangs."""

    def __init__(self, cache: Cache, events: Events, pod_events: PodEvents, naming: Naming) -> None:
        self._cache = cache
        self._events = events
        self._pod_events = pod_events
        self._naming = naming
        self._eviction_texts = EvictionTexts(cache, naming)
        self.decision_log = DecisionLog(cache.gang_queue.infos)
        self._unprotected_jobs = UnprotectedJobs(cache, events, self._object)
        self._refusals = RefusalEvents(cache.refused_shapes, events, self._object)
        self._foreign_claims = ForeignClaimEvents(cache.devices.foreign_claims, events)
        requests = cache.gang_queue.misplaced_requests.by_uid
        self._misplaced_requests = MisplacedRequestEvents(requests, cache.schedulers, events)

    def planned(self, plan: Plan, now: int, unchanged: AbstractSet[GangKey] = frozenset()) -> None:
        """Report warnings, why gangs wait, and which gangs wait too long. `now` is in seconds.

        Refused gangs that are `unchanged` are not reported: they wait as before.
        """
        self.decision_log.verdicts(plan)
        for placed in plan.placed:
            waits_for_pods = placed.gang.suspended is not None
            if placed.gang.queue is not None and placed.gang.quorum and not waits_for_pods:
                with confined("report", str(placed.gang.key)):
                    self._admitted(placed, placed.gang.queue)
        for refused in plan.refused:
            if refused.gang.key not in unchanged:
                with confined("report", refused.gang.key):
                    self._waits(refused, now)
        with confined("report", "warnings"):
            self._warned(plan)
            self._unprotected_jobs.planned(plan)
            self._misplaced_requests.tell()
            self._refusals.tell()
            self._foreign_claims.tell()
        for preemption in plan.preemptions:
            if preemption.nominations:
                with confined("report", str(preemption.gangs[0].key)):
                    self._preempting(preemption)

    def promised(self, news: Iterable[News]) -> None:
        """Report the starts that are promised to gangs, and starts that were moved to later."""
        for each in news:
            said = gang_texts.event_of(each)
            if said is not None and each.now is not None:
                gang = next(gang for gang in each.now.gangs if gang.key == each.key)
                self._events.record(self._about(gang), *said)

    def _waits(self, refused: Refused, now: int) -> None:
        self.decision_log.waits(refused)
        info = self._cache.gang_queue.infos.get(refused.gang.key)
        if refused.reason not in UNTOLD:
            self._refused(refused, info)
        deadline = self._cache.gang_queue.deadlines.of(info) if info else None
        if deadline is not None and now >= deadline and not refused.left_over:
            note = "not bound within the schedule timeout; it stays in the queue"
            about = self._about(refused.gang)
            self._events.record(about, "SchedulingTimeout", note, warning=True)

    def _admitted(self, placed: Placed, queue: QueueRef) -> None:
        flavors = dict(each for bind in placed.binds for each in bind.flavors)
        where = ", ".join(f"{resource} in {flavor}" for resource, flavor in flavors.items())
        note = f"Admitted by queue {queue}{f': {where}' if where else ''}"
        about = self._about(placed.gang)
        self._events.record(about, "Admitted", note)
        if placed.borrows:
            self._events.record(about, "Borrowing", f"Queue {queue} borrows quota for this gang")

    def preempted(self, preemption: Preemption) -> None:
        """Report preemptions to the gangs of victims, and to pods without a gang."""
        members: dict[GangKey, list[Pod]] = defaultdict(list)
        for victim in preemption.victims:
            members[victim.gang].append(victim.pod)
        for key, pods in members.items():
            self.decision_log.evicted(key, pods, preemption)
            by = self._naming.preemptor(preemption, key.namespace)
            orphans = sum(not pod.owner for pod in pods)
            about = self._of_gang(key, pods)
            freed = _freed(pods, preemption)
            lost = f"{_who(key, pods)}{freed}{_for_good(orphans, len(pods))}"
            if preemption.drained is None:
                note = f"Preempted by {by}{lost}"
                self._events.record(about, "Preempted", note, warning=orphans > 0)
            else:
                note = f"Evicted: {by} is drained{lost}"
                self._events.record(about, "Drained", note, warning=orphans > 0)
            info = self._cache.gang_queue.infos.get(key)
            if info is not None and (less := messages.scaled_down(info, pods, by)):
                self._scaled(about, key, messages.SCALED_DOWN, less)
            if preemption.classes.get(key) is EvictionClass.RECLAIM:
                self._events.record(about, "Reclaimed", self._eviction_texts.reclaimed(key))

    def checkpoint(self, key: GangKey, event: str, note: str, *, warning: bool) -> None:
        """Report the outcome of the gang's checkpoint, if the gang still has members."""
        info = self._cache.gang_queue.infos.get(key)
        if info is not None and (info.observed.members or described(info)):
            self._events.record(About.of_gang(info), event, note, warning=warning)

    def starts_anew(self, preemption: Preemption) -> None:
        """Send a gang the Event that it is evicted whole: its domain has no room for all of it."""
        (gang,), pods = preemption.gangs, [victim.pod for victim in preemption.victims]
        orphans = sum(not pod.owner for pod in pods)
        who = f"{_who(gang.key, pods)}{_for_good(orphans, len(pods))}"
        note = f"Evicted whole to start anew: its domain has no room for lost members{who}"
        # If an earlier process began the eviction, the victims may be the only members left.
        about = self._of_gang(gang.key, gang.pending or gang.bound_members or pods)
        self._events.record(about, "EvictedWhole", note, warning=True)

    def withdrawn(self, preemption: Preemption, why: Cause) -> None:
        """Report that room could not be made. A failed drain is not reported: it is tried again."""
        if not preemption.gangs:
            return
        gang = preemption.gangs[0]
        self.decision_log.withdrawn(gang, why)
        self._failed(self._about(gang), text_of(PreemptionGivenUp(why)))

    def victim_is_stuck(self, key: GangKey, victim: Pod) -> None:
        """Send a gang the Event that a pod on its nominated node does not terminate in time."""
        info = self._cache.gang_queue.infos.get(key)
        if info is not None and info.observed.living:
            name = self._naming.pod(victim, key.namespace)
            note = f"pod {name} on {victim.node} should be gone and still holds its room"
            self._events.record(About.of_gang(info), WAITING_FOR_ROOM, note, warning=True)

    def bound(self, binding: GangBinding) -> None:
        """Report that a gang was bound, or why not all of its members were."""
        self._pod_events.bound(binding)
        about = self._about(binding.gang)
        if not binding.failed:
            self.decision_log.bound(binding)
            self._events.record(about, "Scheduled", _where(binding))
            if grown := messages.scaled_up(binding.gang, binding.placed.binds):
                self._scaled(about, binding.gang.key, messages.SCALED_UP, grown)
            return
        note = text_if_any(binding.refusal().cause)
        self.decision_log.not_bound(binding, note)
        self._failed(about, note)

    def _failed(self, about: About, note: str) -> None:
        """Report an attempt that failed."""
        event = GangEvent.FAILED_SCHEDULING.value
        self._events.record(about, event, note, warning=True, failed_attempt=True)

    def _scaled(self, about: About, key: GangKey, event: str, workers: str) -> None:
        self.decision_log.scaled(key, event, workers)
        self._events.record(about, event, workers)

    def waits_for_claims(self, gang: Gang, reason: Reason, cause: Cause) -> None:
        """Report which claims a gang waits for while its room is held."""
        self.decision_log.waits(Refused(gang, reason, gang.pending, cause=cause))
        self._events.record(self._about(gang), reason, text_of(cause))

    def _refused(self, refused: Refused, info: GangInfo | None) -> None:
        gang, event = refused.gang, RULES[refused.reason].event
        if event is GangEvent.FAILED_SCHEDULING:
            spec = None if info is None else _declared_by(info)
            if spec is None and self._tells_pods(gang):
                return
            uid = spec.uid if spec is not None else self._about(gang).uid
            if self._events.is_quiet(uid, gang.key, event.value, warning=True):
                return
        # An invalid gang is not tried again, so its problem must be reported now.
        self._events.record(self._about(gang), event.value, describe(refused), warning=True)

    def _tells_pods(self, gang: Gang) -> bool:
        """Return whether each pod of a gang gets a message why it waits, or only the gang."""
        return self._pod_events.enabled and gang.key.source != refs.SINGLE.name

    def _warned(self, plan: Plan) -> None:
        """Report all problems of a gang for one reason in one Event."""
        problems: dict[GangKey, list[Problem]] = defaultdict(list)
        for warned in plan.warned:
            problems[warned.gang.key].append(warned.problem)
        gangs = {warned.gang.key: warned.gang for warned in plan.warned}
        for key, gang in gangs.items():
            for reason, note in by_reason(problems[key]).items():
                self._events.record(self._about(gang), reason, note, warning=True)

    def _preempting(self, preemption: Preemption) -> None:
        self.decision_log.preempting(preemption)
        where = f" in {preemption.domain}" if preemption.domain else ""
        terminating = self._terminating({bind.node for bind in preemption.nominations})
        for gang in preemption.gangs:
            pods = [each.pod for each in preemption.victims]
            names = (self._naming.pod(pod, gang.key.namespace) for pod in pods)
            reason = "Preempting"
            whole = self._whole(preemption, gang.key.namespace)
            shown = _few(names, len(pods))
            freed = _freed(pods, preemption)
            note = f"Evicting {_pods(len(pods))} to make room{where}{whole}: {shown}{freed}"
            if not pods:
                reason = WAITING_FOR_ROOM
                names = (self._naming.pod(pod, gang.key.namespace) for pod in terminating)
                shown = f": {_few(names, len(terminating))}" if terminating else ""
                note = f"Waiting for pods that are terminating to make room{where}{shown}"
            self._events.record(self._about(gang), reason, note)

    def _terminating(self, nodes: Collection[str]) -> Sequence[Pod]:
        """Return the terminating pods on nodes, in the order of their names."""
        uids = (uid for node in nodes for uid in self._cache.node_usage.uids_on(node))
        found = (pod for uid in uids if (pod := self._cache.pod(uid)) is not None and pod.deleting)
        return sorted(found, key=lambda pod: pod.key)

    def _whole(self, preemption: Preemption, namespace: str) -> str:
        """Return the gangs that lose all their bound pods, as a namespace may know them."""
        lost = Counter(victim.gang for victim in preemption.victims)
        names = [
            self._naming.gang(key, info.observed.spec.uid, namespace)
            for key, number in lost.items()
            if (info := self._cache.gang_queue.infos.get(key)) is not None
            and info.observed.spec is not None
            and key.source != refs.SINGLE.name
            and number == sum(1 for pod in info.observed.living if pod.node)
        ]
        shown = ", ".join(names[:GANGS_SHOWN])
        more = f" and {len(names) - GANGS_SHOWN} more" if len(names) > GANGS_SHOWN else ""
        if not names:
            return ""
        return f" (all of {'gang' if len(names) == 1 else 'gangs'} {shown}{more})"

    def _about(self, gang: Gang) -> About:
        return self._of_gang(gang.key, gang.pending or gang.bound_members)

    def _of_gang(self, key: GangKey, pods: Iterable[Pod]) -> About:
        """Return the object that describes the gang, or the first of these pods by name."""
        info = self._cache.gang_queue.infos.get(key)
        return (described(info) if info is not None else None) or About.of_first(pods, key)

    def _object(self, key: GangKey, pod: Pod) -> About:
        """Return the object for an Event that is not only about this gang."""
        return replace(self._of_gang(key, (pod,)), gang=None)


def _declared_by(info: GangInfo) -> GangSpec | None:
    """Return the spec from the object that declares a gang; None if no object declares it."""
    spec = info.observed.spec
    return None if spec is None or spec.gvr is None else spec


def _where(binding: GangBinding) -> str:
    binds = binding.placed.binds
    if len(binds) == 1:
        return f"Successfully assigned {binds[0].pod.key} to {binds[0].node}"
    nodes = list(dict.fromkeys(bind.node for bind in binds))
    shown = _few(nodes, len(nodes))
    return f"Successfully assigned {len(binds)} members to {counted(len(nodes), 'node')}: {shown}"


def _few(names: Iterable[str], number: int) -> str:
    shown = ", ".join(itertools.islice(names, NAMES_SHOWN))
    return shown + (f" and {number - NAMES_SHOWN} more" if number > NAMES_SHOWN else "")


def _who(key: GangKey, pods: Sequence[Pod]) -> str:
    if key.source == refs.SINGLE.name:
        return ""
    return f": {len(pods)} members: {_few((pod.name for pod in pods), len(pods))}"


def _freed(pods: Iterable[Pod], preemption: Preemption) -> str:
    """Return the devices that become free with these victims, as a part of a message."""
    uses = (preemption.frees.get(pod.uid, ()) for pod in pods)
    devices = sorted(set(itertools.chain.from_iterable(uses)))
    shown: dict[tuple[str, str], list[str]] = {}
    for each in devices[:NAMES_SHOWN]:
        shown.setdefault((each.driver, each.pool), []).append(each.device)
    if not shown:
        return ""
    pools = (f"{driver} {pool}/{', '.join(names)}" for (driver, pool), names in shown.items())
    left = len(devices) - NAMES_SHOWN
    return f"; frees {'; '.join(pools)}{f' and {left} more' if left > 0 else ''}"


def _for_good(orphans: int, number: int) -> str:
    """Return a warning about pods without an owner: no controller recreates them."""
    if not orphans:
        return ""
    if number == 1:
        return "; it has no owner: no controller will create it again"
    return f"; {orphans} of them have no owner: no controller will create these again"


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"
