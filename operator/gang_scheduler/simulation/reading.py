"""The input of `simulate`, from documents to objects: defaults, checks and readers."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
from gang_scheduler.api.parsing import IS, InvalidField
from gang_scheduler.decode import cluster, fields
from gang_scheduler.decode.cluster import Priorities
from gang_scheduler.decode.fields import amounts
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.decode.gangs.specs import GangObject, VirtualGang
from gang_scheduler.decode.pods import pod
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.queues.declared import AdmissionCheck, DeclaredQueue
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Product
from gang_scheduler.model.refs import QueueName
from gang_scheduler.model.wording import counted
from gang_scheduler.simulation import defaults, device_claims, skipped, snapshot_files
from gang_scheduler.simulation.defaults import Kind
from gang_scheduler.simulation.documents import Document, Item, Problem
from gang_scheduler.simulation.skipped import Skipped
from gang_scheduler.simulation.snapshot_files import Stored
from gang_scheduler.simulation.validation import objects as validation
from gang_scheduler.state.kinds import KINDS
from gang_scheduler.state.queues.names import product_of
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import Quantities, Wire
from gang_scheduler.wire.pods import NativePodGroup
from gang_scheduler.workloads import table
from gang_scheduler.workloads.controllers import Present, Source, controller, part

# An object of the input, before and after it is read.

UNDATED_SECONDS = 1
"""Objects without a creation time count as created within this time after the latest input time."""
DEFAULT_SCHEDULER = "default-scheduler"
"""The schedulerName that an API server gives to pods and templates without one."""
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """An object of a watched kind, as its reader returns it.

    `body` is a manifest with its defaults filled in; None for an object of a snapshot.
    """

    gvr: GVR
    decoded: object
    body: Body | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object that has a name and an identity. Its other fields may still be wrong."""

    document: Document
    kind: Kind
    body: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The kind, API group, namespace and name of the object."""
        metadata = self.body["metadata"]
        group = fields.group_of(self.body["apiVersion"])
        return self.kind.kind, group, metadata["namespace"], metadata["name"]


@dataclass(frozen=True, slots=True)
class SchedulerNames:
    """The schedulerName that pods without one get, by uid."""

    ours: str
    assume_ours: bool | None
    objects: Mapping[str, FoundObject]

    def of(self, uid: str) -> str:
        """Return the schedulerName for the pod or template with this uid if it has none."""
        assumed = self.assume_ours
        if assumed is None:
            assumed = not self.objects[uid].document.is_from_cluster
        return self.ours if assumed else DEFAULT_SCHEDULER

    def is_assumed(self, each: FoundObject) -> bool:
        """Return whether this is a pod without a schedulerName that gets ours."""
        given = each.kind.gvr != PODS or bool(each.body.get("spec", {}).get("schedulerName"))
        return not given and self.of(each.body["metadata"]["uid"]) == self.ours


# Fields that manifests may leave out: the age and the schedulerName.


def with_age(decoded: object, body: Body, created_at: float) -> object:
    """Return the object with an age; an object without a creation time is younger than all others.

    All such objects are created within one second, in their order, so their age only breaks ties.
    """
    if defaults.creation_time(body) is not None:
        return decoded
    if isinstance(decoded, GangObject):
        return _aged_gangs(decoded, created_at)
    if isinstance(decoded, DeclaredQueue):
        return replace(decoded, queue=replace(decoded.queue, created_at=created_at))
    return _aged(decoded, created_at) if isinstance(decoded, Pod) else decoded


def with_scheduler(decoded: object, scheduler_names: SchedulerNames) -> object:
    """Return a suspended workload in which each template has a schedulerName."""
    if not isinstance(decoded, GangObject):
        return decoded
    name = scheduler_names.of(decoded.uid)
    return _with_members(decoded, lambda pod: replace(pod, scheduler=pod.scheduler or name))


def _with_members(decoded: GangObject, change: Callable[[Pod], Pod]) -> GangObject:
    """Return a workload in which each future member is changed by a function."""
    said, owned = decoded.suspended, decoded.owned
    if said is not None and said.gangs:
        said = replace(said, gangs=_changed(said.gangs, change))
    if owned is not None and owned.gangs:
        owned = owned._replace(gangs=_changed(owned.gangs, change))
    return replace(decoded, suspended=said, owned=owned)


def _changed(gangs: Iterable[VirtualGang], change: Callable[[Pod], Pod]) -> tuple[VirtualGang, ...]:
    """Return gangs in which each future member is changed by a function."""
    return tuple(
        each._replace(pods=each.pods.with_prototypes([*map(change, each.pods.prototypes)]))
        for each in gangs
    )


def _aged_gangs(decoded: GangObject, created_at: float) -> GangObject:
    specs, by_default = (
        None if each is None else tuple(replace(it, created_at=created_at) for it in each)
        for each in (decoded.gang_specs, decoded.by_default)
    )
    decoded = replace(decoded, gang_specs=specs or (), by_default=by_default)
    return _with_members(decoded, lambda pod: _aged(pod, created_at))


def _aged(pod: Pod, created_at: float) -> Pod:
    return replace(pod, created_at=created_at, has_creation_time=False)


# Readers of the input: as on a cluster, with the defaults and refusals of its API server.


def fillers(
    scheduler_names: SchedulerNames, known: Priorities
) -> dict[GVR, Callable[[Body], Body]]:
    """Return functions that fill in an object, before it is read, as an API server would."""
    return {
        PODS: lambda body: _filled_pod(body, scheduler_names, known),
        NATIVE_POD_GROUPS[0]: lambda body: _filled_native_pod_group(body, known),
    }


def readers(membership: Membership) -> dict[GVR, Callable[[Body], object]]:
    """Return the readers of objects: as on a cluster, but with the checks of an API server.

    The API server refuses wrong types, and a controller counts the pods of budgets.
    """
    return {each.reader.gvr: each.reader.read for each in KINDS} | {
        PODS: lambda body: pod.pod(body, membership),
        POD_GROUPS: _pod_group,
        SCHED_PLUGINS_POD_GROUPS: _pod_group,
        NATIVE_POD_GROUPS[0]: _native_pod_group,
        POD_DISRUPTION_BUDGETS: cluster.read_uncounted,
        CLUSTER_NETWORK_TOPOLOGIES: defaults.cluster_network_topology,
        KUEUE_TOPOLOGIES[0]: defaults.kueue_topology,
    }


def _filled_pod(body: Body, scheduler_names: SchedulerNames, known: Priorities) -> Body:
    fields.read(body, pod_wire.Pod)  # The code below relies on the types.
    filled = defaults.with_pod_defaults(body, scheduler_names.of(body["metadata"]["uid"]))
    return {**filled, "spec": known.spec(filled["spec"])}


def _filled_native_pod_group(body: Body, known: Priorities) -> Body:
    fields.read(body, NativePodGroup)  # The code below relies on the types.
    return {**body, "spec": known.with_priority(body.get("spec", {}))}


class _PodGroupSpec(Wire, frozen=True):
    """The types of a PodGroup's fields. The values are checked as on a cluster."""

    min_member: int = 1
    min_resources: Quantities = field(default_factory=dict)
    schedule_timeout_seconds: int = 1


