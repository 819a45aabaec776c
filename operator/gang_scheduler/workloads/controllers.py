"""Workloads in the input, and the pods that their controllers would still create.

A controller may create some pods only later, when others are ready. For a manifest they are created
together with the others, because users ask about the whole workload. For a workload from a cluster,
only the pods that its controller would create now are made.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster, fields
from gang_scheduler.decode.fields import LONGEST_LABEL, group_of
from gang_scheduler.decode.pods.pod_class import ADDED
from gang_scheduler.wire.base import Condition, Metadata, Wire
from gang_scheduler.wire.pods import PodTemplate

# Bodies of objects that controllers create: from a template, with their owner and a name.

MOST_PODS: Final = 100_000
"""The most pods of an indexed Job. A larger number is a mistake, and would fill the memory."""

Body = Mapping[str, Any]
Labels = Mapping[str, str]
NONE: Final[Labels] = {}


def pod(
    owner: Body, template: Body, name: str, labels: Labels = NONE, annotations: Labels = NONE
) -> dict[str, Any]:
    """Return a pod made from a template. Given labels and annotations replace the template's."""
    made = from_template(template, labels, annotations)
    return {**made, "metadata": {**made["metadata"], **owned(owner, name)}}


def from_template(template: Body, labels: Labels, annotations: Labels) -> dict[str, Any]:
    """Return a pod made from a template, still without a name and an owner."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": merged(template.get("metadata", {}), labels, annotations),
        "spec": template.get("spec", {}),
    }


def merged(metadata: Body, labels: Labels, annotations: Labels) -> dict[str, Any]:
    """Return a template's labels and annotations, with the given ones added or replaced."""
    return {
        "labels": {**metadata.get("labels", {}), **labels},
        "annotations": {**metadata.get("annotations", {}), **annotations},
    }


def labelled(pod: Body, labels: Labels) -> Body:
    """Return a pod with these labels added."""
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "labels": {**metadata["labels"], **labels}}}


def owned(owner: Body, name: str) -> dict[str, Any]:
    """Return the metadata of an object that the owner's controller creates."""
    given = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": given["name"],
        "uid": given["uid"],
        "controller": True,
    }
    times = {key: given[key] for key in ("creationTimestamp",) if key in given}
    return {
        **times,
        "name": name,
        "namespace": given["namespace"],
        "uid": f"{given['uid']}/{name}",
        "ownerReferences": [reference],
    }


def uid_label(owner: Body) -> str:
    """Return the uid of an object as a label value: the end of it, if it is too long."""
    return str(owner["metadata"]["uid"]).replace("/", "-")[-LONGEST_LABEL:].lstrip("-")


def with_init_container(made: Body, container: Body) -> dict[str, Any]:
    """Return a pod with one more init container, after the others."""
    own = made["spec"].get("initContainers", [])
    return {**made, "spec": {**made["spec"], "initContainers": [*own, container]}}


def with_container(made: Body, container: Body) -> dict[str, Any]:
    """Return a pod, or a template, with one more container, after the others."""
    containers = [*made["spec"]["containers"], container]
    return {**made, "spec": {**made["spec"], "containers": containers}}


def added(name: str) -> dict[str, Any]:
    """Return the container of this name that an operator adds to pods."""
    return {"name": name, "resources": {"requests": dict(ADDED[name])}}


def suffixed(prefix: str, number: int, is_taken: Callable[[str], bool]) -> Iterator[str]:
    """Yield `number` unused names in place of random ones: PREFIX00000, PREFIX00001."""
    candidates = (f"{prefix}{i:05d}" for i in itertools.count())
    return itertools.islice((each for each in candidates if not is_taken(each)), max(0, number))


def check_template(template: PodTemplate, where: str, *, given: bool = True) -> None:
    """Raise InvalidField for a template that an API server, or a webhook, would refuse.

    `given` is False for a template without containers.
    """
    if not given:
        raise InvalidField(f"{where}.spec.containers", None, "is required")
    metadata = template.metadata
    fields.check_labels(metadata.labels, metadata.annotations, f"{where}.metadata")


def check_number(number: int, where: str) -> int:
    """Return the number. Raises InvalidField if it is so large that it must be a mistake."""
    if number > MOST_PODS:
        raise InvalidField(where, number, f"must be at most {MOST_PODS} here")
    return number


# Objects of the input that a workload already has: its controller would not create them again.


class Named(NamedTuple):
    """An object of the input, by name."""

    kind: str
    group: str
    namespace: str
    name: str


