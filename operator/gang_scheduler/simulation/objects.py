"""From documents to what a cache takes in: the table kind -> loader, and the checks around it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from msgspec import field

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import budgets, fields, namespaces, nodes
from gang_scheduler.decode.budgets import DeclaredBudget
from gang_scheduler.decode.fields import amounts
from gang_scheduler.decode.gangs import gang_specs
from gang_scheduler.decode.gangs import workloads as owners
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.namespaces import DeclaredNamespace
from gang_scheduler.decode.pods import pod
from gang_scheduler.decode.topologies import DeclaredTopology
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import JobPods
from gang_scheduler.simulation import defaults, kinds, networks, priorities, volumes, workloads
from gang_scheduler.simulation.documents import Document, Problem
from gang_scheduler.simulation.kinds import Kind
from gang_scheduler.simulation.priorities import Priorities
from gang_scheduler.simulation.volumes import Stored
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.pod_groups import NativePodGroup
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Wire


@dataclass(frozen=True, slots=True)
class Described:
    """An object that describes no gang, one gang, or the gangs of a group.

    `pods` is how many pods a Job can have; None for other kinds.
    """

    api_group: str
    uid: str
    gang_specs: tuple[GangSpec, ...]
    pods: JobPods | None = None


UNDATED_SECONDS = 1
"""Objects without a creation time are created within this time after the input's latest time."""

Loaded = Node | Pod | Described | DeclaredTopology | DeclaredBudget | DeclaredNamespace | Stored
T = TypeVar("T")


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
        return self.kind.name, group, metadata["namespace"], metadata["name"]


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
                body = defaults.with_identity(document.body, kind, self._sequence)
                made = _made_of(kind, body)
                self._add(_Object(document, kind, body))
                self._take_made(document, made)
            else:
                self.notes.append(_skipped(document))
        except InvalidField as error:
            self.problems.append(document.problem(error))

    def load(self, scheduler: str) -> tuple[Loaded, ...]:
        """Return the objects that can be read, in order; note the problems of the rest."""
        classes = [self._try(each, priorities.read) for each in self._of(kinds.PRIORITY_CLASS)]
        known = priorities.priorities_of(each for each in classes if each is not None)
        storage_classes = (each.body for each in self._of(kinds.STORAGE_CLASS))
        loaders = {**_loaders(scheduler, known), **volumes.loaders(storage_classes)}
        found = []
        for age, each in enumerate(self.objects.values(), start=1):
            if each.kind in loaders:
                loaded = self._try(each, loaders[each.kind])
                part = age / (len(self.objects) + 1)
                found.append(_aged(loaded, each.body, self.latest + part * UNDATED_SECONDS))
                self._note_unused(each, loaded)
        return tuple(each for each in found if each is not None)

    def _take_made(self, document: Document, made: Iterable[Mapping[str, Any]]) -> None:
        """Take in what the controller of a workload creates, as if it were in the input."""
        for each in made:
            path = f"{each['kind']} {each['metadata']['name']}"
            self.take(replace(document, body=each, path=path))

    def _of(self, kind: Kind) -> Iterable[_Object]:
        return (each for each in self.objects.values() if each.kind is kind)

    def _try(self, each: _Object, loader: Callable[[Mapping[str, Any]], T]) -> T | None:
        try:
            return loader(each.body)
        except InvalidField as error:
            self.problems.append(each.document.problem(error))
            return None

    def _note_unused(self, each: _Object, loaded: Loaded | None) -> None:
        why = networks.why_unused(loaded) if isinstance(loaded, DeclaredTopology) else ""
        if why:
            name = f"{each.kind.name} {each.body['metadata']['name']}"
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
    """Return the objects that this object's controller would create. Raises InvalidField."""
    if kind is kinds.POD:
        return list(volumes.claims_of(body))
    if kind is kinds.JOB:
        return list(workloads.pods_of_job(body))
    return list(workloads.jobs_of_job_set(body)) if kind is kinds.JOB_SET else []


def _loaders(
    scheduler: str, known: Priorities
) -> Mapping[Kind, Callable[[Mapping[str, Any]], Loaded]]:
    """Return the table of loaders. A new kind is a line here and in `kinds`."""
    return {
        kinds.NODE: nodes.node,
        kinds.NAMESPACE: namespaces.read,
        kinds.POD: lambda body: _pod(body, scheduler, known),
        kinds.POD_GROUP: _pod_group,
        kinds.NATIVE_POD_GROUP: lambda body: _described(body, (_native(body),)),
        kinds.JOB: lambda body: _described(body, owners.job(body), owners.pods_of(body)),
        kinds.JOB_SET: lambda body: _described(body, owners.job_set(body)),
        kinds.POD_DISRUPTION_BUDGET: budgets.read_uncounted,
        kinds.CLUSTER_NETWORK_TOPOLOGY: networks.cluster_network_topology,
        kinds.KUEUE_TOPOLOGY: networks.kueue_topology,
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


def _pod_group(body: Mapping[str, Any]) -> Described:
    amounts(fields.read(body, _PodGroup).spec.min_resources, "spec.minResources")
    return _described(body, (gang_specs.pod_group(body),))


def _native(body: Mapping[str, Any]) -> GangSpec:
    fields.read(body, NativePodGroup)  # A wrong type is unreadable input, not a problem.
    return gang_specs.native_pod_group(body)


def _described(
    body: Mapping[str, Any], declared: tuple[GangSpec, ...], pods: JobPods | None = None
) -> Described:
    uid = body["metadata"]["uid"]
    return Described(kinds.group_of(body["apiVersion"]), uid, declared, pods)


def _aged(loaded: Loaded | None, body: Mapping[str, Any], created_at: float) -> Loaded | None:
    """Return the object with an age: objects without a time are younger than all that have one.

    All such objects are created within one second, in their order, so their age only breaks ties.
    """
    if defaults.creation_time(body) is not None:
        return loaded
    if isinstance(loaded, Described):
        aged = (replace(each, created_at=created_at) for each in loaded.gang_specs)
        return replace(loaded, gang_specs=tuple(aged))
    return replace(loaded, created_at=created_at) if isinstance(loaded, Pod) else loaded


def _skipped(document: Document) -> str:
    name = f"{document.body['kind']} ({document.body['apiVersion']})"
    return f"{document.place}: {name} is not a kind that matters here; skipped"
