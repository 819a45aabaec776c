"""From documents to what a cache takes in, by the table of kinds, and the checks around it."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from msgspec import field

from gang_scheduler.api.kinds import (
    CLUSTER_NETWORK_TOPOLOGIES,
    GVR,
    KUEUE_TOPOLOGIES,
    NATIVE_POD_GROUPS,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    SCHED_PLUGINS_POD_GROUPS,
    STORAGE_CLASSES,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import budgets, fields, names, priority_classes
from gang_scheduler.decode.fields import amounts
from gang_scheduler.decode.gangs import gang_objects
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.network.topologies import DeclaredTopology
from gang_scheduler.decode.pods import pod
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.priority_classes import Priorities
from gang_scheduler.decode.queues.declared import AdmissionCheck, DeclaredQueue
from gang_scheduler.decode.workloads.members import table
from gang_scheduler.decode.workloads.members.present import Present
from gang_scheduler.decode.workloads.members.source import Source
from gang_scheduler.decode.workloads.table import KINDS as TABLE
from gang_scheduler.decode.workloads.table import MEMBERSHIP
from gang_scheduler.model.pods import Pod
from gang_scheduler.simulation import (
    defaults,
    in_vain,
    kinds,
    networks,
    snapshot_files,
    stored,
    volumes,
)
from gang_scheduler.simulation.documents import Document, Item, Problem
from gang_scheduler.simulation.kinds import Kind
from gang_scheduler.simulation.skipped import Skipped
from gang_scheduler.simulation.snapshot_files import Header, Stored
from gang_scheduler.state.kinds import KINDS
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.pod_groups import NativePodGroup
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Wire

DEFAULT_SCHEDULER = "default-scheduler"
"""What an API server writes into pods and templates without a schedulerName."""
WITH_GANGS = frozenset(each.objects.versions[0] for each in TABLE if each.objects)
"""The kinds of workloads of which gangs are made."""
UNDATED_SECONDS = 1
"""Objects without a creation time are created within this time after the input's latest time."""

Body = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loaded:
    """An object of a watched kind, as its reader returns it.

    `body` is a manifest with all that was filled in; None for an object of a snapshot.
    """

    gvr: GVR
    noun: object
    body: Body | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of the input, in its order.

    `read_at` is the time that was asked for, else a second after the latest time in the input, in
    seconds since the epoch, however many objects there are. `notes` are lines for users on what was
    left out. `assumed_ours` is how many pods have no schedulerName and were given ours;
    `not_expanded`, how many workloads of manifests are of kinds whose pods are not made
    here. `header` is that of a snapshot among the input.
    """

    loaded: tuple[Loaded, ...]
    read_at: int
    notes: tuple[str, ...] = ()
    assumed_ours: int = 0
    not_expanded: int = 0
    header: Header | None = None


class UnreadableInput(Exception):  # noqa: N818 - names what is wrong, like InvalidField
    """The input has problems; nothing was decided."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__(*(problem.text for problem in problems))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each problem."""
        return self.args


@dataclass(frozen=True, slots=True)
class _Object:
    """An object that has a name and an identity; its body may still be wrong."""

    document: Document
    kind: Kind
    body: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, str, str]:
        metadata = self.body["metadata"]
        group = names.group_of(self.body["apiVersion"])
        return self.kind.kind, group, metadata["namespace"], metadata["name"]


