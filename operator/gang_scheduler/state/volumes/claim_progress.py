"""How far one claim has come on its way to being bound for a pod.

Rules of kube-scheduler's checkBindings.
"""

from gang_scheduler.decode.volume_objects import Claim, PersistentVolume
from gang_scheduler.model.node_terms import terms
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.state.volumes.assume_cache import AssumeCache
from gang_scheduler.state.volumes.claim_steps import ClaimStep, Progress, Stage
from gang_scheduler.state.volumes.store import VolumeStores

BOUND = Progress(Stage.BOUND)


def progress_of(
    step: ClaimStep, stores: VolumeStores, assumed: AssumeCache, nodes: NodeTable
) -> Progress:
    """Tell whether a claim is bound, or cannot be for a pod on the node of the step."""
    claim = stores.claims.get(step.claim.key)
    if claim is None or claim.uid != step.claim.uid:
        return _failed(f'persistentvolumeclaim "{step.claim.name}" not found')
    if claim.deleting:
        return _failed(f'persistentvolumeclaim "{step.claim.name}" is being deleted')
    if claim.volume:
        return _bound(claim, step, stores.volumes.get(claim.volume), nodes)
    return _unbound(claim, step, stores, assumed)


def _bound(
    claim: Claim, step: ClaimStep, volume: PersistentVolume | None, nodes: NodeTable
) -> Progress:
    # The volume of a claim may be heard of after the claim.
    if volume is None:
        return _waiting(claim)
    if not _reaches(step.node, volume, nodes):
        return _failed(f'pv "{volume.key}" node affinity doesn\'t match node "{step.node}"')
    return BOUND if claim.bound else _waiting(claim)


def _unbound(claim: Claim, step: ClaimStep, stores: VolumeStores, assumed: AssumeCache) -> Progress:
    if step.volume is not None:
        volume = stores.volumes.get(step.volume.name)
        if volume is None or volume.uid != step.volume.uid:
            return _failed(f'persistentvolume "{step.volume.name}" not found')
        belongs = volume.belongs_to(claim) or assumed.stands(step)
        return _waiting(claim) if belongs else _failed(f'ClaimRef got reset for pv "{volume.key}"')
    made_by = stores.classes.get(claim.need.storage_class)
    if made_by is None or not made_by.makes_volumes:
        return _failed(f'nobody makes a volume for persistentvolumeclaim "{step.claim.name}"')
    # It may be made for another member's node: who reaches it is seen once it is there.
    if claim.node or assumed.stands(step):
        return _waiting(claim)
    return _failed(f'provisioning failed for PVC "{step.claim.name}"')


def _reaches(node: str, volume: PersistentVolume, nodes: NodeTable) -> bool:
    if volume.volume.nodes is None:
        return True
    row = nodes.rows.get(node)
    return row is not None and bool(terms(volume.volume.nodes, nodes)[row])


def _waiting(claim: Claim) -> Progress:
    words = f"{claim.key} (StorageClass {claim.need.storage_class})"
    return Progress(Stage.WAITING, waiting=(words,))


def _failed(problem: str) -> Progress:
    return Progress(Stage.FAILED, problem)