class _PodGroup(Wire, frozen=True):
    spec: _PodGroupSpec = _PodGroupSpec()


def _pod_group(body: Body) -> GangObject:
    amounts(fields.read(body, _PodGroup).spec.min_resources, "spec.minResources")
    return pod_groups.pod_group_object(body)


def _native_pod_group(body: Body) -> GangObject:
    fields.read(body, NativePodGroup)  # A wrong type is unreadable input, not a problem.
    return pod_groups.native_pod_group_object(body)


WITH_GANGS = frozenset(each.versions[0] for each in table.WATCHED if not each.names_queues)
"""The kinds of workloads that make gangs."""
T = TypeVar("T")


class Reading:
    """The objects found so far, in order, and the problems of documents.

    `named` are the products whose queue names count if the input has these objects.
    """

    def __init__(
        self,
        present: Present,
        membership: Membership,
        named: Collection[Product] = tuple(Product),
        *,
        strict: bool,
    ) -> None:
        self.objects: dict[tuple[str, str, str, str], FoundObject] = {}
        self.uids: dict[str, FoundObject] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.skipped = Skipped()
        self.unknown_fields: dict[tuple[str, str], str] = {}
        self.without_limits: Counter[tuple[str, str]] = Counter()
        self.latest = 0
        self.assumed_ours = 0
        self._stored: list[Stored] = []
        self._present = present
        self._membership = membership
        self._strict = strict
        self._named = named
        self._sequence = 0

    def take(self, document: Item) -> None:
        """Add a document of a known kind; record a document of another kind as skipped."""
        if isinstance(document, Problem):
            self.problems.append(document)
            return
        if isinstance(document, Stored):
            self._stored.append(document)
            return
        try:
            kind = defaults.kind_of(document.body)
            if document.made_by is None:
                notes = (skipped.note_in_vain(document), skipped.apart(document))
                self.notes.extend(filter(None, notes))
            self._validate(document)
            if kind is None:
                self.skipped.add(document)
                return
            self._sequence += 1
            body = defaults.with_identity(document.body, self._sequence, namespaced=kind.namespaced)
            if document.made_by is None:
                fields.check_name(kind.gvr, body["metadata"])
            made = [] if document.header else self._made_of(kind, document, body)
            self._add(FoundObject(document, kind, body))
            self._take_made(document, made)
        except InvalidField as error:
            self.problems.append(document.problem(error))

    def _validate(self, document: Document) -> None:
        """Note fields that an API server would drop. Raises InvalidField for faults it refuses.

        An object from an API server needs no check. For an object made from a manifest, checking
        the manifest's template is enough.
        """
        if not self._strict or document.is_from_cluster or document.header:
            return
        maker = document.made_by
        if maker is not None and validation.is_known(maker.body):
            return
        for each in validation.unknown_fields(document.body):
            first = document if maker is None else maker
            self.unknown_fields.setdefault((first.place, each), f"{document.place}: {each}")
        if document.body["kind"] == "Pod":
            for each in validation.without_limits(document.body):
                self.without_limits[document.file, each] += 1

    def load(self, scheduler_names: SchedulerNames) -> tuple[Loaded, ...]:
        """Return the readable objects in order; record the problems of the others."""
        classes = {
            each.key: self._try(each, cluster.read_priority_class)
            for each in self._of(PRIORITY_CLASSES)
        }
        known = cluster.priorities_of(filter(None, classes.values()))
        storage_classes = (each.body for each in self._of(STORAGE_CLASSES))
        fill = {**fillers(scheduler_names, known), **defaults.volume_fillers(storage_classes)}
        filled = fill[PODS]
        fill = {
            **fill,
            PODS: lambda body: device_claims.with_statuses(
                filled(body), self.objects, self._present
            ),
        }
        reads = readers(self._membership)
        found = [*self._load_stored()]
        for age, each in enumerate(self.objects.values(), start=1):
            gvr = each.kind.gvr
            body = self._try(each, fill[gvr]) if gvr in fill else each.body
            decoded: object = classes.get(each.key)
            if body and gvr in reads and each.key not in classes:
                decoded = self._try(replace(each, body=body), reads[gvr])
            if decoded is not None:
                share = age / (len(self.objects) + 1)
                decoded = with_age(decoded, each.body, self.latest + share * UNDATED_SECONDS)
                decoded = with_scheduler(decoded, scheduler_names)
                found.append(Loaded(gvr, decoded, body))
                self._note_oddity(each, decoded)
                self.assumed_ours += scheduler_names.is_assumed(each)
        return tuple(found)

    def remarks(self) -> Iterator[str]:
        """Yield the remarks about the input, for stderr."""
        yield from self.unknown_fields.values()
        for (file, resource), number in self.without_limits.items():
            asks = f"{counted(number, 'pod')} with a request for {resource} and no limit"
            yield f"{file}: {asks}: an API server refuses that, unless a LimitRange sets one"
        yield from self.skipped.lines()
        yield from self.notes

    def _load_stored(self) -> Iterator[Loaded]:
        """Yield the objects of snapshots; record their problems."""
        if self._stored and self.objects:
            self._refuse_both()
        for each in snapshot_files.load_stored(self._stored, self._membership):
            if each.problem:
                self.problems.append(Problem(each.problem))
            if each.note:
                self.notes.append(each.note)
            if each.gvr is not None and each.decoded is not None:
                yield Loaded(each.gvr, each.decoded)

    def _refuse_both(self) -> None:
        """Record manifests of objects that a snapshot also contains."""
        for each in self._stored:
            same = self.objects.get(snapshot_files.key_of(each))
            if same is not None:
                self.problems.append(
                    same.document.problem(
                        InvalidField(
                            "metadata.name",
                            same.key[3],
                            f"must differ from that of {each.place}",
                            IS,
                        )
                    )
                )

    def _made_of(self, kind: Kind, document: Document, body: Body) -> list[Body]:
        """Return the objects that a controller would still create. Raises InvalidField."""
        if kind.gvr == PODS:
            made = [*defaults.claims_of(body)]
            if not document.is_from_cluster:
                made += device_claims.made_for(body, self._present)
        else:
            made = self._made_of_workload(kind, document, body)
            if kind.gvr in NATIVE_POD_GROUPS and not document.is_from_cluster:
                made += device_claims.made_for(body, self._present)
        return [each for each in made if each["kind"] == "Pod" or not self._present.has(each)]

    def _made_of_workload(self, kind: Kind, document: Document, body: Body) -> list[Body]:
        found = kind.read(body) if kind.gvr in WITH_GANGS else None
        stored = document.is_from_cluster
        if isinstance(found, GangObject) and (
            self._waits(found, from_cluster=stored) or self._owner_waits(found, body)
        ):
            return []
        uid = body["metadata"]["uid"] if stored and document.made_by is None else ""
        source = Source(body, self._present, from_cluster=stored, uid=uid)
        made = table.missing(source)
        self.notes += (f"{document.place}: {each}" for each in (*source.notes, *source.unknown))
        self.skipped.not_expanded += bool(source.unknown) and not stored
        return made

    def _waits(self, found: GangObject, *, from_cluster: bool) -> bool:
        """Return whether a workload waits suspended: it names a queue, or comes from a cluster."""
        said = found.suspended
        return said is not None and (from_cluster or self._mean_any(said.names))

    def _owner_waits(self, found: GangObject, body: Body) -> bool:
        """Return whether a workload waits with its owner, which does not declare its members."""
        if found.owned is None or not found.owned.gangs:
            return False
        named = controller(body)
        kind = str(named["kind"]), fields.group_of(str(named["apiVersion"]))
        owner = self._present.find(*kind, body["metadata"]["namespace"], str(named["name"])) or {}
        labels, present = (part(owner, "metadata", each) for each in ("labels", "annotations"))
        queue = naming.request_of(labels, present)
        asked = (*found.owned.names, *(queue.names if queue is not None else ()))
        return self._mean_any(asked) and part(owner, "spec").get("suspend") is True

    def _mean_any(self, names: Iterable[QueueName]) -> bool:
        """Return whether any name is the name of a queue, even of a queue that does not exist."""
        return any(product_of(each) in self._named for each in names)

    def _take_made(self, document: Document, made: Iterable[Body]) -> None:
        """Add the objects that a workload's controller would create, as if they were input."""
        for each in made:
            path = f"{each['kind']} {each['metadata']['name']}"
            self.take(replace(document, body=each, path=path, made_by=document))

    def _of(self, gvr: GVR) -> Iterable[FoundObject]:
        return (each for each in self.objects.values() if each.kind.gvr == gvr)

    def _try(self, each: FoundObject, loader: Callable[[Mapping[str, Any]], T]) -> T | None:
        try:
            return loader(each.body)
        except InvalidField as error:
            self.problems.append(each.document.problem(error))
            return None

    def _note_oddity(self, each: FoundObject, decoded: object) -> None:
        name = each.body["metadata"]["name"]
        why = fields.why_refused(each.kind.gvr, name)
        if isinstance(decoded, DeclaredTopology):
            why = defaults.why_unused(decoded)
        elif isinstance(decoded, DeclaredQueue | AdmissionCheck):
            why = "; ".join(decoded.notes)
        if why:
            name = f"{each.kind.kind} {name}"
            self.notes.append(f"{each.document.place}: {name}: {why}")

    def _add(self, found: FoundObject) -> None:
        before = self.objects.get(found.key)
        if before is not None:
            self._refuse_second(before, found)
            return
        same_uid = self.uids.setdefault(found.body["metadata"]["uid"], found)
        if same_uid is not found:
            uid = found.body["metadata"]["uid"]
            other = f"must differ from that of {same_uid.document.place}"
            raise InvalidField("metadata.uid", uid, other, IS)
        self.objects[found.key] = found
        self.latest = max(self.latest, defaults.latest_time(found.body))

    def _refuse_second(self, before: FoundObject, found: FoundObject) -> None:
        if before.document.body != found.document.body:
            kind, _, namespace, name = found.key
            named = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            text = f"{found.document.place}: {named} is in {before.document.place} already"
            self.problems.append(Problem(f"{text}, and they differ"))
