"""The gang of a pod, and its role and rank in the gang. The first match wins.

A pod may name its gang itself; otherwise the kinds in `workloads.table` are asked in their order.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.api.parsing import IS, Faults, InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.fields import JsonField, label_layer
from gang_scheduler.model import records, refs
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.model.topology_request import LayerRef, PodSet, Slices, TopologyRequest
from gang_scheduler.model.wording import field
from gang_scheduler.wire.base import NO_OWNER, Metadata, OwnerReference
from gang_scheduler.wire.pods import Pod

# The rank of a member. Members with neighbouring ranks get neighbouring nodes.

Rank = tuple[int, ...]

NO_INDEX: Final = -1
MOST_DIGITS: Final = 9


def index_of(present: Mapping[str, str]) -> int:
    """Return the number in the index annotation, else NO_INDEX. Raises InvalidField."""
    text = present.get(annotations.NETWORK_TOPOLOGY_INDEX)
    if text is None:
        return NO_INDEX
    if not _is_number(text):
        field = f"metadata.annotations[{annotations.NETWORK_TOPOLOGY_INDEX}]"
        raise InvalidField(field, text, "must be a whole number of at least 0")
    return int(text)


def numbers(metadata: Metadata, keys: Iterable[str]) -> Rank:
    """Return the numbers that a controller wrote under these keys, without invalid ones."""
    found = []
    for key in keys:
        text = metadata.annotations.get(key) or metadata.labels.get(key, "")
        if _is_number(text):
            found.append(int(text))
    return tuple(found)


def _is_number(text: str) -> bool:
    return len(text) <= MOST_DIGITS and text.isascii() and text.isdigit()


POD_GROUP_LABELS: Final = (
    annotations.POD_GROUP_LABEL,
    annotations.POD_GROUP_LABEL_SCHED_PLUGINS,
)


def _no_gang(_: Pod) -> str:
    return ""


def _no_role(_: Metadata) -> str:
    return ""


def _no_rank(_: Metadata) -> Rank:
    return ()


class PodsOfKind(NamedTuple):
    """How the pods of one kind of workloads are recognized.

    Each of its pods has at least one of the labels and annotations `keys`; without keys, all pods
    are checked. `name_of` returns the name of a pod's gang, "" for a pod of another kind.
    `role_of` returns the role of a pod in its gang, "" for none; `role_keys` are the annotations
    that it reads. `rank_of` returns its rank, read on pods with one of `rank_keys`. Role and rank
    also hold in a gang that the pod names itself. `by_default`: its pods are a gang unless they opt
    out; otherwise they must opt in. Annotations with `prefixes` are kept with its pods. `replacing`
    are the kinds of its controllers that replace a pod that has ended. `recreated` are labels of
    pods whose controllers themselves are created again, under another uid.
    """

    source: GangSource
    name_of: Callable[[Pod], str] = _no_gang
    keys: frozenset[str] = frozenset()
    role_of: Callable[[Metadata], str] = _no_role
    role_keys: frozenset[str] = frozenset()
    rank_of: Callable[[Metadata], Rank] = _no_rank
    rank_keys: frozenset[str] = frozenset()
    by_default: bool = False
    prefixes: tuple[str, ...] = ()
    replacing: frozenset[str] = frozenset()
    recreated: frozenset[str] = frozenset()


# Runs: within one run of a workload, pods that have succeeded are not created again.

ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"
JOB_SET_UID: Final = "jobset.sigs.k8s.io/jobset-uid"
_RECREATED: Final = frozenset({annotations.APP_WRAPPER_LABEL})
_REPLACING: Final = frozenset({"ReplicaSet", "ReplicationController", "DaemonSet", "Node", "Pod"})


class Membership:
    """Finds the gangs of pods, with roles and ranks, by the kinds of a table.

    `by_default` are the names of the kinds whose pods are gangs without opting in.
    """

    def __init__(self, kinds: Iterable[PodsOfKind], by_default: Collection[str]) -> None:
        self._kinds = tuple(kinds)
        self._keyless = tuple(each for each in self._kinds if not each.keys)
        self._keys = frozenset(chain.from_iterable(each.keys for each in self._kinds))
        self._ranked = tuple(each for each in self._kinds if each.rank_keys)
        self._rank_keys = frozenset(chain.from_iterable(each.rank_keys for each in self._ranked))
        self.by_default = frozenset(
            each.source.name
            for each in self._kinds
            if each.by_default and each.source.name in by_default
        )
        self._replacing = _REPLACING.union(*(each.replacing for each in self._kinds))
        self._recreated = _RECREATED.union(*(each.recreated for each in self._kinds))
        self.prefixes = tuple(
            sorted(set(chain.from_iterable(each.prefixes for each in self._kinds)))
        )

    def gang_of(self, source: Pod) -> GangKey:
        """Return the gang of a pod; a pod without one is a gang of its own, named after itself."""
        return named_gang_of(source) or self._gang_of_workload(source) or _alone(source)

    def role_of(self, metadata: Metadata) -> str:
        """Return the role of a pod in its gang: from its own label, else by its kind."""
        own = metadata.labels.get(annotations.ROLE)
        if own is not None:
            return own
        kinds = (each for each in self._kinds_of(metadata) if each.keys)
        return next(filter(None, (each.role_of(metadata) for each in kinds)), "")

    def rank_of(self, metadata: Metadata) -> Rank:
        """Return a pod's rank, smaller first; empty without an index."""
        try:
            own = index_of(metadata.annotations)
        except InvalidField:
            return ()  # This is the problem of the gang, which waits: see `faults`.
        if own != NO_INDEX:
            return (own,)
        for each in self._ranked_of(metadata):
            if found := each.rank_of(metadata):
                return found
        return ()

    def run_of(self, metadata: Metadata) -> str:
        """Return the key that all pods of one run share; "" for a pod that belongs to no run.

        A controller that replaces pods that have ended has no runs. The Jobs of a JobSet are one
        run until the JobSet is restarted. A pod group of Kueue is one run as long as its total
        stays the same, because pods that have succeeded count.
        """
        labels = metadata.labels
        job_set = labels.get(annotations.JOB_SET_LABEL)
        if job_set:
            of_job_set = (job_set, labels.get(JOB_SET_UID, ""), labels.get(ATTEMPT, ""))
            return sys.intern("/".join(of_job_set))
        if labels.get(annotations.KUEUE_POD_GROUP):
            return sys.intern(metadata.annotations.get(annotations.KUEUE_POD_GROUP_TOTAL, ""))
        controller = metadata.controller
        return "" if controller.kind in self._replacing else sys.intern(controller.uid)

    def workload_uid_of(self, metadata: Metadata) -> str:
        """Return the uid of the workload that creates a pod again as long as it exists.

        "" if unknown, and for a pod whose controller itself is created again under another uid.
        """
        labels, controller = metadata.labels, metadata.controller
        if not self._recreated.isdisjoint(labels):
            return ""
        if annotations.JOB_SET_LABEL in labels:
            return sys.intern(labels.get(JOB_SET_UID, ""))
        makes = controller.is_job or controller.is_stateful_set or controller.is_training_job
        return sys.intern(controller.uid) if makes else ""

    def _gang_of_workload(self, source: Pod) -> GangKey | None:
        metadata = source.metadata
        asks = annotations.ask_for_gang(metadata.labels, metadata.annotations)
        refuses = metadata.labels.get(annotations.JOB_GANG_LABEL) == "false"
        for each in self._kinds_of(metadata):
            by_default = each.source.name in self.by_default
            if (by_default and not refuses) or (asks and not (each.by_default and refuses)):
                name = each.name_of(source)
                if name:
                    return GangKey(each.source.name, metadata.namespace, name)
        return None

    def _ranked_of(self, metadata: Metadata) -> Iterable[PodsOfKind]:
        """Return the kinds that may find a rank in the keys of a pod: none for most pods."""
        if not _has(metadata, self._rank_keys):
            return ()
        known = {*metadata.labels, *metadata.annotations}
        return (each for each in self._ranked if not known.isdisjoint(each.rank_keys))

    def _kinds_of(self, metadata: Metadata) -> tuple[PodsOfKind, ...]:
        """Return the kinds that a pod may belong to, usually only those without keys."""
        return self._kinds if _has(metadata, self._keys) else self._keyless


