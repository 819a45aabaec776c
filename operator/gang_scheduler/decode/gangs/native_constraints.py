"""The topology constraint of a native PodGroup."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gang_scheduler.decode.fields import label_layer
from gang_scheduler.model.network.topology_request import TopologyRequest
from gang_scheduler.wire.pod_groups import SchedulingConstraints

NATIVE_FIELD: Final = "spec.schedulingConstraints"


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


def _others(present: Mapping[str, Any], known: str) -> Iterator[str]:
    return (name for name, value in present.items() if value and name != known)
