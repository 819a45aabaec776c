"""The charges of queues: the pods on nodes, by the queue that their binding names."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from gang_auditor.objects import Pod
from gang_scheduler.api import annotations as keys

NO_QUEUE: Final = "none"
DEFAULT_FLAVOR: Final = "default"


class Charge(NamedTuple):
    """A charge to a queue: an amount of a resource in a flavor."""

    queue: str
    flavor: str
    resource: str


class Charges:
    """The sum of the charges of all pods, updated pod by pod.

    A pod that one of our schedulers has bound is charged until it ends or is deleted: to the
    queue that its binding names, else to `none`. A pod that is being deleted no longer counts.
    """

    def __init__(self) -> None:
        self.used: dict[Charge, int] = defaultdict(int)

    def add(self, pod: Pod, sign: int = 1) -> None:
        """Add the charges of a pod, or subtract them with -1."""
        for charge, count in charges_of(pod):
            self.used[charge] += sign * count
            if not self.used[charge]:
                del self.used[charge]

    def copy(self) -> Mapping[Charge, int]:
        """Return the current charges."""
        return dict(self.used)


def charges_of(pod: Pod) -> Iterator[tuple[Charge, int]]:
    """Yield the charges of a pod; nothing if it was not bound by a plan."""
    if pod.plan and pod.holds_its_node and not pod.is_deleted:
        queue = pod.annotations.get(keys.QUEUE) or NO_QUEUE
        yield from amounts_of(pod, queue)


def amounts_of(pod: Pod, queue: str) -> Iterator[tuple[Charge, int]]:
    """Yield the resources that a pod uses, as charges to a queue."""
    flavors = flavors_of(pod)
    for resource, count in pod.requests.items():
        yield Charge(queue, flavors.get(resource, DEFAULT_FLAVOR), resource), count


def flavors_of(pod: Pod) -> Mapping[str, str]:
    """Return the flavors that the binding of a pod names, by resource."""
    try:
        return msgspec.json.decode(pod.annotations.get(keys.FLAVORS) or "{}", type=dict[str, str])
    except (msgspec.DecodeError, RecursionError):
        return {}
