"""Extended resources that stand for devices of a DeviceClass, and the claim that gets them.

The rules are those of kube-scheduler: which containers share devices, how the requests of the claim
are named, and which request has the devices of which container.
"""

import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.devices import ClaimSpec, Request, SubRequest

DEVICE_CLASS_RESOURCE: Final = "deviceclass.resource.kubernetes.io/"
"""The prefix of resources that stand for devices: the name of a DeviceClass follows it."""
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
"""This annotation is "true" on claims for extended resources."""
_NATIVE: Final = "kubernetes.io/"
_OF_QUOTAS: Final = "requests."
_BASE: Final = "{}-extended-resources-"
_LONGEST_BASE: Final = 58
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The letters with which the API server ends names that it generates."""
_RANDOM: Final = 5


def is_extended(resource: str) -> bool:
    """Return whether a resource is an extended one: not of Kubernetes, and in whole units."""
    return "/" in resource and _NATIVE not in resource and not resource.startswith(_OF_QUOTAS)


def may_stand_for_devices(resource: str) -> bool:
    """Return whether a DeviceClass may offer a resource of this name."""
    return resource.startswith(DEVICE_CLASS_RESOURCE) or is_extended(resource)


@dataclass(frozen=True, slots=True)
class ContainerRequest:
    """The request of a container for a resource that may stand for devices.

    `index` counts all containers of the pod, init containers first. `place` is the place of the
    resource among the sorted requests of the container. `ends`: an init container that ends before
    the next one starts.
    """

    container: str
    index: int
    resource: str
    place: int
    count: int
    ends: bool = False


class RequestMapping(NamedTuple):
    """The request of a claim whose devices a container gets for a resource."""

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True)
class ExtendedNeed:
    """The devices that a pod needs for one extended resource, on nodes that do not list it."""

    resource: str
    device_class: str
    requests: tuple[Request, ...]
    mappings: tuple[RequestMapping, ...]

    @property
    def count(self) -> int:
        """The number of devices."""
        return sum(each.alternatives[0].count for each in self.requests)


def need_of(
    resource: str, device_class: str, asked: Sequence[ContainerRequest]
) -> ExtendedNeed | None:
    """Return the devices for the requests of all containers for one resource; None without any.

    Init containers that end use the devices of later containers first, and share the rest.
    """
    asked = [each for each in asked if each.resource == resource and each.count]
    staying = [each for each in asked if not each.ends]
    mappings = [RequestMapping(each.container, resource, _name(each)) for each in staying]
    numbers = {_name(each): each.count for each in staying}
    own: list[tuple[ContainerRequest, int]] = []
    of_ending: list[tuple[str, str, bool]] = []
    for each in (one for one in asked if one.ends):
        found = 0
        for later in (one for one in staying if one.index >= each.index):
            found += later.count
            of_ending.append((each.container, _name(later), False))
            if found >= each.count:
                break
        else:
            own.append((each, each.count - found))
            of_ending.append((each.container, _name(each), True))
    if own:
        largest, number = max(own, key=lambda one: one[1])
        numbers[_name(largest)] = number
        of_ending = [
            (container, _name(largest) if is_own else name, is_own)
            for container, name, is_own in of_ending
        ]
    mappings += (RequestMapping(container, resource, name) for container, name, _ in of_ending)
    if not numbers:
        return None
    requests = tuple(
        Request(name, (SubRequest(name, device_class, count=number),))
        for name, number in sorted(numbers.items())
    )
    return ExtendedNeed(resource, device_class, requests, tuple(mappings))


def _name(asked: ContainerRequest) -> str:
    return f"container-{asked.index}-request-{asked.place}"


def spec_of(needs: Iterable[ExtendedNeed]) -> ClaimSpec:
    """Return the spec of the claim that meets the needs of a pod, with requests sorted by name."""
    found = (request for need in needs for request in need.requests)
    return ClaimSpec(tuple(sorted(found, key=lambda each: each.name)))


def base_of_name(pod: str) -> str:
    """Return the field `generateName` of the claim of a pod."""
    return _BASE.format(pod)


@functools.lru_cache(65_536)
def claim_name(pod: str, uid: str) -> str:
    """Return the name of the claim of a pod: one that the API server may generate.

    It is always the same for one pod, so that no pod ever has two claims, whatever the answers to
    writes were.
    """
    number = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8], "big")
    letters = []
    for _ in range(_RANDOM):
        number, at = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[at])
    return base_of_name(pod)[:_LONGEST_BASE] + "".join(letters)
