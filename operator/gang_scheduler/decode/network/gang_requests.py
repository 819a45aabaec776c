"""The topology request of a whole gang, in the annotation that PodGroups and pods may have."""

import functools
from collections.abc import Mapping
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import json_fields
from gang_scheduler.decode.fields import field
from gang_scheduler.decode.json_fields import JsonField
from gang_scheduler.model.network.topology_request import (
    GangRequest,
    LayerRef,
    Slices,
    TopologyRequest,
)

MUST, PREFER = "MustGather", "PreferGather"
MOST_LAYERS: Final = 32
"""As many layers as a ClusterNetworkTopology can have."""
SPEC_FIELD: Final = field(annotations.NETWORK_TOPOLOGY_SPEC)


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


def of_pod(present: Mapping[str, str]) -> GangRequest | None:
    """Return what a pod asks for its gang; None without the annotation. Equal ones are one."""
    text = present.get(annotations.NETWORK_TOPOLOGY_SPEC)
    return None if text is None else _of_pod(text)


@functools.lru_cache(maxsize=1024)
def _of_pod(text: str) -> GangRequest:
    try:
        return GangRequest(_spec(text))
    except InvalidField as error:
        return GangRequest(None, problem=str(error))


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