def load(
    documents: Iterable[Item],
    scheduler: str,
    *,
    assume_ours: bool | None = None,
    at: int | None = None,
    membership: Membership = MEMBERSHIP,
) -> Objects:
    """Return the objects of the documents. Raises UnreadableInput with everything found wrong.

    `scheduler` is the schedulerName of pods that have none, if `assume_ours`, else these are
    default-scheduler's; by default those of manifests are ours, and those from a cluster are not.
    `at` is when the input is read, in seconds since the epoch; by default when its snapshot was
    taken, else after all times in it. `membership` tells the gangs of pods.
    """
    found = list(documents)
    header = snapshot_files.header_among(found)
    read = _Reading(Present(each.body for each in found if isinstance(each, Document)), membership)
    for each in found:
        read.take(each)
    if at is None and header is not None:
        at = header.at
    if at is not None:
        read.latest = at - UNDATED_SECONDS
    loaded = read.load(_SchedulerNames(scheduler, assume_ours, read.uids))
    if read.problems:
        raise UnreadableInput(read.problems)
    return Objects(
        loaded,
        read.latest + UNDATED_SECONDS,
        notes=(*_unread(header), *read.skipped.lines(), *read.notes),
        assumed_ours=read.assumed_ours,
        not_expanded=read.skipped.not_expanded,
        header=header,
    )


def _unread(header: Header | None) -> Iterator[str]:
    """Yield what a snapshot lacks."""
    if header is not None and header.not_readable:
        yield f"not in the snapshot, since they may not be listed: {', '.join(header.not_readable)}"


@dataclass(frozen=True, slots=True)
class _SchedulerNames:
    """The schedulerName of pods that have none, by their uids."""

    ours: str
    assume_ours: bool | None
    objects: Mapping[str, _Object]

    def of(self, uid: str) -> str:
        assumed = self.assume_ours
        if assumed is None:
            assumed = not self.objects[uid].document.is_from_cluster
        return self.ours if assumed else DEFAULT_SCHEDULER

    def is_assumed(self, each: _Object) -> bool:
        """Return whether this is a pod that gets our name, having none."""
        given = each.kind.gvr != PODS or bool(each.body.get("spec", {}).get("schedulerName"))
        return not given and self.of(each.body["metadata"]["uid"]) == self.ours