def named_gang_of(source: Pod) -> GangKey | None:
    """Return the gang that a pod names itself; None without one.

    It counts even if the pod's workload is a gang, too.
    """
    for rule, name_of in _NAMED:
        if name := name_of(source):
            return GangKey(rule.name, source.metadata.namespace, name)
    return None


def job_of(metadata: Metadata) -> OwnerReference:
    """Return the Job that controls a pod, else NO_OWNER."""
    controller = metadata.controller
    return controller if controller.is_job else NO_OWNER


def _has(metadata: Metadata, keys: frozenset[str]) -> bool:
    return not (keys.isdisjoint(metadata.labels) and keys.isdisjoint(metadata.annotations))


def _alone(source: Pod) -> GangKey:
    return GangKey(refs.SINGLE.name, source.metadata.namespace, source.metadata.name)


def _native(source: Pod) -> str:
    return source.spec.scheduling_group.pod_group_name


def _pod_group_label(source: Pod) -> str:
    labels = source.metadata.labels
    return next((labels[key] for key in POD_GROUP_LABELS if labels.get(key)), "")


def _annotation(source: Pod) -> str:
    own = source.metadata.annotations.get(annotations.GANG_NAME)
    return own or source.metadata.labels.get(annotations.GANG_NAME_LABEL, "")


