"""The topology request of a whole gang: our annotation, and the native constraint."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import json_fields
from gang_scheduler.decode.fields import field, label_layer
from gang_scheduler.decode.json_fields import JsonField
from gang_scheduler.model.causes import InvalidInput
from gang_scheduler.model.network.topology_request import LayerRef, Slices, TopologyRequest
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.wire.pod_groups import SchedulingConstraints

MUST, PREFER = "MustGather", "PreferGather"
MOST_LAYERS: Final = 32
"""As many layers as a ClusterNetworkTopology can have."""
SPEC_FIELD: Final = field(annotations.NETWORK_TOPOLOGY_SPEC)
NATIVE_FIELD: Final = "spec.schedulingConstraints"


class _Rule(NamedTuple):
    """An entry of `gatherStrategy`."""

    layer: str
    strategy: str
    multiple: int


def network_topology_spec(present: Mapping[str, str]) -> TopologyRequest | None:
    """Return the request of the annotation; None if it is absent or empty.

    Raises InvalidField that names the field and the value.
    """
    text = present.get(annotations.NETWORK_TOPOLOGY_SPEC)
    return None if text is None else _spec(text)


def native_constraint(constraints: SchedulingConstraints) -> TopologyRequest | None:
    """Return the request of a native PodGroup's constraint: members must gather in all its layers.

    Raises InvalidField for a key that no node label can have.
    """
    keys = [each.key for each in constraints.topology]
    paths = [f"{NATIVE_FIELD}.topology[{i}].key" for i in range(len(keys))]
    must = dict.fromkeys(map(label_layer, paths, keys))
    return TopologyRequest(must=tuple(must), where=paths[0]) if must else None


def unknown_constraints(constraints: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a native constraint that are set and unknown here."""
    yield from (f"{NATIVE_FIELD}.{name}" for name in _others(constraints, "topology"))
    for i, each in enumerate(constraints.get("topology") or []):
        yield from (f"{NATIVE_FIELD}.topology[{i}].{name}" for name in _others(each, "key"))


def misplaced(members: Iterable[Pod], topology_request: TopologyRequest | None) -> Problem | None:
    """Return a problem if a member has another request than its PodGroup, which must have it."""
    for pod in members:
        if annotations.NETWORK_TOPOLOGY_SPEC in pod.annotations and _differs(pod, topology_request):
            message = f"pod {pod.key}: {SPEC_FIELD} must be absent, or the same as on the PodGroup"
            return Problem(Reason.INVALID_SPEC, InvalidInput(message))
    return None


def _differs(pod: Pod, topology_request: TopologyRequest | None) -> bool:
    try:
        return network_topology_spec(pod.annotations) != topology_request
    except InvalidField:
        return True


@functools.lru_cache(maxsize=1024)
def _spec(text: str) -> TopologyRequest | None:
    listed = json_fields.read(SPEC_FIELD, text).fields("gatherStrategy")["gatherStrategy"]
    entries = listed.items(MOST_LAYERS) if listed.value is not None else ()
    seen: set[str] = set()
    # The order of the list has no meaning: requests that differ only in order are equal.
    rules = sorted(_rule(each, seen) for each in entries)
    if not rules:
        return None
    return TopologyRequest(
        must=tuple(LayerRef(each.layer) for each in rules if each.strategy == MUST),
        prefer=tuple(LayerRef(each.layer) for each in rules if each.strategy == PREFER),
        slices=tuple(
            Slices(LayerRef(each.layer), each.multiple, whole=True)
            for each in rules
            if each.multiple > 1
        ),
        where=SPEC_FIELD,
    )


def _rule(entry: JsonField, seen: set[str]) -> _Rule:
    """Return an entry, and add its layer to `seen`."""
    layer, strategy, multiple = entry.fields("layer", "strategy", "podCountMultiple").values()
    if layer.text() in seen:
        raise layer.wrong("must be listed once")
    seen.add(layer.text())
    if strategy.text() not in (MUST, PREFER):
        raise strategy.wrong(f"must be {MUST} or {PREFER}")
    count = 1 if multiple.value is None else multiple.whole_number()
    return _Rule(layer.text(), strategy.text(), count)


def _others(present: Mapping[str, Any], known: str) -> Iterator[str]:
    return (name for name, value in present.items() if value and name != known)
