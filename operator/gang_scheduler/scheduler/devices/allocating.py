"""The allocation of a claim, from its devices: results, configurations and node selector."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.devices import (
    AllocatedConfig,
    Allocation,
    Claim,
    DeviceClass,
    DeviceId,
    DeviceResult,
    NodeView,
)
from gang_scheduler.model.selectors import NodeTerm, Requirement
from gang_scheduler.scheduler.devices.candidates import Candidates
from gang_scheduler.scheduler.devices.claim_requests import Choice
from gang_scheduler.scheduler.devices.pools import OfferedDevice

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"

Picked = tuple[Choice, int]
"""A choice of a request, and the place of a device among the candidates."""


def allocations(  # noqa: PLR0917 - a plan, and all that it is about
    node: NodeView,
    claims: Sequence[Claim],
    classes: Mapping[str, DeviceClass],
    candidates: Candidates,
    chosen: Sequence[Choice],
    picked: Sequence[Picked],
) -> tuple[Allocation, ...]:
    """Return an allocation for each claim. `chosen` has one choice a request, in order."""
    made = []
    for place, claim in enumerate(claims):
        choices = [each for each in chosen if each.claim == place]
        own = [each for each in picked if each[0].claim == place]
        devices = [candidates.devices[at] for _, at in own]
        results = tuple(
            _result(claim, i, choice, candidates, at) for i, (choice, at) in enumerate(own)
        )
        config = _config(claim, classes, [(each.name, each.asked.device_class) for each in choices])
        made.append(Allocation(results, config, _node_selector(devices, node)))
    return tuple(made)


def _result(
    claim: Claim, i: int, choice: Choice, candidates: Candidates, place: int
) -> DeviceResult:
    offered = candidates.devices[place]
    is_share = offered.device.allow_multiple
    consumed = candidates.match(choice, place).consumed if is_share else None
    return DeviceResult(
        request=choice.name,
        driver=offered.id.driver,
        pool=offered.id.pool,
        device=offered.id.device,
        admin=choice.asked.admin_access,
        tolerations=choice.asked.tolerations,
        share_id=_share_id(claim, i, offered.id) if is_share else "",
        consumed=consumed or {},
        binding_conditions=offered.device.binding_conditions,
        binding_failure_conditions=offered.device.binding_failure_conditions,
    )


def given_to(
    claim: Claim, allocation: Allocation, classes: Mapping[str, DeviceClass]
) -> Allocation:
    """Return an allocation that was made for a claim with the same requests as one of this claim.

    The devices are the same; configurations and the names of shares are those of the claim.
    """
    asked = {
        request.name_of(each): each.device_class
        for request in claim.requests
        for each in request.alternatives
    }
    names = dict.fromkeys(each.request for each in allocation.results)
    results = tuple(
        replace(each, share_id=_share_id(claim, i, each.id)) if each.share_id else each
        for i, each in enumerate(allocation.results)
    )
    config = _config(claim, classes, [(name, asked[name]) for name in names])
    return replace(allocation, results=results, config=config)


def moved(
    allocation: Allocation, there: Mapping[DeviceId, OfferedDevice], node: NodeView
) -> Allocation:
    """Return an allocation with its devices replaced by those of another node, as `there` says.

    The claim cannot tell both apart, and no device is a share.
    """
    devices = [there[each.id] for each in allocation.results]
    results = tuple(
        replace(
            result,
            driver=device.id.driver,
            pool=device.id.pool,
            device=device.id.device,
            binding_conditions=device.device.binding_conditions,
            binding_failure_conditions=device.device.binding_failure_conditions,
        )
        for result, device in zip(allocation.results, devices, strict=True)
    )
    return Allocation(results, allocation.config, _node_selector(devices, node))


def _share_id(claim: Claim, i: int, device: DeviceId) -> str:
    """Return a UUID that no other share has: of this claim, as it is now, and of this result.

    It is not random, so that the same snapshot gives the same plan.
    """
    parts = (claim.namespace, claim.name, claim.uid, claim.resource_version, str(i), *device)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    # Version 8 of a UUID is for contents that an application defines.
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


_Asked = tuple[str, str]
"""The name of a request as results have it, and the DeviceClass that it asks for."""


def _config(
    claim: Claim, classes: Mapping[str, DeviceClass], asked: Sequence[_Asked]
) -> tuple[AllocatedConfig, ...]:
    """Return the configurations of classes, once a class, and then those of the claim."""
    of_class: dict[str, list[str]] = {}
    for name, device_class in asked:
        of_class.setdefault(device_class, []).append(name)
    found = [
        AllocatedConfig(FROM_CLASS, tuple(names), opaque)
        for name, names in of_class.items()
        for opaque in classes[name].config
    ]
    used = {meant for name, _ in asked for meant in _names(name)}
    found += [
        AllocatedConfig(FROM_CLAIM, each.requests, each.opaque)
        for each in claim.config
        if not each.requests or used.intersection(each.requests)
    ]
    return tuple(_for_all([name for name, _ in asked], each) for each in found)


def _names(name: str) -> tuple[str, ...]:
    """Return the names by which a configuration can mean REQUEST or REQUEST/SUBREQUEST."""
    return (name.partition("/")[0], name)


def _for_all(names: Sequence[str], config: AllocatedConfig) -> AllocatedConfig:
    """Return a configuration that names no requests if it names all of them."""
    named = set(config.requests)
    if all(named.intersection(_names(each)) for each in names):
        return AllocatedConfig(config.source, (), config.opaque)
    return config


def _node_selector(devices: Sequence[OfferedDevice], node: NodeView) -> tuple[NodeTerm, ...] | None:
    """Return the nodes on which a claim can be used; None for all of them."""
    requirements: list[Requirement] = []
    for each in devices:
        if each.reach.node_name or each.device.binds_to_node:
            own = Requirement("metadata.name", Operator.IN, (node.name,), on_field=True)
            return ((own,),)
        for term in (each.reach.node_selector or ())[:1]:
            requirements += [new for new in term if not _is_there(new, requirements)]
    return (tuple(requirements),) if requirements else None


def _is_there(new: Requirement, requirements: Sequence[Requirement]) -> bool:
    return any(
        (new.key, new.operator, new.on_field) == (each.key, each.operator, each.on_field)
        and set(new.values) == set(each.values)
        for each in requirements
    )
