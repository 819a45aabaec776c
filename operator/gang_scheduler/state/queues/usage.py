"""Which pods are charged to which queue, examined again as pods change.

`charges` adds the charges up. Only the sweep sums all of them again, to compare.

A pod is noted when it changes, and examined when usage is next read: once, however often it has
changed by then. Without queues nothing is noted.
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from gang_scheduler.model.api_words import CountOtherSchedulers
from gang_scheduler.model.bound_pods import Charged
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.queues import (
    NONE,
    Charge,
    FlavorResource,
    LocalQueueKey,
    QueueRef,
    QueueSet,
    QueueState,
    QueueUsage,
)
from gang_scheduler.model.refs import ChargedTo, GangKey
from gang_scheduler.model.resources import Requests
from gang_scheduler.model.rules import NO_SETTINGS, Rules
from gang_scheduler.state.queues.charges import Amounts, ChargedFlavors, Entry, Flavors, Tallies
from gang_scheduler.state.queues.queues_of_gangs import QueuesOfGangs, Resolved
from gang_scheduler.state.terminating import charged_until

PODS_A_PART: Final = 1_000
"""How many pods are charged at once ahead of a cycle."""
PODS_A_GANG: Final = 10
"""The charges of this many pods cost as much time as one gang of a snapshot."""
MOST_KNOWN: Final = 10_000
"""At most this many distinct requests in flavors are kept, of 1 KB each; then all are forgotten."""


class Counted(NamedTuple):
    """A pod, the node whose room it uses, and its gang; None for another scheduler's pod.

    `node` is "" for a pod that has no node, or has ended: it is charged to no queue. A pod of a
    suspended workload stands for `number` equal pods.
    """

    pod: Pod
    gang: GangKey | None
    node: str
    number: int = 1


_NO_MATE: Final[tuple[Counted | None, Entry | None]] = None, None


class _Bound(NamedTuple):
    """The queue and flavors that a pod is charged from its binding to its end.

    Edits of the pod do not change them. `decided` are the flavors of the binding; if empty, the
    node decides.
    """

    ref: QueueRef
    decided: Flavors


class _Made(NamedTuple):
    """The inputs of an entry, in addition to the class of the pod."""

    ref: QueueRef
    flavors: Flavors
    waits: bool
    number: int


class Pods(Protocol):
    """All pods, as they are counted."""

    def counted(self, uid: str) -> Counted | None:
        """Return a pod; None if it is gone."""

    def counted_uids(self) -> Iterable[str]:
        """Return the uids of all pods, including pods of suspended workloads."""


class Gangs(Protocol):
    """The lookups about gangs that charging needs."""

    queues: QueuesOfGangs

    def members_of(self, key: GangKey) -> Iterable[str]:
        """Return the uids of the members of a gang."""

    def group_of(self, key: GangKey) -> GangKey:
        """Return one gang for each group of gangs."""


class QueueUsageStore:
    """Usage of all queues."""

    def __init__(
        self,
        gangs: Gangs,
        labels_of: Callable[[str], Mapping[str, str]],
        rules: Rules = NO_SETTINGS,
    ) -> None:
        self._gangs = gangs
        self._names = gangs.queues.names
        self._labels_of = labels_of
        self._rules = rules
        labelled = rules.queues.count_other_schedulers is CountOtherSchedulers.LABELLED
        self._counts_others = labelled
        self._now = 0
        self._leaving: list[tuple[int, str]] = []
        self._until: dict[str, int] = {}
        self._decided: dict[str, Flavors] = {}
        self._held: dict[str, Flavors] = {}
        self._by_hold: set[str] = set()
        self._bound: dict[str, _Bound] = {}
        self._dirty: dict[str, None] = {}
        self._resolved: dict[GangKey, Resolved] = {}
        self._known: dict[tuple[Flavors, Requests], Amounts] = {}
        self._flavors: ChargedFlavors | None = None
        self._alike: dict[GangKey, tuple[Counted, Entry | None]] = {}
        self._last_made: dict[GangKey, tuple[PodClass, _Made, Entry]] = {}
        self._tallies = Tallies(gangs.group_of)
        self._round = 0
        self._found = 0
        self._by_local: frozenset[QueueRef] = frozenset()

    # Events and decisions.

    def touch(self, uid: str) -> None:
        """Note that a pod has changed, or is gone."""
        if self._flavors is not None:
            self._dirty[uid] = None

    def touch_all(self, uids: Iterable[str]) -> None:
        """Note that the node of these pods has changed."""
        if self._flavors is not None:
            self._flavors.node_changed()
            self._dirty.update(dict.fromkeys(uids))

    def decide(self, uid: str, flavors: Flavors) -> None:
        """Note a pod's flavors until its binding names them; () forgets them."""
        if flavors == self._decided.get(uid, ()):
            return
        if flavors:
            self._decided[uid] = flavors
        else:
            del self._decided[uid]
        self.touch(uid)

    def hold(self, uid: str, flavors: Flavors) -> None:
        """Charge a waiting pod in these flavors, because nodes are requested for it."""
        if self._held.get(uid) != flavors:
            self._held[uid] = flavors
            self.touch(uid)

    def release(self, uid: str) -> None:
        """Stop charging a waiting pod."""
        if self._held.pop(uid, None) is not None:
            self.touch(uid)

    def is_held(self, uid: str) -> bool:
        """Return whether a pod is charged only because of requested nodes, as last settled."""
        return uid in self._by_hold

    # Results.

    def next_end(self) -> int | None:
        """Return when the next pod that hangs in its deletion is no longer charged, in seconds."""
        return self._leaving[0][0] if self._leaving else None

    def settle(self, pods: Pods, now: int) -> tuple[QueueState | None, set[QueueRef]]:
        """Return the state of all queues, and the queues that hold less than at the last call.

        None without queues. The cost grows with the number of changes, and with all pods when
        queues have changed. `now` is in seconds.
        """
        queue_set = self._take_in(pods, now)
        if queue_set is None:
            return None, set()
        self._charge([*self._dirty], pods)
        usage, freed = self._tallies.settle()
        return QueueState(queue_set, usage), freed

    def settle_part(self, pods: Pods, now: int) -> bool:
        """Do a part of the next `settle` ahead of it; return whether there is another part."""
        if self._take_in(pods, now) is not None:
            self._charge([*itertools.islice(self._dirty, PODS_A_PART)], pods)
        return bool(self._dirty)

    def _take_in(self, pods: Pods, now: int) -> QueueSet | None:
        """Note which pods must be charged again. Return the queues; None if there are none."""
        self._now = max(now, self._now)
        queue_set = self._names.known.queue_set()
        if queue_set is None:
            self._clear()
            return None
        if self._flavors is None or self._round != self._gangs.queues.round:
            self._begin(queue_set, pods)
        self._take_in_gangs()
        while self._leaving and self._leaving[0][0] <= self._now:
            until, uid = heapq.heappop(self._leaving)
            if self._until.get(uid) == until:
                del self._until[uid]
            self._dirty[uid] = None
        return queue_set

    def _charge(self, uids: Sequence[str], pods: Pods) -> None:
        """Charge these pods again."""
        self._found += len(uids)
        for uid in uids:
            self._dirty.pop(uid, None)
            self._by_hold.discard(uid)
            counted = pods.counted(uid)
            if counted is None or not counted.node:
                self._bound.pop(uid, None)
            self._tallies.put(uid, self._entry(counted))
        self._forget_mates()

    def take_work(self) -> float:
        """Return the work since the last call, counted in gangs of a snapshot (PODS_A_GANG)."""
        found, self._found = self._found, 0
        return found / PODS_A_GANG

    def charge_of(self, uid: str) -> Charged | None:
        """Return the charge of a pod and its queue, as usage was last settled."""
        return self._tallies.charged.get(uid)

    def asked_by(self, uids: Iterable[str]) -> Charge:
        """Return the sum of the requests of waiting pods, as usage was last settled."""
        found = Counter[FlavorResource]()
        for uid in uids:
            entry = self._tallies.entries.get(uid)
            if entry is not None and entry.waits:
                found.update(dict(entry.amounts))
        return found

    def charged(self) -> dict[str, Charged]:
        """Return the charges, with their queues, of pods on nodes and of nominated pods, by uid."""
        return dict(self._tallies.charged)

    def differences(self, pods: Pods) -> int:
        """Compare with a new sum, and use that if figures differ; return how many do.

        Linear in pods.
        """
        state, _ = self.settle(pods, self._now)
        if state is None:
            return 0
        recounted = Tallies(self._gangs.group_of)
        for uid in pods.counted_uids():
            recounted.put(uid, self._entry(pods.counted(uid)))
        self._forget_mates()
        usage, _ = recounted.settle()
        number = _differences(usage, state.usage)
        if number:
            self._tallies = recounted
        return number

    def _clear(self) -> None:
        if self._flavors is not None:
            self._flavors = None
            self._tallies = Tallies(self._gangs.group_of)
            self._resolved.clear()
            self._known.clear()
            self._bound.clear()
            self._dirty.clear()
            self._leaving.clear()
            self._until.clear()
            self._gangs.queues.summed = False
            self._gangs.queues.touched.clear()

    def _begin(self, queue_set: QueueSet, pods: Pods) -> None:
        self._flavors = ChargedFlavors(queue_set, self._labels_of)
        self._gangs.queues.summed = True
        self._round = self._gangs.queues.round
        counts = self._rules.queues.usage_half_life_seconds > 0
        ordered = (each.ref for each in queue_set.queues if counts and each.by_local_usage)
        self._by_local = frozenset(ordered)
        self._resolved.clear()
        self._known.clear()
        self._dirty.update(dict.fromkeys((*pods.counted_uids(), *self._tallies.entries)))

    def _take_in_gangs(self) -> None:
        """Note the pods of gangs that are now in another queue."""
        queues = self._gangs.queues
        if queues.regrouped:
            queues.regrouped = False
            self._tallies.groups_changed()
        for key in queues.touched:
            before, resolved = self._resolved.pop(key, None), queues.of(key)
            members = self._gangs.members_of(key)
            if resolved is not None and members:
                self._resolved[key] = resolved
            if before != resolved:
                self._dirty.update(dict.fromkeys(members))
        queues.touched.clear()

    def _entry(self, counted: Counted | None) -> Entry | None:
        """Return the entry of a pod; None if it neither uses quota nor waits for it."""
        if counted is None:
            return None
        pod, gang, node, _ = counted
        if pod.deleting and node and self._hangs(pod):
            return None
        is_member = gang is not None and pod.living
        nominated = pod.nominated if is_member and not node else ""
        held = self._held.get(pod.uid) if is_member else None
        if held is not None and not (node or nominated):
            self._by_hold.add(pod.uid)
        if not (node or nominated) and held is None:
            return self._waiting(counted) if is_member and not pod.node else None
        resolved = self._gangs.queues.of(gang) if gang is not None else None
        said = _of_binding(pod)
        decided = said.flavors or self._decided.get(pod.uid, held or ())
        ref = self._ref(pod, gang, resolved, said)
        if node and ref is not None:
            is_known = bool(said.queue) and ref == self._names.written(said.queue)
            is_known |= pod.assumed or not (resolved is None or resolved.by_default)
            ref, decided = self._as_bound(pod, _Bound(ref, decided), is_known=is_known)
        return self._made(counted, ref, decided, waits=False)

    def _waiting(self, counted: Counted) -> Entry | None:
        """Return the entry of a waiting member: the same object for equal members of a gang."""
        if counted.gang is None:
            return None
        mate, entry = self._alike.get(counted.gang, _NO_MATE)
        if (
            mate is None
            or mate.pod.pod_class is not counted.pod.pod_class
            or mate.number != counted.number
        ):
            resolved = self._gangs.queues.of(counted.gang)
            may_use = resolved is not None and resolved.problem is None
            ref = resolved.ref if resolved is not None and may_use else None
            entry = self._made(counted, ref, (), waits=True)
            self._alike[counted.gang] = counted, entry
        return entry

    def _made(
        self, counted: Counted, ref: QueueRef | None, decided: Flavors, *, waits: bool
    ) -> Entry | None:
        """Return the entry of a pod in a queue with these flavors; None without a queue."""
        if ref is None or self._flavors is None:
            return None
        pod, gang, node, number = counted
        flavors = self._flavors.of(ref, decided, "" if waits else node or pod.nominated)
        made_of = _Made(ref, flavors, waits, number)
        mate = self._last_made.get(gang) if gang is not None else None
        if mate is not None and mate[0] is pod.pod_class and mate[1] == made_of:
            return mate[2]
        amounts = self._amounts(flavors, pod)
        if number > 1:
            amounts = tuple((key, number * amount) for key, amount in amounts)
        entry = Entry(ref, amounts, gang, waits, self._local(ref, gang))
        if gang is not None:
            self._last_made[gang] = pod.pod_class, made_of, entry
        return entry

    def _forget_mates(self) -> None:
        """Forget results shared by members of one gang: any change can outdate them."""
        self._alike.clear()
        self._last_made.clear()

    def _hangs(self, pod: Pod) -> bool:
        """Return whether a pod should long be gone; if not yet, examine it again at that time."""
        until = charged_until(pod, self._rules.preemption)
        if until > self._now and self._until.get(pod.uid) != until:
            self._until[pod.uid] = until
            heapq.heappush(self._leaving, (until, pod.uid))
        return 0 < until <= self._now

    def _local(self, ref: QueueRef, gang: GangKey | None) -> LocalQueueKey | None:
        """Return the LocalQueue of a gang, if the order in its queue depends on LocalQueues."""
        if ref not in self._by_local or gang is None:
            return None
        resolved = self._gangs.queues.of(gang)
        if resolved is None or resolved.local is None or resolved.ref != ref:
            return None
        return resolved.local.key

    def _as_bound(self, pod: Pod, now: _Bound, *, is_known: bool) -> _Bound:
        """Return the charge of a pod since it was bound, or `now` if that is unknown.

        Later edits of the pod or its gang move no charge and end none. The charge is known if this
        process bound the pod, if the pod carries the annotations of its binding, or once its gang
        names a queue. A default queue is not enough: an object that names another queue may not
        have been seen yet.
        """
        if is_known:
            self._bound.setdefault(pod.uid, now)
        known = self._bound.get(pod.uid, now)
        return known if self._names.is_for(known.ref, pod.namespace) else now

    def _ref(
        self, pod: Pod, gang: GangKey | None, resolved: Resolved | None, said: ChargedTo
    ) -> QueueRef | None:
        """Return the queue that a pod is charged to: by its binding, else by its gang or itself."""
        if gang is None and not self._counts_others:
            return None
        # All of these can be written by a tenant, and the quota may belong to another one.
        written = self._names.written(said.queue) if said.queue else None
        for ref in (written, resolved.ref if resolved else None, self._named(pod)):
            if ref is not None and self._names.is_for(ref, pod.namespace):
                return ref
        return NONE if gang is not None else None

    def _named(self, pod: Pod) -> QueueRef | None:
        """Return the queue that a pod names itself."""
        names = pod.queue_request.names if pod.queue_request is not None else ()
        return self._names.leaf_of(names[0], pod.namespace).ref if names else None

    def _amounts(self, flavors: Flavors, pod: Pod) -> Amounts:
        requests = pod.pod_class.charged
        known = self._known.get((flavors, requests))
        if known is None:
            charged = self._flavors.queue_set.charged(requests) if self._flavors else {}
            by_resource = dict(flavors)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            known = self._known[flavors, requests] = tuple(
                (FlavorResource(by_resource[resource], resource), amount)
                for resource, amount in sorted(charged.items())
                if resource in by_resource
            )
        return known


def _of_binding(pod: Pod) -> ChargedTo:
    """Return the charge that the binding wrote on a pod.

    On a pod without a node, a user has written it, so it does not count.
    """
    bound = bool(pod.node) and not pod.assumed
    return pod.charged_to or ChargedTo() if bound else ChargedTo()


def _differences(one: QueueUsage, other: QueueUsage) -> int:
    number = len(
        {
            ref
            for ref in {*one.running, *other.running}
            if one.running.get(ref) != other.running.get(ref)
        }
    )
    for a, b in ((one.charged, other.charged), (one.asked, other.asked)):
        for ref in {*a, *b}:
            these, those = a.get(ref, {}), b.get(ref, {})
            number += sum(these.get(k, 0) != those.get(k, 0) for k in {*these, *those})
    return number + (one.local_charged != other.local_charged)
