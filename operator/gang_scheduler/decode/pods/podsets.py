"""What a pod's own annotations ask of the network, as Kueue defines them for a podset."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import fields, json_fields
from gang_scheduler.decode.fields import field, label_layer
from gang_scheduler.decode.json_fields import JsonField
from gang_scheduler.model import remembered
from gang_scheduler.model.network.topology_request import LayerRef, PodSet, Slices, TopologyRequest
from gang_scheduler.wire.metadata import Metadata

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
    """Return the podset of a pod; None without a topology request. Equal ones are one object."""
    present = metadata.annotations.items()
    own = tuple(sorted((key, text) for key, text in present if key in annotations.PODSET_KEYS))
    return _podset(own, _owner(metadata)) if own else None


def _owner(metadata: Metadata) -> str:
    """Return a key that only pods of one podset share, among podsets that ask alike.

    All Jobs of a replicatedJob are one podset, so the key has the JobSet instead of the controller.
    """
    labels = metadata.labels
    workload = labels.get(JOB_SET_LABEL) or metadata.controller.uid
    part = next((labels[key] for key in _PART_LABELS if labels.get(key)), "")
    return f"{workload}/{part}"


@remembered.by_short_texts(1024)
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
    """Return the slices of several layers, from coarse to fine, without what is wrong with them.

    Raises InvalidField for what is no list of slices.
    """
    where = field(annotations.PODSET_SLICE_LAYERS)
    entries = json_fields.read(where, text).items(MOST_SLICE_LAYERS)
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
    return InvalidField(field(key), present[key], f"must be absent beside {other}")


def _without(key: str, other: str) -> InvalidField:
    return InvalidField(field(key), None, f"is required beside {other}")
