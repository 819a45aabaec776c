"""From documents to what a cache takes in, by the table of kinds, and the checks around it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from msgspec import field

from gang_scheduler.api.kinds import (
    CLUSTER_NETWORK_TOPOLOGIES,
    GVR,
    JOB_SETS,
    JOBS,
    KUEUE_TOPOLOGIES,
    NATIVE_POD_GROUPS,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    SCHED_PLUGINS_POD_GROUPS,
    STORAGE_CLASSES,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import budgets, fields
from gang_scheduler.decode.fields import amounts
from gang_scheduler.decode.gangs import gang_objects
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.pods import pod
from gang_scheduler.decode.topologies import DeclaredTopology
from gang_scheduler.model.pods import Pod
from gang_scheduler.simulation import defaults, kinds, networks, priorities, volumes, workloads
from gang_scheduler.simulation.documents import Document, Problem
from gang_scheduler.simulation.kinds import Kind
from gang_scheduler.simulation.priorities import Priorities
from gang_scheduler.state.kinds import KINDS
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.pod_groups import NativePodGroup
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Wire

UNDATED_SECONDS = 1
"""Objects without a creation time are created within this time after the input's latest time."""

Body = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loaded:
    """An object of a watched kind, as its reader returns it."""

    gvr: GVR
    noun: object


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of the input, in its order.

    `read_at` is a second after the latest time in the input, in seconds since the epoch, however
    many objects there are. `notes` are lines for users on what was left out.
    """

    loaded: tuple[Loaded, ...]
    read_at: int
    notes: tuple[str, ...] = ()


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
        group = kinds.group_of(self.body["apiVersion"])
        return self.kind.kind, group, metadata["namespace"], metadata["name"]


def load(documents: Iterable[Document | Problem], scheduler: str) -> Objects:
    """Return the objects of the documents. Raises UnreadableInput with everything found wrong.

    `scheduler` is the schedulerName of pods that have none.
    """
    read = _Reading()
    for each in documents:
        read.take(each)
    loaded = read.load(scheduler)
    if read.problems:
        raise UnreadableInput(read.problems)
    return Objects(loaded, read.latest + UNDATED_SECONDS, tuple(read.notes))


class _Reading:
    """The objects found so far, in order, and the problems of documents."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str, str], _Object] = {}
        self.uids: dict[str, _Object] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.latest = 0
        self._sequence = 0

    def take(self, document: Document | Problem) -> None:
        """Take in a document of a known kind; note a document of another kind as skipped."""
        if isinstance(document, Problem):
            self.problems.append(document)
            return
        try:
            kind = kinds.kind_of(document.body)
            if kind is not None:
                self._sequence += 1
                body = defaults.with_identity(
                    document.body, self._sequence, namespaced=kind.namespaced
                )
                made = _made_of(kind, body)
                self._add(_Object(document, kind, body))
                self._take_made(document, made)
            else:
                self.notes.append(_skipped(document))
        except InvalidField as error:
            self.problems.append(document.problem(error))

    def load(self, scheduler: str) -> tuple[Loaded, ...]:
        """Return what can be read, in order; note what is wrong with the rest."""
        classes = [self._try(each, priorities.read) for each in self._of(kinds.PRIORITY_CLASS.gvr)]
        known = priorities.priorities_of(each for each in classes if each is not None)
        storage_classes = (each.body for each in self._of(STORAGE_CLASSES))
        readers = {**_readers(scheduler, known), **volumes.readers(storage_classes)}
        found = []
        for age, each in enumerate(self.objects.values(), start=1):
            gvr = each.kind.gvr
            noun = self._try(each, readers[gvr]) if gvr in readers else None
            if noun is not None:
                part = age / (len(self.objects) + 1)
                noun = _aged(noun, each.body, self.latest + part * UNDATED_SECONDS)
                found.append(Loaded(gvr, noun))
                self._note_unused(each, noun)
        return tuple(found)

    def _take_made(self, document: Document, made: Iterable[Mapping[str, Any]]) -> None:
        """Take in what the controller of a workload creates, as if it were in the input."""
        for each in made:
            path = f"{each['kind']} {each['metadata']['name']}"
            self.take(replace(document, body=each, path=path))

    def _of(self, gvr: GVR) -> Iterable[_Object]:
        return (each for each in self.objects.values() if each.kind.gvr == gvr)

    def _try(self, each: _Object, loader: Callable[[Mapping[str, Any]], T]) -> T | None:
        try:
            return loader(each.body)
        except InvalidField as error:
            self.problems.append(each.document.problem(error))
            return None

    def _note_unused(self, each: _Object, noun: object) -> None:
        why = networks.why_unused(noun) if isinstance(noun, DeclaredTopology) else ""
        if why:
            name = f"{each.kind.kind} {each.body['metadata']['name']}"
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


def _made_of(kind: Kind, body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what the controller of this object would create. Raises InvalidField."""
    makers: dict[GVR, Callable[[Body], Iterator[Body]]] = {
        PODS: volumes.claims_of,
        JOBS: workloads.pods_of_job,
        JOB_SETS: workloads.jobs_of_job_set,
    }
    return list(makers[kind.gvr](body)) if kind.gvr in makers else []


def _readers(scheduler: str, known: Priorities) -> dict[GVR, Callable[[Body], object]]:
    """Return how objects are read: as on a cluster, apart from what its API server would do.

    An API server fills in defaults, refuses wrong types, and counts for budgets.
    """
    return {each.reader.gvr: each.reader.read for each in KINDS} | {
        PODS: lambda body: _pod(body, scheduler, known),
        POD_GROUPS: _pod_group,
        SCHED_PLUGINS_POD_GROUPS: _pod_group,
        NATIVE_POD_GROUPS[0]: _native_pod_group,
        POD_DISRUPTION_BUDGETS: budgets.read_uncounted,
        CLUSTER_NETWORK_TOPOLOGIES: networks.cluster_network_topology,
        KUEUE_TOPOLOGIES[0]: networks.kueue_topology,
    }


def _pod(body: Mapping[str, Any], scheduler: str, known: Priorities) -> Pod:
    fields.read(body, pod_wire.Pod)  # What is filled in next relies on the types.
    filled = defaults.with_pod_defaults(body, scheduler)
    return pod.pod({**filled, "spec": known.spec(filled["spec"])})


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
        aged = (replace(each, created_at=created_at) for each in noun.gang_specs)
        return replace(noun, gang_specs=tuple(aged))
    return replace(noun, created_at=created_at) if isinstance(noun, Pod) else noun


def _skipped(document: Document) -> str:
    name = f"{document.body['kind']} ({document.body['apiVersion']})"
    return f"{document.place}: {name} is not a kind that matters here; skipped"