_NAMED: Final = (
    (refs.NATIVE, _native),
    (refs.POD_GROUP, _pod_group_label),
    (refs.ANNOTATION, _annotation),
)


# The topology request in a pod's own annotations, as Kueue defines them for a podset.

MOST_SLICE_LAYERS: Final = 3
# Messages name the first of these annotations that a pod has.
_TELLING = (
    annotations.PODSET_REQUIRED,
    annotations.PODSET_PREFERRED,
    annotations.PODSET_SLICE_LAYERS,
    annotations.PODSET_SLICE_LAYER,
    annotations.PODSET_UNCONSTRAINED,
    annotations.PODSET_GROUP,
)
_GATHERING = (
    annotations.PODSET_REQUIRED,
    annotations.PODSET_PREFERRED,
    annotations.PODSET_UNCONSTRAINED,
)
# The labels that say which podset of its workload a pod is in.
_PART_LABELS = ("kueue.x-k8s.io/podset", REPLICATED_JOB_LABEL, "training.kubeflow.org/replica-type")

Text = tuple[tuple[str, str], ...]


def podset_of(metadata: Metadata) -> PodSet | None:
    """Return the podset of a pod; None without a topology request.

    Equal podsets share one object.
    """
    present = metadata.annotations.items()
    own = tuple(sorted((key, text) for key, text in present if key in annotations.PODSET_KEYS))
    return _podset(own, _owner(metadata)) if own else None


def _owner(metadata: Metadata) -> str:
    """Return a key that only pods of one podset share, among podsets with equal requests.

    All Jobs of a replicatedJob are one podset, so the key has the JobSet instead of the controller.
    """
    labels = metadata.labels
    workload = labels.get(JOB_SET_LABEL) or metadata.controller.uid
    part = next((labels[key] for key in _PART_LABELS if labels.get(key)), "")
    return f"{workload}/{part}"


@records.by_short_texts(1024)
def _podset(own: Text, owner: str) -> PodSet | None:
    present, faults = dict(own), Faults()
    podset = PodSet(
        _topology_request(present, faults), faults.read(lambda: _group(present), ""), owner
    )
    try:
        faults.check()
    except InvalidField as error:
        return PodSet(owner=owner, problem=str(error))
    return podset if annotations.ask_for_topology(present) else None


