"""Members with channels of a ComputeDomain (NVIDIA): they work together in one NVLink domain only.

Their claims do not say which nodes NVLink connects; a label of the nodes does.
"""

from collections.abc import Iterable
from typing import Final

from gang_scheduler.model.api_words import GatherComputeDomains
from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.devices import ClaimSpec
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest

CHANNEL_CLASS: Final = "compute-domain-default-channel.nvidia.com"
"""The DeviceClass of claims that NVIDIA's driver creates for a ComputeDomain."""
NVLINK_DOMAIN: Final = "nvidia.com/gpu.clique"
"""The node label with which that driver names the NVLink domain of a node."""
_LAYERS: Final = (LayerRef(NVLINK_DOMAIN, by_label=True),)


def claims_channel(pod: Pod, devices: Devices) -> bool:
    """Return whether a pod has, or waits for, a channel of a ComputeDomain."""
    needs = pod.pod_class.devices
    specs = [each.spec for each in needs.claims] if needs is not None else []
    for entry in pod.claims:
        claim = devices.claims.get(f"{pod.namespace}/{entry.claim}") if entry.claim else None
        if claim is not None:
            specs.append(claim.spec)
    return any(map(_asks_for_channel, specs))


def gather(pods: Iterable[Pod], devices: Devices) -> bool:
    """Return whether some of these pods are placed in one NVLink domain, by the setting."""
    if devices.gather_compute_domains is GatherComputeDomains.OFF:
        return False
    return any(claims_channel(pod, devices) for pod in pods)


def gathered(topology_request: TopologyRequest | None, devices: Devices) -> TopologyRequest | None:
    """Return the topology request of members with channels, by the setting.

    A layer in which the members must gather anyway stays as it is. A layer that they only prefer
    stays, too, unless the setting says that they must gather.
    """
    own = topology_request or TopologyRequest()
    match devices.gather_compute_domains:
        case GatherComputeDomains.MUST if not (own.must or own.slices):
            return TopologyRequest(must=_LAYERS, where=own.where)
        case GatherComputeDomains.PREFER if not own.is_set:
            return TopologyRequest(prefer=_LAYERS, where=own.where)
        case _:
            return topology_request


def _asks_for_channel(spec: ClaimSpec) -> bool:
    return any(
        alternative.device_class == CHANNEL_CLASS
        for request in spec.requests
        for alternative in request.alternatives
    )
