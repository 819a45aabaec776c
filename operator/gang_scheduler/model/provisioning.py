"""ProvisioningRequests: requests for nodes to an autoscaler, so that a gang finds room."""

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
"""The most requests at once for the gangs of one queue and namespace."""


class RequestState(enum.StrEnum):
    """The state of a request."""

    ASKED = "Asked"
    ACCEPTED = "Accepted"
    PROVISIONED = "Provisioned"
    FAILED = "Failed"
    REVOKED = "CapacityRevoked"
    EXPIRED = "BookingExpired"
    REFUSED = "Refused"
    """The API server did not accept it."""


STANDING: Final = frozenset({RequestState.ASKED, RequestState.ACCEPTED, RequestState.PROVISIONED})
"""States of requests whose nodes are on their way, or exist."""


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    """A request of ours, as last seen; `uid` is empty until the API server has shown it.

    It is for the object of a gang with `gang_uid`, empty for a gang that no object describes.
    `digest` identifies the requested pods. `attempt` counts the requests of the same gang and
    digest from 1. It has been in the state `state` `since` then, in seconds since the epoch, with
    the `message` of the autoscaler. `templates` are the names of its PodTemplates.
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
    state: RequestState = RequestState.ASKED
    message: str = ""
    since: int = 0
    deleting: bool = False
    templates: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether its nodes are on their way, or exist."""
        return self.state in STANDING


class RequestedPodSet(NamedTuple):
    """Equal members: one of them, their number, and the labels that their nodes must have."""

    pod: Pod
    number: int
    node_labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """A gang, or the first gang of a group, for which a cycle requests nodes.

    `request` is the current, the new, or the last failed request; None if none was made yet. A new
    request has its `pod_sets` and parameters. `members` are charged while the request is pending,
    each with its flavors.
    """

    gang: Gang
    digest: str
    request: ProvisioningRequest | None = None
    is_new: bool = False
    parameters: tuple[tuple[str, str], ...] = ()
    pod_sets: tuple[RequestedPodSet, ...] = ()
    members: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True, eq=False)
class Provisioning:
    """Facts that a cycle needs if nodes can be requested.

    `requests` are all requests of ours by gang. `outstanding` counts the pending ones for waiting
    gangs of each queue and namespace. `held` are the charges of gangs for pending requests.
    """

    retry: Retry = DEFAULT_RETRY
    requests: Mapping[GangKey, tuple[ProvisioningRequest, ...]] = field(default_factory=dict)
    outstanding: Mapping[tuple[QueueRef, str], int] = field(default_factory=dict)
    held: Mapping[GangKey, Charge] = field(default_factory=dict)