def _topology_request(present: Mapping[str, str], faults: Faults) -> TopologyRequest:
    chosen = [key for key in _GATHERING if key in present]
    for key in chosen[1:]:
        faults.add(_beside(present, key, chosen[0]))
    faults.read(lambda: _check_unconstrained(present), None)
    must = faults.read(lambda: _layer(present, annotations.PODSET_REQUIRED), ())
    prefer = faults.read(lambda: _layer(present, annotations.PODSET_PREFERRED), ())
    return TopologyRequest(
        must=must,
        prefer=prefer,
        upward=bool(prefer),
        slices=_slices(present, faults),
        where=next((field(key) for key in _TELLING if key in present), ""),
    )


def _layer(present: Mapping[str, str], key: str) -> tuple[LayerRef, ...]:
    """Return the layer that an annotation names; empty without the annotation."""
    return (label_layer(field(key), present[key]),) if key in present else ()


def _check_unconstrained(present: Mapping[str, str]) -> None:
    text = present.get(annotations.PODSET_UNCONSTRAINED, "true")
    if text not in annotations.GO_TRUE | annotations.GO_FALSE:
        where = field(annotations.PODSET_UNCONSTRAINED)
        raise InvalidField(where, text, "must be true or false")


def _slices(present: Mapping[str, str], faults: Faults) -> tuple[Slices, ...]:
    one = (annotations.PODSET_SLICE_LAYER, annotations.PODSET_SLICE_SIZE)
    if annotations.PODSET_SLICE_LAYERS in present:
        for key in one:
            if key in present:
                faults.add(_beside(present, key, annotations.PODSET_SLICE_LAYERS))
        text = present[annotations.PODSET_SLICE_LAYERS]
        return faults.read(lambda: _listed(text, faults), ())
    for key, other in (one, one[::-1]):
        if key in present and other not in present:
            faults.add(_without(other, key))
    layer = faults.read(lambda: _layer(present, one[0]), ())
    size = faults.read(lambda: fields.whole_number(present, one[1], None), None)
    return tuple(Slices(each, size) for each in layer if size is not None)


def _listed(text: str, faults: Faults) -> tuple[Slices, ...]:
    """Return the slices of several layers, from coarse to fine, without invalid ones.

    Raises InvalidField for a value that is no list of slices.
    """
    where = field(annotations.PODSET_SLICE_LAYERS)
    entries = fields.read_json(where, text).items(MOST_SLICE_LAYERS)
    if not entries:
        raise InvalidField(where, [], "must have at least one entry")
    slices: list[Slices] = []
    for entry in entries:
        read = faults.read(partial(_slice, entry, slices, faults), None)
        slices += () if read is None else (read,)
    return tuple(slices)


def _slice(entry: JsonField, above: Sequence[Slices], faults: Faults) -> Slices | None:
    topology, size = entry.fields("topology", "size", faults=faults).values()
    layer = faults.read(lambda: _slice_layer(topology, above), None)
    count = faults.read(lambda: _slice_size(size, above), None)
    return None if layer is None or count is None else Slices(layer, count)


def _slice_layer(topology: JsonField, above: Sequence[Slices]) -> LayerRef:
    layer = label_layer(topology.path, topology.text())
    if any(layer == each.layer for each in above):
        raise topology.wrong("must be listed once")
    return layer


def _slice_size(size: JsonField, above: Sequence[Slices]) -> int:
    count = size.whole_number()
    if count < 1:
        raise size.wrong("must be at least 1")
    if above and above[-1].size % count:
        raise size.wrong(f"must divide the size above it, which is {above[-1].size}")
    return count


def _group(present: Mapping[str, str]) -> str:
    name = present.get(annotations.PODSET_GROUP)
    if name is None:
        return ""
    return JsonField(field(annotations.PODSET_GROUP), name).text()


def _beside(present: Mapping[str, str], key: str, other: str) -> InvalidField:
    return InvalidField(field(key), present[key], f"must be absent with {other}", IS)


def _without(key: str, other: str) -> InvalidField:
    return InvalidField(field(key), None, f"is required with {other}")
