"""Whether one claim is bound for a pod, waits, or cannot be bound.

Rules of kube-scheduler's checkBindings.
"""

from gang_scheduler.decode.volume_objects import Claim, PersistentVolume
from gang_scheduler.model.affinity.node_terms import terms
from gang_scheduler.model.causes.claims import ClaimFailed, ClaimFault, UnboundClaim
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.state.volumes.assume_cache import AssumeCache
from gang_scheduler.state.volumes.claim_steps import ClaimStep, Progress, Stage
from gang_scheduler.state.volumes.store import VolumeStores

BOUND = Progress(Stage.BOUND)


def progress_of(
    step: ClaimStep, stores: VolumeStores, assumed: AssumeCache, nodes: NodeTable
) -> Progress:
    """Return whether a claim is bound, waits, or cannot be bound for a pod on the step's node."""
    claim = stores.claims.get(step.claim.key)
    if claim is None or claim.uid != step.claim.uid:
        return _failed(ClaimFault.NOT_FOUND, step.claim.name)
    if claim.deleting:
        return _failed(ClaimFault.DELETING, step.claim.name)
    if claim.volume:
        return _bound(claim, step, stores.volumes.get(claim.volume), nodes)
    return _unbound(claim, step, stores, assumed)


def _bound(
    claim: Claim, step: ClaimStep, volume: PersistentVolume | None, nodes: NodeTable
) -> Progress:
    # The volume of a claim may be seen after the claim.
    if volume is None:
        return _waiting(claim)
    if not _reaches(step.node, volume, nodes):
        return _failed(ClaimFault.VOLUME_OUT_OF_REACH, volume.key, step.node)
    return BOUND if claim.bound else _waiting(claim)


def _unbound(claim: Claim, step: ClaimStep, stores: VolumeStores, assumed: AssumeCache) -> Progress:
    if step.volume is not None:
        volume = stores.volumes.get(step.volume.name)
        if volume is None or volume.uid != step.volume.uid:
            return _failed(ClaimFault.VOLUME_NOT_FOUND, step.volume.name)
        belongs = volume.belongs_to(claim) or assumed.stands(step)
        return _waiting(claim) if belongs else _failed(ClaimFault.VOLUME_TAKEN_BACK, volume.key)
    made_by = stores.classes.get(claim.need.storage_class)
    if made_by is None or not made_by.makes_volumes:
        return _failed(ClaimFault.NO_PROVISIONER, step.claim.name)
    # The volume may be made for another member's node: its nodes are known once it exists.
    if claim.node or assumed.stands(step):
        return _waiting(claim)
    return _failed(ClaimFault.NOT_PROVISIONED, step.claim.name)


def _reaches(node: str, volume: PersistentVolume, nodes: NodeTable) -> bool:
    if volume.volume.nodes is None:
        return True
    row = nodes.rows.get(node)
    return row is not None and bool(terms(volume.volume.nodes, nodes)[row])


def _waiting(claim: Claim) -> Progress:
    return Progress(Stage.WAITING, waiting=(UnboundClaim(claim.key, claim.need.storage_class),))


def _failed(fault: ClaimFault, name: str, node: str = "") -> Progress:
    return Progress(Stage.FAILED, ClaimFailed(fault, name, node))
