"""The topology request of a whole gang, in the annotation that PodGroups and pods may have."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import json_fields
from gang_scheduler.decode.fields import field
from gang_scheduler.decode.json_fields import JsonField
from gang_scheduler.model import remembered
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


NO_RULE: Final = _Rule("", "", 1)


def network_topology_spec(present: Mapping[str, str]) -> TopologyRequest | None:
    """Return the request of the annotation; None if it is absent or empty.

    Raises InvalidField for all that is wrong with it.
    """
    text = present.get(annotations.NETWORK_TOPOLOGY_SPEC)
    return None if text is None else _spec(text)


def of_pod(present: Mapping[str, str]) -> GangRequest | None:
    """Return what a pod asks for its gang; None without the annotation. Equal ones are one."""
    text = present.get(annotations.NETWORK_TOPOLOGY_SPEC)
    return None if text is None else _of_pod(text)


@remembered.by_short_texts(1024)
def _of_pod(text: str) -> GangRequest:
    try:
        return GangRequest(_spec(text))
    except InvalidField as error:
        return GangRequest(None, problem=str(error))


@remembered.by_short_texts(1024)
def _spec(text: str) -> TopologyRequest | None:
    faults = Faults()
    found = faults.read(lambda: _rules(json_fields.read(SPEC_FIELD, text), faults), ())
    faults.check()
    # The order of the list has no meaning: requests that differ only in order are equal.
    rules = sorted(found)
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


def _rules(spec: JsonField, faults: Faults) -> Sequence[_Rule]:
    """Return the entries, without what is wrong with them. Raises InvalidField without any."""
    listed = spec.fields("gatherStrategy", faults=faults)["gatherStrategy"]
    entries = listed.items(MOST_LAYERS) if listed.value is not None else ()
    seen: set[str] = set()
    return [faults.read(partial(_rule, each, seen, faults), NO_RULE) for each in entries]


def _rule(entry: JsonField, seen: set[str], faults: Faults) -> _Rule:
    """Return an entry, and add its layer to `seen`."""
    known = entry.fields("layer", "strategy", "podCountMultiple", faults=faults)
    layer, strategy, multiple = known.values()
    return _Rule(
        faults.read(lambda: _layer(layer, seen), ""),
        faults.read(lambda: _strategy(strategy), ""),
        faults.read(lambda: 1 if multiple.value is None else multiple.whole_number(), 1),
    )


def _layer(layer: JsonField, seen: set[str]) -> str:
    name = layer.text()
    if name in seen:
        raise layer.wrong("must be listed once")
    seen.add(name)
    return name


def _strategy(strategy: JsonField) -> str:
    if strategy.text() not in (MUST, PREFER):
        raise strategy.wrong(f"must be {MUST} or {PREFER}")
    return strategy.text()
