"""The words for topology requests that cannot be met as they are."""

from collections.abc import Iterable, Mapping
from typing import Final

from gang_scheduler.api.annotations import NETWORK_TOPOLOGY_SPEC, PODSET_GROUP
from gang_scheduler.decode.fields import field
from gang_scheduler.model.causes.topology import (
    GangRequestMisplaced,
    GangsRequestsDiffer,
    InvalidSlice,
    LayersApart,
    MultipleDoesNotDivide,
    MultipleNeedsMore,
    PodRequestBesideGang,
    PodsetsDiffer,
    Scattered,
    SliceFault,
    UnknownLayers,
)
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.texts.causes.entries import Text, entry

_SLICE_FAULTS: Final = {
    SliceFault.NOT_BELOW_OTHER_SLICES: "must be below the layer of the slices before it",
    SliceFault.ABOVE_GATHERING: "is above the layer that the members gather in",
}


def _quoted(names: Iterable[str], between: str) -> str:
    return between.join(f'"{name}"' for name in names)


def _unknown_layers(cause: UnknownLayers) -> str:
    unknown = f"layer {_quoted(cause.layers, ' and ')} is unknown"
    if not cause.known:
        return f"{unknown}: there is no topology"
    near = f"; did you mean {cause.near}?" if cause.near else ""
    return f"{unknown}: the layers are {', '.join(cause.known)}{near}"


def _requests_differ(cause: GangsRequestsDiffer) -> str:
    (gang, other), (own, others) = cause.gangs, cause.fields
    return f"{own} of {gang} and {others} of {other} must be the same: they are of one gang group"


TEXTS: Final[Mapping[type[Cause], Text]] = dict(
    (
        entry(UnknownLayers, _unknown_layers),
        entry(
            LayersApart,
            lambda it: f"the layers {_quoted(it.layers, ', ')} are not all in one topology",
        ),
        entry(
            InvalidSlice,
            lambda it: f'the slice layer "{it.layer}" {_SLICE_FAULTS[it.fault]}',
        ),
        entry(
            MultipleDoesNotDivide,
            lambda it: f"podCountMultiple {it.multiple} does not divide the {it.members} members",
        ),
        entry(
            MultipleNeedsMore,
            lambda it: (
                f"{it.members} members exist, and podCountMultiple needs {it.quorum} at once"
            ),
        ),
        entry(
            Scattered,
            lambda it: (
                f"members are bound in {it.number} domains, {', '.join(map(str, it.some))}: "
                f"the others join those in {it.home}"
            ),
        ),
        entry(
            PodRequestBesideGang,
            lambda it: (
                f"pod {it.pod}: {it.field} must be absent beside {it.of_gang} of its gang or group"
            ),
        ),
        entry(
            GangRequestMisplaced,
            lambda it: (
                f"pod {it.pod}: {field(NETWORK_TOPOLOGY_SPEC)} must be absent, or the same as on "
                "the PodGroup"
            ),
        ),
        entry(
            PodsetsDiffer,
            lambda it: (
                f"pods {' and '.join(it.pods)} must ask for the same topology: both have "
                f'{field(PODSET_GROUP)} "{it.group}"'
            ),
        ),
        entry(GangsRequestsDiffer, _requests_differ),
    )
)