class Present:
    """The objects of the input by name and by their controllers.

    Nothing is refused here: an invalid object is refused where it is read.
    """

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        self._objects: dict[Named, Body] = {}
        self._controlled: defaultdict[Named, dict[Named, Body]] = defaultdict(dict)
        self._loose_pods: defaultdict[tuple[str, str, str], dict[str, Body]] = defaultdict(dict)
        self._priority_classes: dict[Named, Body] = {}
        for each in bodies:
            self._note(each)

    def has(self, body: Body) -> bool:
        """Return whether the input has an object of this kind and name."""
        return _named(body) in self._objects

    def find(self, kind: str, group: str, namespace: str, name: str) -> Body | None:
        """Return an object of the input; an object without a namespace is in `default`."""
        return self._objects.get(Named(kind, group, namespace, name))

    def controlled_by(self, owner: Body, uid: str = "") -> list[Body]:
        """Return the objects that name `owner` as their controller, and its uid if given."""
        named = _named(owner)
        found = self._controlled.get(named, {}).values() if named else ()
        return [each for each in found if not uid or controller(each).get("uid", uid) == uid]

    def owners(self, kind: str, group: str, namespace: str) -> dict[str, list[Body]]:
        """Return the objects that controllers of a kind control, by the name of the controller.

        A controller that is not in the input counts, too.
        """
        return {
            owner.name: [*found.values()]
            for owner, found in self._controlled.items()
            if (owner.kind, owner.group, owner.namespace) == (kind, group, namespace)
        }

    def loose_pods(self, namespace: str, key: str, value: str) -> Iterable[Body]:
        """Return the pods with this label that have no controller, as in manifests."""
        return self._loose_pods.get((namespace, key, value), {}).values()

    def priority_of(self, spec: Body) -> int:
        """Return the priority of a pod with this spec, as an API server sets it."""
        try:
            found = map(cluster.read_priority_class, self._priority_classes.values())
            filled = cluster.priorities_of([*found]).with_priority(spec)
        except InvalidField:
            return 0  # What reads the PriorityClass or the pod reports the fault.
        return int(filled.get("priority", 0))

    def _note(self, body: Body) -> None:
        named = _named(body)
        if named is None:
            return
        self._objects[named] = body
        if named.kind == "PriorityClass":
            self._priority_classes[named] = body
        owner = controller(body)
        if owner:
            self._controlled[_owner(owner, named.namespace)][named] = body
        elif named.kind == "Pod":
            for key, value in _labels(body):
                self._loose_pods[(named.namespace, key, value)][named.name] = body


def controller(body: Body) -> Body:
    """Return the reference to the controller of an object, an empty one if it has none."""
    owners = parts(body, "metadata", "ownerReferences")
    return next((each for each in owners if each.get("controller")), {})


def part(body: Body, *path: str) -> Body:
    """Return the object at a path in an object; {} if there is none."""
    value: object = body
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def parts(body: Body, *path: str) -> list[Body]:
    """Return the objects of the list at a path in an object; [] if there is no list."""
    *above, field = path
    found = part(body, *above).get(field)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _named(body: Body) -> Named | None:
    metadata = part(body, "metadata")
    namespace = metadata.get("namespace") or "default"
    given = (body.get("kind"), body.get("apiVersion"), namespace, metadata.get("name"))
    if not all(isinstance(each, str) for each in given):
        return None
    kind, api_version, namespace, name = map(str, given)
    return Named(kind, group_of(api_version), namespace, name)


def _owner(reference: Body, namespace: str) -> Named:
    group = group_of(str(reference.get("apiVersion", "")))
    return Named(str(reference.get("kind")), group, namespace, str(reference.get("name")))


def _labels(body: Body) -> Iterator[tuple[str, str]]:
    for key, value in part(body, "metadata", "labels").items():
        if isinstance(key, str) and isinstance(value, str):
            yield key, value


# A workload of the input, together with its objects there.

T = TypeVar("T")
ENDED_PHASES = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Source:
    """A workload, and the objects of the input.

    `from_cluster`: the workload, or its creator, comes from an API server. `uid` is its uid in the
    objects that it owns; "" if a new uid was made up here. `notes` are lines about parts that are
    not created, and `unknown` lines about pods that cannot be derived.
    """

    body: Body
    present: Present = field(default_factory=Present)
    from_cluster: bool = False
    uid: str = ""
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the workload."""
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace; "" for an object without one, which an API server never sends."""
        return str(self.body["metadata"].get("namespace") or "")

    def read(self, struct: type[T]) -> T:
        """Return the workload as a wire struct. Raises InvalidField."""
        return fields.read(self.body, struct)

    def owned(self, kind: str) -> list[Body]:
        """Return the objects of a kind in the input that the workload controls."""
        found = self.present.controlled_by(self.body, self.uid)
        return [each for each in found if each["kind"] == kind]

    def pods(self, labels: Mapping[str, str] | None = None) -> list[Body]:
        """Return the pods that it controls, and pods without a controller that have all labels."""
        first = next(iter((labels or {}).items()), None)
        loose = self.present.loose_pods(self.namespace, *first) if first else ()
        return [*self.owned("Pod"), *(each for each in loose if has_labels(each, labels or {}))]

    def pod(self, name: str) -> Body | None:
        """Return the pod of this name in the input, even if another controller created it."""
        return self.present.find("Pod", "", self.namespace, name)

    def pod_as_owner(self, name: str, uid: str) -> Body:
        """Return the pod of this name as an owner, with this uid if the input does not have it."""
        known = part(self.pod(name) or {}, "metadata")
        metadata = {"uid": uid, **known, "name": name, "namespace": self.namespace}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}

    def has_pod(self, name: str) -> bool:
        """Return whether the input has a pod of this name."""
        return self.pod(name) is not None

    def absent(self, pods: Iterable[Body]) -> Iterable[Body]:
        """Yield the pods that are not in the input, for a kind whose pods have fixed names."""
        return (each for each in pods if not self.has_pod(each["metadata"]["name"]))


