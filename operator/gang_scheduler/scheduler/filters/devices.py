"""The claims of a pod must find free devices on its node.

Semantics of kube-scheduler's DynamicResources, except that members of a gang on one node are given
their devices together.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.device_needs import NO_NEEDS, DeviceNeeds
from gang_scheduler.model.extended_resources import ExtendedNeed
from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.plan import DevicesMissing, Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.devices import selectors
from gang_scheduler.scheduler.devices.outcomes import Cut, Funnel, Lack, NoFit, Outcome
from gang_scheduler.scheduler.filters import resources
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.trial import Trial

LACKING: Final = "cannot allocate all claims"
MOST_EXPLAINED: Final = 200
"""The missing devices are worked out for at most this many nodes."""
MOST_DIFFERENT: Final = 8
"""If nodes lack more than this many different things, the reason names none of them."""


class NearestDevices(NamedTuple):
    """The row of the node that lacks least, and how many devices each request finds there."""

    row: int
    funnels: tuple[Funnel, ...]


obstacle: Final = Obstacle(
    "DEVICES",
    "lacks devices for the pod's claims",
    "lack devices for the pod's claims",
    is_quoted=True,
)


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class needs devices that are not allocated."""
    return _needs(pod_class).are_open


def coupled(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether a member on one node takes devices that other members may need elsewhere."""
    return trial.devices.is_coupled(_needs(pod_class))


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return how many pods of the class find devices on each node."""
    within = resources.slots(pod_class, trial) > 0
    return trial.devices.room(_needs(pod_class), within, functools.partial(in_time, trial))


def at_once(_pod_class: PodClass, _trial: Trial) -> Caps | None:
    """Return None: place one pod at a time, because it may take devices the next pod needs."""
    return None


def one_by_one(_pod_class: PodClass, _trial: Trial) -> None:
    """Return None: the free devices must be looked up again after each pod."""


def most_slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the slots as an upper bound: earlier pods can only take devices away."""
    within = resources.slots(pod_class, trial) > 0
    return trial.devices.most_slots(_needs(pod_class), within, functools.partial(in_time, trial))


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes by what they lack; many nodes, or very different ones, get a short reason."""
    needs = _needs(pod_class)
    rows = np.flatnonzero(rejected).tolist()
    if len(rows) > MOST_EXPLAINED:
        return Counter({_in_short(needs): len(rows)})
    lacks = trial.devices.lacks(needs, in_time(trial, rows))
    found = Counter(_reason(lack, needs) for lack in lacks)
    if found.total() < len(rows) or len(found) > MOST_DIFFERENT:
        return Counter({_in_short(needs): len(rows)})
    return found


def missing(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> DevicesMissing | None:
    """Return the devices that are missing on the nearest of these nodes.

    None if a node has too few devices for another request, fails for another reason than the number
    of devices, or has alternatives.
    """
    lacks = [lack for _, lack in _lacks(pod_class, trial, rejected)]
    funnels = [
        lack.funnel for lack in lacks if isinstance(lack, NoFit) and lack.lack is Lack.DEVICES
    ]
    if len(funnels) < len(lacks) or len({each.request for each in funnels}) != 1:
        return None
    best = min(funnels, key=_distance)
    if best.avoided or "/" in best.request or best.free >= best.wanted:
        return None
    extended = _extended_of(best, _needs(pod_class))
    return DevicesMissing(
        best.device_class,
        selectors.in_words(best.selectors),
        *(best.wanted, best.matching, best.free),
        resource=extended.resource if extended is not None else "",
    )


def nearest(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> NearestDevices | None:
    """Return the rejected node that lacks least, and how many devices each request finds there."""
    lacks = _lacks(pod_class, trial, rejected)
    known = [(row, lack.funnel) for row, lack in lacks if isinstance(lack, NoFit)]
    if not known:
        return None
    row, _ = min(known, key=lambda each: _distance(each[1]))
    return NearestDevices(row, tuple(trial.devices.funnels(_needs(pod_class), row)))


def _lacks(
    pod_class: PodClass, trial: Trial, rejected: BoolArray
) -> list[tuple[int, Outcome | None]]:
    """Return the rows of the first rejected nodes, each with the outcome that says what is missing.

    At most MOST_EXPLAINED nodes are looked at.
    """
    needs = _needs(pod_class)
    rows = np.flatnonzero(rejected).tolist()[:MOST_EXPLAINED]
    found = list(zip(rows, trial.devices.lacks(needs, rows), strict=True))
    trial.effort.count(trial.devices.free_devices.looks())
    return found


def _distance(funnel: Funnel) -> tuple[int, int]:
    """Return how far a node is from having the devices: the nearest node has the least."""
    return funnel.wanted - funnel.free, -funnel.matching


def in_time(trial: Trial, rows: Sequence[int]) -> Iterator[int]:
    """Yield rows of nodes while the search may do more work.

    The work for each row is counted. Each cycle begins at a different row.
    """
    for row in trial.effort.rotated(rows):
        if not trial.effort.may_work_on():
            return
        yield row
        trial.effort.count(trial.devices.free_devices.looks())


def _reason(lack: Outcome | None, needs: DeviceNeeds) -> str:
    """Return kube-scheduler's words, followed by the shortage."""
    match lack:
        case NoFit(funnel=funnel):
            extended = _extended_of(funnel, needs)
            if extended is not None:
                return f"Insufficient {extended.resource} ({_of_extended(funnel, extended)})"
            return f"{LACKING} ({_of_funnel(funnel)})"
        case Cut(steps):
            return f"{_in_short(needs)} (the search ended after {steps} steps)"
        case _:
            return _in_short(needs)


def _in_short(needs: DeviceNeeds) -> str:
    """Return the reason without details: about claims, else about extended resources."""
    if needs.claims or not needs.extended:
        return LACKING
    return " and ".join(f"Insufficient {each.resource}" for each in needs.extended)


def _extended_of(funnel: Funnel, needs: DeviceNeeds) -> ExtendedNeed | None:
    """Return the extended resource that a request stands for; None for a request of a claim."""
    own = {request.name for claim in needs.claims for request in claim.spec.requests}
    for each in needs.extended:
        if funnel.request in {request.name for request in each.requests} - own:
            return each
    return None


def _of_extended(funnel: Funnel, need: ExtendedNeed) -> str:
    """Return how many devices are free, and which of them are out of use."""
    said = f"{funnel.free} free of {funnel.matching}, as devices of class {need.device_class}"
    return said + _tainted(funnel)


def _of_funnel(funnel: Funnel) -> str:
    """Return the words about the request that finds too few devices."""
    devices = "device" if funnel.reaching == 1 else "devices"
    said = f"request {funnel.request}: {funnel.matching} of {funnel.reaching} {devices} match"
    said += _tainted(funnel)
    if funnel.tolerated > funnel.sufficient:
        said += f", {funnel.sufficient} have the capacity"
    if funnel.sufficient:
        said += f", {funnel.free} free, {funnel.wanted} needed"
    if funnel.avoided:
        said += f", {funnel.avoided} could not be attached a short time ago"
    return said


def _tainted(funnel: Funnel) -> str:
    if funnel.matching <= funnel.tolerated:
        return ""
    return "".join(f", {number} have taint {taint}" for taint, number in funnel.taints)


def _needs(pod_class: PodClass) -> DeviceNeeds:
    return pod_class.devices or NO_NEEDS