class _Reading:
    """The objects found so far, in order, and the problems of documents."""

    def __init__(self, present: Present, membership: Membership) -> None:
        self.objects: dict[tuple[str, str, str, str], _Object] = {}
        self.uids: dict[str, _Object] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.skipped = Skipped()
        self.latest = 0
        self.assumed_ours = 0
        self._stored: list[Stored] = []
        self._present = present
        self._membership = membership
        self._sequence = 0

    def take(self, document: Item) -> None:
        """Take in a document of a known kind; note a document of another kind as skipped."""
        if isinstance(document, Problem):
            self.problems.append(document)
            return
        if isinstance(document, Stored):
            self._stored.append(document)
            return
        try:
            kind = kinds.kind_of(document.body)
            if document.made_by is None and (asked := in_vain.note(document)):
                self.notes.append(asked)
            if kind is None:
                self.skipped.add(document)
                return
            self._sequence += 1
            body = defaults.with_identity(document.body, self._sequence, namespaced=kind.namespaced)
            if document.made_by is None:
                names.check(kind.gvr, body["metadata"])
            made = [] if document.header else self._made_of(kind, document, body)
            self._add(_Object(document, kind, body))
            self._take_made(document, made)
        except InvalidField as error:
            self.problems.append(document.problem(error))

    def load(self, scheduler_names: _SchedulerNames) -> tuple[Loaded, ...]:
        """Return what can be read, in order; note what is wrong with the rest."""
        classes = {
            each.key: self._try(each, priority_classes.read) for each in self._of(PRIORITY_CLASSES)
        }
        known = priority_classes.priorities_of(filter(None, classes.values()))
        storage_classes = (each.body for each in self._of(STORAGE_CLASSES))
        fill = {**_fillers(scheduler_names, known), **volumes.fillers(storage_classes)}
        readers = _readers(self._membership)
        found = [*self._load_stored()]
        for age, each in enumerate(self.objects.values(), start=1):
            gvr = each.kind.gvr
            body = self._try(each, fill[gvr]) if gvr in fill else each.body
            noun: object = classes.get(each.key)
            if body and gvr in readers and each.key not in classes:
                noun = self._try(replace(each, body=body), readers[gvr])
            if noun is not None:
                part = age / (len(self.objects) + 1)
                noun = _aged(noun, each.body, self.latest + part * UNDATED_SECONDS)
                noun = _with_scheduler(noun, scheduler_names)
                found.append(Loaded(gvr, noun, body))
                self._note_oddity(each, noun)
                self.assumed_ours += scheduler_names.is_assumed(each)
        return tuple(found)

    def _load_stored(self) -> Iterator[Loaded]:
        """Yield the objects of snapshots; note what is wrong with them."""
        if self._stored and self.objects:
            self._refuse_both()
        for each in stored.load(self._stored, self._membership):
            if each.problem:
                self.problems.append(Problem(each.problem))
            if each.note:
                self.notes.append(each.note)
            if each.gvr is not None and each.noun is not None:
                yield Loaded(each.gvr, each.noun)

    def _refuse_both(self) -> None:
        """Note the manifests of objects that a snapshot has, too."""
        for each in self._stored:
            same = self.objects.get(stored.key_of(each))
            if same is not None:
                self.problems.append(
                    same.document.problem(
                        InvalidField(
                            "metadata.name", same.key[3], f"must differ from that of {each.place}"
                        )
                    )
                )

    def _made_of(self, kind: Kind, document: Document, body: Body) -> list[Body]:
        """Return what the controller of this object would still create. Raises InvalidField."""
        if kind.gvr == PODS:
            made = [*volumes.claims_of(body)]
        else:
            made = self._made_of_workload(kind, document, body)
        return [each for each in made if each["kind"] == "Pod" or not self._present.has(each)]

    def _made_of_workload(self, kind: Kind, document: Document, body: Body) -> list[Body]:
        if _waits_suspended(kind, body):
            return []
        stored = document.is_from_cluster
        uid = body["metadata"]["uid"] if stored and document.made_by is None else ""
        source = Source(body, self._present, from_cluster=stored, uid=uid)
        made = table.made_of(source)
        self.notes += (f"{document.place}: {each}" for each in source.notes)
        return made

    def _take_made(self, document: Document, made: Iterable[Body]) -> None:
        """Take in what the controller of a workload creates, as if it were in the input."""
        for each in made:
            path = f"{each['kind']} {each['metadata']['name']}"
            self.take(replace(document, body=each, path=path, made_by=document))

    def _of(self, gvr: GVR) -> Iterable[_Object]:
        return (each for each in self.objects.values() if each.kind.gvr == gvr)

    def _try(self, each: _Object, loader: Callable[[Mapping[str, Any]], T]) -> T | None:
        try:
            return loader(each.body)
        except InvalidField as error:
            self.problems.append(each.document.problem(error))
            return None

    def _note_oddity(self, each: _Object, noun: object) -> None:
        name = each.body["metadata"]["name"]
        why = names.why_refused(each.kind.gvr, name)
        if isinstance(noun, DeclaredTopology):
            why = networks.why_unused(noun)
        elif isinstance(noun, DeclaredQueue | AdmissionCheck):
            why = "; ".join(noun.notes)
        if why:
            name = f"{each.kind.kind} {name}"
            self.notes.append(f"{each.document.place}: {name}: {why}")

    def _add(self, found: _Object) -> None:
        before = self.objects.get(found.key)
        if before is not None:
            self._refuse_second(before, found)
            return
        same_uid = self.uids.setdefault(found.body["metadata"]["uid"], found)
        if same_uid is not found:
            uid = found.body["metadata"]["uid"]
            other = f"must differ from that of {same_uid.document.place}"
            raise InvalidField("metadata.uid", uid, other)
        self.objects[found.key] = found
        self.latest = max(self.latest, defaults.latest_time(found.body))

    def _refuse_second(self, before: _Object, found: _Object) -> None:
        if before.document.body != found.document.body:
            kind, _, namespace, name = found.key
            named = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            text = f"{found.document.place}: {named} is in {before.document.place} already"
            self.problems.append(Problem(f"{text}, and they differ"))


def _fillers(
    scheduler_names: _SchedulerNames, known: Priorities
) -> dict[GVR, Callable[[Body], Body]]:
    """Return what an API server would fill in before an object is read."""
    return {PODS: lambda body: _filled_pod(body, scheduler_names, known)}


