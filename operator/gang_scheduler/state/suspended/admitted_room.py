"""Room and quota that started workloads hold until their pods have taken over."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from gang_scheduler.decode.gangs.specs import VirtualGang
from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Flavor, Product, QueueRef, QueueSet
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import Admission, ManagedWorkload, Suspended, TemplateEdit
from gang_scheduler.state.changes import Change
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.pods import PodStore
from gang_scheduler.state.queues.names import annotation_of

# The hold of one workload.

FIRST_REST_SECONDS: Final = 60
LONGEST_REST_SECONDS: Final = 1800


class Hold:
    """The planned places of members whose pods do not exist yet. All times are in seconds.

    `gangs` are the gangs of the workload. `at_once` is the number of pods that its controller
    creates together. `binds` are the plans that no pod has taken over yet, by the uid of the
    member; `late` members get their pods only after others, at any time. `until` is when the other
    pods must exist; None as long as the API server has not accepted the start of the workload.
    """

    def __init__(
        self,
        workload: ManagedWorkload,
        gangs: Iterable[GangKey],
        binds: Iterable[Bind],
        late: Iterable[str] = (),
        at_once: int = 0,
    ) -> None:
        self.workload = workload
        self.gangs = tuple(gangs)
        self.binds = {bind.pod.uid: bind for bind in binds}
        self._late = frozenset(late) & self.binds.keys()
        self.until: int | None = None
        self._at_once = at_once
        self._taken: set[str] = set()

    def take_over(self, pod: Pod) -> Bind | None:
        """Take out the planned bind that a pod takes over; None if it has one already.

        A bind of the same role is preferred, then one with equal requests, then one of the same
        rank, then one on the pod's node.
        """
        if pod.uid in self._taken:
            return None
        known = pod.gang in self.gangs
        suited = (each for each in self.binds.values() if not known or each.pod.gang == pod.gang)
        bind = min(suited, key=lambda each: _differ(each, pod), default=None)
        if bind is not None:
            del self.binds[bind.pod.uid]
            self._taken.add(pod.uid)
        return bind

    def is_for(self, at_once: int) -> bool:
        """Return whether at least the planned number of pods will be created at once."""
        return at_once >= self._at_once

    def keep_late(self) -> None:
        """Keep only the room of late members; drop all of it once one of them exists."""
        awaited = self._late if self._late <= self.binds.keys() else frozenset()
        self.binds = {uid: bind for uid, bind in self.binds.items() if uid in awaited}

    @property
    def released(self) -> tuple[GangKey, ...]:
        """The gangs whose pods all exist; empty while pods that are created at once are missing."""
        if self.binds.keys() - self._late:
            return ()
        missing = {bind.pod.gang for bind in self.binds.values()}
        return tuple(each for each in self.gangs if each not in missing)

    @property
    def deadline(self) -> int | None:
        """When the pods must exist, in seconds; None if unknown, or if no pod is missing."""
        return self.until if self.binds.keys() - self._late else None


def late_members(gangs: Iterable[VirtualGang]) -> Iterator[str]:
    """Yield the uids of members whose pods are created only after others."""
    for gang in gangs:
        for pod, slot in zip(gang.pods, gang.pods.slots, strict=True):
            if gang.templates[slot.prototype].is_late:
                yield pod.uid


def _differ(bind: Bind, pod: Pod) -> tuple[bool, bool, bool, bool, str]:
    """Return a sort key: smaller for a plan that suits a pod better."""
    planned = bind.pod
    return (
        planned.role != pod.role,
        _asks(planned) != _asks(pod),
        bool(planned.rank) and planned.rank != pod.rank,
        bool(pod.node) and pod.node != bind.node,
        planned.uid,
    )


def _asks(pod: Pod) -> tuple[tuple[str, int], ...]:
    return pod.pod_class.charged


class Rests:
    """Backoff, doubled each time, of started workloads whose pods were not created."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}
        self._until: dict[str, int] = {}

    def begin(self, uid: str, now: int) -> None:
        """Let a workload pause, twice as long as the last time."""
        number = self._times.get(uid, 0)
        self._until[uid] = now + min(FIRST_REST_SECONDS << number, LONGEST_REST_SECONDS)
        self._times[uid] = min(number + 1, LONGEST_REST_SECONDS.bit_length())

    def until(self, uid: str) -> int:
        """Return until when a workload pauses; 0 if it does not."""
        return self._until.get(uid, 0)

    def forget(self, uid: str) -> None:
        """Forget a workload that is gone, or that has its pods."""
        self._times.pop(uid, None)
        self._until.pop(uid, None)


# The holds of all started workloads that still lack pods.


