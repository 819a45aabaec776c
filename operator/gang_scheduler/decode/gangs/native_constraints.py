"""The topology constraint of a native PodGroup."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from gang_scheduler.api.parsing import Faults
from gang_scheduler.decode.fields import label_layer
from gang_scheduler.model.network.topology_request import LayerRef, TopologyRequest
from gang_scheduler.wire.pod_groups import SchedulingConstraints

NATIVE_FIELD: Final = "spec.schedulingConstraints"
NO_LAYER: Final = LayerRef("", by_label=True)
"""Stands for a layer that cannot be read."""


def native_constraint(constraints: SchedulingConstraints) -> TopologyRequest | None:
    """Return the request of a native PodGroup's constraint: members must gather in all its layers.

    Raises InvalidField for all keys that no node label can have.
    """
    keys = [each.key for each in constraints.topology]
    paths = [f"{NATIVE_FIELD}.topology[{i}].key" for i in range(len(keys))]
    faults = Faults()
    must = {
        faults.read(partial(label_layer, path, key), NO_LAYER): None
        for path, key in zip(paths, keys, strict=True)
    }
    faults.check()
    return TopologyRequest(must=tuple(must), where=paths[0]) if must else None


def unknown_constraints(constraints: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a native constraint that are set and unknown here."""
    yield from (f"{NATIVE_FIELD}.{name}" for name in _others(constraints, "topology"))
    for i, each in enumerate(constraints.get("topology") or []):
        yield from (f"{NATIVE_FIELD}.topology[{i}].{name}" for name in _others(each, "key"))


def _others(present: Mapping[str, Any], known: str) -> Iterator[str]:
    return (name for name, value in present.items() if value and name != known)