def has_labels(body: Body, labels: Mapping[str, str]) -> bool:
    """Return whether an object has all of these labels."""
    own = part(body, "metadata", "labels")
    return all(own.get(key) == value for key, value in labels.items())


def label(body: Body, key: str) -> str:
    """Return the value of a label, "" without it."""
    return str(part(body, "metadata", "labels").get(key, ""))


def is_active(pod: Body) -> bool:
    """Return whether a pod has not ended, and is not being deleted."""
    return not has_ended(pod) and not is_deleting(pod)


def has_ended(pod: Body) -> bool:
    """Return whether a pod has succeeded or failed."""
    return phase(pod) in ENDED_PHASES


def is_deleting(pod: Body) -> bool:
    """Return whether the deletion of a pod has begun."""
    return bool(part(pod, "metadata").get("deletionTimestamp"))


def phase(pod: Body) -> object:
    """Return the phase of a pod, None without one."""
    return part(pod, "status").get("phase")


def is_ready(pod: Body) -> bool:
    """Return whether a pod has the condition Ready."""
    conditions = part(pod, "status").get("conditions")
    return any(
        isinstance(each, Mapping) and (each.get("type"), each.get("status")) == ("Ready", "True")
        for each in (conditions if isinstance(conditions, list) else ())
    )


def required(value: object, where: str) -> None:
    """Raise InvalidField for a field that is absent or empty."""
    if not value:
        raise InvalidField(where, None, "is required")


# Whether the controller of a workload creates its missing objects now.

ENDED: Final = frozenset(
    {"Complete", "Completed", "Succeeded", "Failed", "FailureTarget", "SuccessCriteriaMet"}
)
"""Conditions of workloads that have ended, or are about to end."""
SUSPENDED: Final = "Suspended"


class _RunPolicy(Wire, frozen=True):
    suspend: bool = False
    managed_by: str = ""


class _Spec(Wire, frozen=True):
    """Kinds of Kubeflow have these fields in `runPolicy`, all other kinds in `spec`."""

    suspend: bool = False
    managed_by: str = ""
    run_policy: _RunPolicy = _RunPolicy()


class _Status(Wire, frozen=True):
    conditions: list[Condition] = msgspec.field(default_factory=list)


class Workload(Wire, frozen=True):
    """The fields of a workload that show what its controller does now."""

    metadata: Metadata = Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def has_ended(self) -> bool:
        """Whether the controller creates no further objects, even if some are missing."""
        return self._is_any(ENDED) or bool(self.metadata.deletion_timestamp)

    @property
    def was_suspended(self) -> bool:
        """Whether the controller reports the workload as suspended."""
        return self._is_any({SUSPENDED})

    @property
    def is_suspended(self) -> bool:
        """Whether its spec says that it is suspended."""
        return self.spec.suspend or self.spec.run_policy.suspend

    @property
    def managed_by(self) -> frozenset[str]:
        """The controllers that the workload names in `managedBy`.

        Empty if it names none: the usual controller of its kind then manages it.
        """
        return frozenset({self.spec.managed_by, self.spec.run_policy.managed_by} - {""})

    def _is_any(self, types: Collection[str]) -> bool:
        return any(each.type in types and each.status == "True" for each in self.status.conditions)


class Phase(NamedTuple):
    """The status field that shows the state of a workload, and its values for an ended workload."""

    path: tuple[str, ...] = ()
    ended: frozenset[str] = frozenset()

    @classmethod
    def until(cls, path: str, *ended: str) -> "Phase":
        """Return the Phase for a path such as `state.phase`, and its values for an end."""
        return cls(tuple(path.split(".")), frozenset(ended))

    def has_ended(self, body: Body) -> bool:
        """Return whether the status says that the workload has ended."""
        if not self.path:
            return False
        return part(body, "status", *self.path[:-1]).get(self.path[-1]) in self.ended


NO_PHASE: Final = Phase()


def is_started(source: Source, phase: Phase, controllers: AbstractSet[str]) -> bool:
    """Return whether one of `controllers` creates the missing pods of a workload now.

    A suspended workload counts as started unless it has been on a cluster: users who simulate a
    manifest want to know what happens once it starts. Raises InvalidField.
    """
    workload = source.read(Workload)
    waits = workload.is_suspended and (source.from_cluster or workload.was_suspended)
    ended = workload.has_ended or phase.has_ended(source.body)
    return not (waits or ended) and workload.managed_by <= controllers