class AdmittedRoom:
    """The holds, by the uid of the workload. All times are in seconds.

    After the start, pods have `timeout_seconds` to be created.
    """

    def __init__(
        self,
        timeout_seconds: int,
        gang_queue: GangQueue,
        pod_store: PodStore,
        note: Callable[[Change], None],
    ) -> None:
        self.holds: dict[str, Hold] = {}
        self._timeout_seconds = timeout_seconds
        self._gang_queue = gang_queue
        self._pod_store = pod_store
        self._note = note

    def keep(self, hold: Hold) -> None:
        """Wait for the pods of a workload."""
        self.holds[hold.workload.uid] = hold
        for key in hold.gangs:
            self._gang_queue.await_pods(key, awaits=True)

    def begin_to_wait(self, hold: Hold, now: int) -> None:
        """Note that the API server has accepted the start of a workload."""
        if hold.until is None:
            hold.until = now + self._timeout_seconds

    def took_over(self, hold: Hold, pod: Pod) -> bool:
        """Let a pod take over the plan of a member; return whether all pods exist now."""
        bind = hold.take_over(pod)
        if bind is None:
            return False
        # The pod first: its room must never be free in between.
        self._note(self._pod_store.nominate(pod.uid, bind.node, bind.flavors))
        self._note(self._pod_store.delete(bind.pod.uid))
        for key in hold.released:
            self._gang_queue.await_pods(key, awaits=False)
        if hold.binds:
            return False
        self.end(hold)
        return True

    def displaced(self, uid: str) -> None:
        """Note that a planned member's room goes to a higher priority, so its pod will wait."""
        for hold in list(self.holds.values()):
            if hold.binds.pop(uid, None) is not None:
                self._note(self._pod_store.delete(uid))
                if not hold.binds:
                    self.end(hold)

    def take_overdue(self, now: int) -> list[Hold]:
        """End the holds whose pods have not been created in time, and return them."""
        times = [(each.deadline, each) for each in self.holds.values()]
        late = [each for deadline, each in times if deadline is not None and deadline <= now]
        for hold in late:
            self.end(hold)
        return late

    def next_deadline(self) -> int | None:
        """Return when the pods of the next workload must exist."""
        deadlines = (each.deadline for each in self.holds.values())
        return min((each for each in deadlines if each), default=None)

    def end(self, hold: Hold) -> None:
        """Release the room of pods that were not created."""
        self.holds.pop(hold.workload.uid, None)
        for uid in hold.binds:
            self._note(self._pod_store.delete(uid))
        for key in hold.gangs:
            self._gang_queue.await_pods(key, awaits=False)
        self._note(Change.GANGS_TOUCHED)

    def end_of(self, uid: str) -> None:
        """Release the room of a workload, if it has any."""
        hold = self.holds.get(uid)
        if hold is not None:
            self.end(hold)

    def nominate(self, binds: Iterable[Bind]) -> None:
        """Give planned and existing pods their nodes and flavors."""
        for bind in binds:
            self._note(self._pod_store.nominate(bind.pod.uid, bind.node, bind.flavors))


# The content of an admission: the queue of a workload, its flavors, and the node labels and
# tolerations that they add.

Templates = Mapping[str, int]
"""The index of the template of each member, by the member's uid."""


def admission_of(
    workload: ManagedWorkload,
    placed: Sequence[Placed],
    templates: Templates,
    queue_set: QueueSet | None,
    members: Iterable[Pod],
) -> Admission:
    """Return the admission of a workload whose gangs were placed. `members` are all its members."""
    places = {bind.pod.uid: bind.node for each in placed for bind in each.binds}
    nodes = tuple(places.get(pod.uid, "") for pod in members)
    queue = next((each.gang.queue for each in placed if each.gang.queue is not None), None)
    if queue is None or queue_set is None:
        return Admission(workload, nodes=nodes)
    flavors = dict(
        pair for each in placed for bind in reversed(each.binds) for pair in bind.flavors
    )
    edits = [
        edit
        for each in placed
        if each.gang.suspended is not None
        for edit in _edits(each.gang.suspended, each.binds, templates, (queue, queue_set))
    ]
    ordered = tuple(sorted(flavors.items()))
    return Admission(workload, annotation_of(queue), ordered, tuple(edits), nodes)


def _edits(
    suspended: Suspended,
    binds: Iterable[Bind],
    templates: Templates,
    queues: tuple[QueueRef, QueueSet],
) -> Iterable[TemplateEdit]:
    """Yield the edits of each template, by the flavors of its first member."""
    first: dict[int, Bind] = {}
    for bind in binds:
        first.setdefault(templates.get(bind.pod.uid, 0), bind)
    for place, bind in sorted(first.items()):
        edit = _edit(suspended, place, bind, queues)
        if edit is not None and edit.path:
            yield edit


def _edit(
    suspended: Suspended, place: int, bind: Bind, queues: tuple[QueueRef, QueueSet]
) -> TemplateEdit | None:
    ref, queue_set = queues
    names = dict.fromkeys(name for _, name in bind.flavors)
    found = [each for name in names if (each := _flavor(queue_set, ref.product, name))]
    template = suspended.templates[place]
    own = template.pod_class
    labels = {key: value for each in found for key, value in each.node_labels}
    missing = tuple(sorted(pair for pair in labels.items() if pair not in own.node_selector))
    tolerations = dict.fromkeys(each for flavor in found for each in flavor.tolerations)
    added = tuple(each for each in tolerations if each not in own.tolerations)
    return TemplateEdit(template.path, missing, added) if missing or added else None


def _flavor(queue_set: QueueSet, product: Product, name: str) -> Flavor | None:
    """Return the flavor of that name: the product's own, else another product's."""
    named = [each for each in queue_set.flavors if each.name == name]
    return next((each for each in named if each.product is product), next(iter(named), None))


def templates_of(pods: Sequence[Pod], places: Iterable[int]) -> dict[str, int]:
    """Return the indexes of the templates of members, by their uids."""
    return {pod.uid: place for pod, place in zip(pods, places, strict=True)}