def _readers(membership: Membership) -> dict[GVR, Callable[[Body], object]]:
    """Return how objects are read: as on a cluster, apart from what its API server would do.

    An API server refuses wrong types, and counts for budgets.
    """
    return {each.reader.gvr: each.reader.read for each in KINDS} | {
        PODS: lambda body: pod.pod(body, membership),
        POD_GROUPS: _pod_group,
        SCHED_PLUGINS_POD_GROUPS: _pod_group,
        NATIVE_POD_GROUPS[0]: _native_pod_group,
        POD_DISRUPTION_BUDGETS: budgets.read_uncounted,
        CLUSTER_NETWORK_TOPOLOGIES: networks.cluster_network_topology,
        KUEUE_TOPOLOGIES[0]: networks.kueue_topology,
    }


def _filled_pod(body: Body, scheduler_names: _SchedulerNames, known: Priorities) -> Body:
    fields.read(body, pod_wire.Pod)  # What is filled in next relies on the types.
    filled = defaults.with_pod_defaults(body, scheduler_names.of(body["metadata"]["uid"]))
    return {**filled, "spec": known.spec(filled["spec"])}


class _PodGroupSpec(Wire, frozen=True):
    """The types in a PodGroup. Its values are checked as on a cluster."""

    min_member: int = 1
    min_resources: Quantities = field(default_factory=dict)
    schedule_timeout_seconds: int = 1


class _PodGroup(Wire, frozen=True):
    spec: _PodGroupSpec = _PodGroupSpec()


def _pod_group(body: Body) -> GangObject:
    amounts(fields.read(body, _PodGroup).spec.min_resources, "spec.minResources")
    return gang_objects.pod_group(body)


def _native_pod_group(body: Body) -> GangObject:
    fields.read(body, NativePodGroup)  # A wrong type is unreadable input, not a problem.
    return gang_objects.native_pod_group(body)


def _aged(noun: object, body: Body, created_at: float) -> object:
    """Return the object with an age: one without a time is younger than all that have one.

    All such objects are created within one second, in their order, so their age only breaks ties.
    """
    if defaults.creation_time(body) is not None:
        return noun
    if isinstance(noun, GangObject):
        return _aged_gangs(noun, created_at)
    if isinstance(noun, DeclaredQueue):
        return replace(noun, queue=replace(noun.queue, created_at=created_at))
    return replace(noun, created_at=created_at) if isinstance(noun, Pod) else noun


def _waits_suspended(kind: Kind, body: Body) -> bool:
    """Return whether a workload waits in a queue without pods. Raises InvalidField."""
    found = kind.read(body) if kind.gvr in WITH_GANGS else None
    return isinstance(found, GangObject) and found.suspended is not None


def _with_scheduler(noun: object, scheduler_names: _SchedulerNames) -> object:
    """Return a workload that waits suspended with the schedulerName that its templates lack."""
    if not isinstance(noun, GangObject) or noun.suspended is None:
        return noun
    name = scheduler_names.of(noun.uid)
    return _with_members(noun, lambda pod: replace(pod, scheduler=pod.scheduler or name))


def _with_members(noun: GangObject, change: Callable[[Pod], Pod]) -> GangObject:
    """Return a workload with each member changed that it would have."""
    if noun.suspended is None:
        return noun
    gangs = (
        each._replace(pods=each.pods.with_prototypes([*map(change, each.pods.prototypes)]))
        for each in noun.suspended.gangs
    )
    return replace(noun, suspended=replace(noun.suspended, gangs=tuple(gangs)))


def _aged_gangs(noun: GangObject, created_at: float) -> GangObject:
    specs, by_default = (
        None if each is None else tuple(replace(it, created_at=created_at) for it in each)
        for each in (noun.gang_specs, noun.by_default)
    )
    noun = replace(noun, gang_specs=specs or (), by_default=by_default)
    return _with_members(noun, lambda pod: replace(pod, created_at=created_at))
