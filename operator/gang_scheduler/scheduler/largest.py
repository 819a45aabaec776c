"""How many members of one shape fit one domain of each layer, as they would be placed now."""

from collections.abc import Mapping

import numpy as np

from gang_scheduler.model import topology
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology_scope import NODES_ALONE
from gang_scheduler.scheduler import spare_nodes
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots, slot_limit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial, shares


def most_members(pod_class: PodClass, snapshot: Snapshot, profile: Profile) -> Mapping[str, int]:
    """Return for each layer how many pods of a class one of its domains takes.

    Room that is reserved for nominated pods is taken. A layer of several trees is that of the
    first. Linear in nodes times layers.
    """
    trial = Trial(snapshot)
    trial.keep(spare_nodes.kept(snapshot, profile.spare_nodes))
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
    # Only what they ask of the room matters here.
    asked = ((PodClass(requests=pod.pod_class.requests), rows[pod.nominated]) for pod in pods)
    return shares(asked)
