"""The devices of bindings and nominations, as JSON values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gang_scheduler.model.devices import DeviceResult
from gang_scheduler.model.plan import Bind, Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache

Json = dict[str, Any]


def users_of(binds: Iterable[Bind], cache: Cache) -> Mapping[str, Sequence[str]]:
    """Return what holds each claim from the bindings on, as RESOURCE/NAME."""
    found: dict[str, list[str]] = {}
    for bind in binds:
        for each in bind.claims:
            user = cache.devices.user_of(bind.pod, each)
            found.setdefault(each.claim, []).append(f"{user.resource}/{user.name}")
    return found


def of_bind(bind: Bind, cache: Cache, users: Mapping[str, Sequence[str]]) -> Json:
    """Return the fields `claims` and `extended` of a pod with devices; no field for other pods.

    `users` are the objects that will use each claim, in addition to its present users. The devices
    of extended resources are listed without a claim: the scheduler creates that claim.
    """
    if not bind.pod.claims and bind.pod.pod_class.devices is None:
        return {}
    found = {}
    extended = [one for each in bind.claims if each.extended for one in each.allocation.results]
    for each in bind.claims:
        if each.extended:
            continue
        known = cache.devices.claims.get(each.claim)
        holders = [f"{by.resource}/{by.name}" for by in (known.reserved_for if known else ())]
        holders += users.get(each.claim, ())
        found[each.entry] = {
            "claim": each.claim,
            "devices": [_device(result) for result in each.allocation.results],
            "reservedFor": list(dict.fromkeys(holders)),
        }
    return {"claims": found, "extended": [_device(result) for result in extended]}


def of_victim(pod: Pod, preemption: Preemption) -> Json:
    """Return the field `frees` of a victim with device claims; no field for other pods."""
    if not pod.claims and pod.uid not in preemption.frees:
        return {}
    return {"frees": [str(each) for each in preemption.frees.get(pod.uid, ())]}


def _device(result: DeviceResult) -> Json:
    return {
        "request": result.request,
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
        "shareID": result.share_id or None,
        "consumedCapacity": {name: str(amount) for name, amount in result.consumed.items()},
        "adminAccess": result.admin,
    }
