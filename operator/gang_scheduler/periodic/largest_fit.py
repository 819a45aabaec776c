"""How many members of one shape now fit into a domain of each layer, with metrics.

The metrics cover the shapes that the settings name, and the nodes that are kept spare.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from gang_scheduler.internal_errors import confined
from gang_scheduler.model import topology
from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import amount_of
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_scope import NODES_ALONE
from gang_scheduler.scheduler import spare_nodes
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots, slot_limit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial, shares
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import Values

LEAST_SECONDS: Final = 15.0
LARGEST_PART: Final = 0.01
"""At most this part of the time is spent on measuring, however many nodes there are."""


def most_members(pod_class: PodClass, snapshot: Snapshot, profile: Profile) -> Mapping[str, int]:
    """Return for each layer how many pods of a class the best of its domains can take.

    Room that is reserved for nominated pods counts as taken. If several trees have a layer, the
    first counts. Linear in nodes times layers.
    """
    trial = Trial(snapshot)
    trial.keep(spare_nodes.kept(snapshot, profile.rules.gangs.spare_nodes))
    for share in _reserved(snapshot):
        trial.assume(share)
    slots = offer_slots(pod_class, trial, profile).clip(min=0, max=slot_limit(trial))
    found: dict[str, int] = {}
    for tree_spec in snapshot.tree_specs or (NODES_ALONE,):
        tree = topology.build(tree_spec, snapshot.nodes)
        here = slots[tree.rows]
        for level in tree.levels if len(here) else ():
            found.setdefault(level.layer, int(np.add.reduceat(here, level.starts).max()))
    return found


def _reserved(snapshot: Snapshot) -> list[Share]:
    rows = snapshot.nodes.rows
    pods = (each.pod for each in snapshot.nominated if each.pod.nominated in rows)
    # Only their requests matter here.
    asked = ((PodClass(requests=pod.pod_class.requests), rows[pod.nominated]) for pod in pods)
    return shares(asked)


class LargestGangs:
    """Shows how many members of each shape one domain takes; `shapes` are texts of the settings."""

    def __init__(
        self,
        cache: Cache,
        profile: Profile,
        shapes: Iterable[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._profile = profile
        self._shapes = {shape: _pod_class(shape) for shape in shapes}
        self._clock = clock

    async def run(self) -> None:
        """Measure until cancelled."""
        while self._shapes or self._profile.rules.gangs.spare_nodes:
            started = time.perf_counter()
            with confined("measure", "the largest gangs"):
                self.show()
            seconds = time.perf_counter() - started
            await asyncio.sleep(max(LEAST_SECONDS, seconds / LARGEST_PART))

    def show(self) -> None:
        """Measure once. A shape with a resource that no node has is not shown."""
        metrics.LARGEST_GANG.show(self._found())
        metrics.SPARE_NODES.show(self._kept())

    def _found(self) -> Iterator[tuple[Values, float]]:
        room = self._cache.room(int(self._clock()))
        for shape, pod_class in self._shapes.items():
            if all(name in room.nodes.axis for name, _ in pod_class.requests):
                found = most_members(pod_class, room, self._profile)
                yield from (((layer, shape), number) for layer, number in found.items())

    def _kept(self) -> Iterator[tuple[Values, float]]:
        """Yield how many nodes are kept spare for each layer that the settings name."""
        rules = self._profile.rules.gangs.spare_nodes
        room = self._cache.room(int(self._clock())) if rules else None
        for layer in dict.fromkeys(each.layer for each in rules):
            of_layer = [each for each in rules if each.layer == layer]
            kept = spare_nodes.kept(room, of_layer) if room is not None else None
            yield (layer,), 0 if kept is None else int(kept.sum())


def _pod_class(shape: str) -> PodClass:
    """Return the class of a pod with the requests of a shape: `nvidia.com/gpu=8,cpu=32`.

    It tolerates taints named after its extended resources, as admission may add such tolerations.
    """
    asked = dict(each.split("=") for each in shape.split(","))
    requests = {name: amount_of(name, amount) for name, amount in asked.items()}
    return PodClass(
        requests=tuple(sorted({**requests, "pods": 1}.items())),
        tolerations=tuple(Toleration(name, "Exists") for name in asked if "/" in name),
    )
