"""What gangs ask of a node, and how large a gang of equal members would start now."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.inspection.listing import amounts
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS, amount_of, quantity_of
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.steps import Steps


@dataclass(frozen=True, slots=True)
class Shape:
    """A pod as its gang has several: what it asks of a node. `amounts` are shown."""

    pod_class: PodClass
    amounts: Mapping[str, str]

    def __str__(self) -> str:
        return ",".join(f"{name}={amount}" for name, amount in self.amounts.items())


def parsed(text: str) -> Shape:
    """Return the shape of `nvidia.com/gpu=8,cpu=4`. Raises ValueError for what is none."""
    asked: dict[str, int] = {}
    for part in text.split(","):
        name, found, amount = part.strip().partition("=")
        if not (found and name):
            raise ValueError(f"{part!r} is no RESOURCE=AMOUNT")
        asked[name] = amount_of(name, amount)
    shown = {name: quantity_of(name, amount) for name, amount in asked.items()}
    return Shape(PodClass(requests=tuple(sorted({**asked, PODS: 1}.items()))), shown)


def commonest(cluster: Cluster) -> Shape | None:
    """Return what most of the pods ask that wait; None while none does."""
    infos = cluster.cache.gang_queue.infos.values()
    ours = cluster.cache.schedulers
    waiting = (pod for info in infos for pod in info.observed.living if not pod.node)
    counts = Counter(_alone(pod.pod_class) for pod in waiting if pod.scheduler in ours)
    if not counts:
        return None
    asked = max(counts, key=lambda each: (counts[each], each.requests))
    return Shape(asked, _shown(asked.requests))


def _alone(asked: PodClass) -> PodClass:
    """Return what a pod asks of a node, whatever other pods and volumes there are."""
    return replace(asked, pod_affinity=None, selected_by=frozenset(), storage=None)


def _shown(requests: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Return what is shown of requests: what devices offer, else all."""
    asked = {name: amount for name, amount in requests if amount and name != PODS}
    devices = {name: amount for name, amount in asked.items() if amounts.is_extended(name)}
    return {name: quantity_of(name, amount) for name, amount in (devices or asked).items()}


class Room:
    """The room for gangs that start now: what runs, and what is reserved, stays."""

    def __init__(self, snapshot: Snapshot, profile: Profile) -> None:
        # Reserved room is taken where a cycle begins.
        self._trial = Steps(replace(snapshot, groups=()), profile).trial
        self._profile = profile

    def members(self, shape: Shape) -> IntArray:
        """Return how many members each node takes, in the order of the nodes."""
        slots = offer_slots(shape.pod_class, self._trial, self._profile)
        return slots.clip(max=MOST)


MOST: Final = 1_000_000
"""Of members that ask for nothing, a node takes any number."""
