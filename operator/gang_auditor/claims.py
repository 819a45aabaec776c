"""Claims of devices: their devices, their users, and the claims that a pod names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gang_auditor.objects import Kind, Pod, mapping, name_of, rows
from gang_auditor.watch_events import Object
from gang_auditor.world import World

CLAIM: Final = Kind("resource.k8s.io", "ResourceClaim")


@dataclass(frozen=True)
class Claim:
    """A version of a ResourceClaim."""

    raw: Object

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return name_of(self.raw)

    @property
    def about(self) -> str:
        """The claim as findings name it."""
        return f"ResourceClaim {self.key}"

    @property
    def uid(self) -> str:
        """The uid of the claim."""
        return str(mapping(self.raw, "metadata").get("uid") or "")

    @cached_property
    def _status(self) -> Mapping[str, object]:
        return mapping(self.raw, "status")

    @property
    def allocation(self) -> Mapping[str, object]:
        """The allocation of the claim; {} without one."""
        return mapping(self._status, "allocation")

    @cached_property
    def users(self) -> frozenset[str]:
        """The uids of all objects for which it is reserved."""
        return frozenset(str(each.get("uid") or "") for each in rows(self._status, "reservedFor"))

    @property
    def is_of_group(self) -> bool:
        """Whether it is reserved for an object other than a pod, such as a PodGroup."""
        return any(each.get("resource") != "pods" for each in rows(self._status, "reservedFor"))

    @property
    def is_being_attached(self) -> bool:
        """Whether drivers still prepare devices: conditions are awaited, and none has failed."""
        told = {_identity(each): _true(each) for each in rows(self._status, "devices")}
        is_awaited = False
        for each in rows(mapping(self.allocation, "devices"), "results"):
            wanted, failing = _texts(each, "bindingConditions"), "bindingFailureConditions"
            true = told.get(_identity(each), frozenset())
            if wanted and true & _texts(each, failing):
                return False
            is_awaited |= not wanted <= true
        return is_awaited

    def devices(self) -> Iterator[tuple[str, bool]]:
        """Yield DRIVER/POOL/DEVICE of each device that the claim takes; whether it takes a share.

        A device with admin access is not taken.
        """
        for each in rows(mapping(self.allocation, "devices"), "results"):
            if not each.get("adminAccess"):
                parts = (str(each.get(part) or "") for part in ("driver", "pool", "device"))
                yield "/".join(parts), bool(each.get("shareID"))


def _identity(device: Object) -> tuple[str, ...]:
    return tuple(str(device.get(part) or "") for part in ("driver", "pool", "device", "shareID"))


def _texts(of: Object, key: str) -> frozenset[str]:
    found = of.get(key)
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def _true(device: Object) -> frozenset[str]:
    """Return the conditions of a device that are True."""
    true = (each for each in rows(device, "conditions") if each.get("status") == "True")
    return frozenset(str(each.get("type") or "") for each in true)


def all_of(world: World) -> list[Claim]:
    """Return the present versions of all claims."""
    return [Claim(each) for each in world.objects(CLAIM)]


def claims_of(pod: Pod) -> Sequence[str]:
    """Return the names of a pod's claims that exist, going by its status, as `namespace/name`."""
    created = {
        str(each.get("name")): each.get("resourceClaimName")
        for each in rows(pod.status, "resourceClaimStatuses")
    }
    named = (
        each.get("resourceClaimName") or created.get(str(each.get("name")))
        for each in rows(pod.spec, "resourceClaims")
    )
    return [f"{pod.namespace}/{each}" for each in named if each]


def held_by_unbound(claim: Claim, world: World) -> list[Pod]:
    """Return the pods without a node for which an allocated claim is reserved."""
    if not claim.allocation:
        return []
    users = (world.pods.get(uid) for uid in claim.users)
    return [each for each in users if each is not None and not each.node and not each.has_ended]


def in_two(claims: Sequence[Claim]) -> Iterator[tuple[str, Claim, Claim]]:
    """Yield each device that two claims have, unless both only share it, with the two claims."""
    holders: dict[str, list[tuple[Claim, bool]]] = {}
    for claim in claims:
        for device, is_share in claim.devices():
            for other, is_other_share in holders.setdefault(device, []):
                if other.uid != claim.uid and not (is_share and is_other_share):
                    yield device, other, claim
            holders[device].append((claim, is_share))
