"""ProvisioningRequests: nodes that an autoscaler is asked for, so that a gang finds room."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import DEFAULT_RETRY, Charge, QueueRef, Retry
from gang_scheduler.model.refs import GangKey

MOST_POD_SETS: Final = 32
"""How many pod sets a ProvisioningRequest may have."""
MOST_OUTSTANDING: Final = 10
"""How many requests of the gangs of one queue and namespace may stand at once."""


class Came(enum.StrEnum):
    """What came of a request so far."""

    ASKED = "Asked"
    ACCEPTED = "Accepted"
    PROVISIONED = "Provisioned"
    FAILED = "Failed"
    REVOKED = "CapacityRevoked"
    EXPIRED = "BookingExpired"
    REFUSED = "Refused"
    """The API server did not take it."""


STANDING: Final = frozenset({Came.ASKED, Came.ACCEPTED, Came.PROVISIONED})
"""With these, nodes are being bought, or are there."""


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    """A request of ours, as it was last seen; `uid` is empty until the API server has shown it.

    It is for the object of a gang with `gang_uid`, empty for a gang that no object describes.
    `digest` stands for all that is asked. `attempt` counts the requests of the same gang and digest
    from 1. `came` is so `since`, in seconds since the epoch, with the `message` of the autoscaler.
    `templates` are the names of its PodTemplates.
    """

    namespace: str
    name: str
    gang: GangKey
    gang_uid: str
    digest: str
    attempt: int
    class_name: str
    uid: str = ""
    api_version: str = ""
    came: Came = Came.ASKED
    message: str = ""
    since: int = 0
    deleting: bool = False
    templates: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether nodes are being bought by it, or are there."""
        return self.came in STANDING


class AskedPodSet(NamedTuple):
    """Members alike: one of them, their number, and the labels that their nodes must have."""

    pod: Pod
    number: int
    node_labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Asking:
    """What a cycle found of a gang, or of a group by its first gang, that nodes are bought for.

    `request` is the one that stands, is new or came to nothing last; None where none was made yet.
    A new one has its `pod_sets`, and its parameters. `members` are those that are charged while the
    request stands, each with its flavors.
    """

    gang: Gang
    digest: str
    request: ProvisioningRequest | None = None
    is_new: bool = False
    parameters: tuple[tuple[str, str], ...] = ()
    pod_sets: tuple[AskedPodSet, ...] = ()
    members: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True, eq=False)
class Provisioning:
    """What a cycle must know where nodes can be bought.

    `requests` are all requests of ours by gang. `outstanding` is how many of those that stand are
    of gangs of each queue and namespace that wait. `held` is what gangs are charged for requests
    that stand.
    """

    retry: Retry = DEFAULT_RETRY
    requests: Mapping[GangKey, tuple[ProvisioningRequest, ...]] = field(default_factory=dict)
    outstanding: Mapping[tuple[QueueRef, str], int] = field(default_factory=dict)
    held: Mapping[GangKey, Charge] = field(default_factory=dict)
