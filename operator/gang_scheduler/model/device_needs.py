"""The devices that the claims of a pod ask for and get, and the devices of a snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gang_scheduler.model.api_words import GatherComputeDomains
from gang_scheduler.model.devices import (
    Allocation,
    Claim,
    ClaimSpec,
    DeviceClass,
    DeviceId,
    Slice,
    TaintRule,
)
from gang_scheduler.model.extended_resources import ExtendedNeed
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.selectors import NodeTerm


class PodClaim(NamedTuple):
    """An entry of `spec.resourceClaims` of a pod.

    `claim` is the name of the ResourceClaim, "" while it is not known. `template` is the name of
    the ResourceClaimTemplate of a generated claim. `unneeded`: the status of the pod says that no
    claim is needed for the entry.
    """

    entry: str
    claim: str = ""
    template: str = ""
    unneeded: bool = False


Uses = tuple[tuple[str, str], ...]
"""Uses of allocated claims: `namespace/name` of each, with the uid of a pod that uses it."""


@dataclass(frozen=True, slots=True)
class DeviceNeed:
    """The requirements of an unallocated claim.

    `shared` is `namespace/name` of a claim that other pods use, too, and "" for any other claim.
    """

    spec: ClaimSpec
    shared: str = ""


@dataclass(frozen=True, slots=True)
class DeviceNeeds:
    """The requirements of a pod's claims, by the present state of these claims.

    Pods with the same requirements are equal. `claims` are the unallocated claims, in the order of
    the pod. `nodes` are the node selectors of its allocated claims, as far as they have one: all
    must match. `extended` are its needs for extended resources; a node that lists the resource
    itself has no such need. Needs for which a claim is already allocated are in `kept`. `used` are
    its allocated claims that other pods may use, too, by `namespace/name`: their devices are not
    free for the pod's other claims. `avoided` are devices that failed the gang of the pod a short
    time ago. With a `problem`, no node is feasible. The hash is kept, since needs are keys of what
    is known of nodes.
    """

    claims: tuple[DeviceNeed, ...] = ()
    nodes: tuple[tuple[NodeTerm, ...], ...] = ()
    extended: tuple[ExtendedNeed, ...] = ()
    kept: tuple[ExtendedNeed, ...] = ()
    problem: Problem | None = None
    used: tuple[str, ...] = ()
    avoided: tuple[DeviceId, ...] = ()
    digest: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the hash."""
        identity = (
            *(self.claims, self.nodes, self.extended, self.kept),
            *(self.problem, self.used, self.avoided),
        )
        object.__setattr__(self, "digest", hash(identity))

    def __hash__(self) -> int:
        return self.digest

    @property
    def are_open(self) -> bool:
        """Whether devices must still be found on some nodes."""
        return bool(self.claims or self.extended)


NO_NEEDS: Final = DeviceNeeds()
"""The needs of a pod whose claims lack nothing, on any node."""


@dataclass(frozen=True, slots=True)
class ClaimAllocation:
    """The devices that a plan gives to a claim of a pod.

    If it is not `is_new`, the claim has its devices already, and the pod only joins its users.
    `entry` is the name in `spec.resourceClaims`, `claim` is `namespace/name`. A claim for extended
    resources has no entry: `extended` are the needs that it serves, and the scheduler creates it.
    """

    entry: str
    claim: str
    allocation: Allocation
    is_new: bool = True
    extended: tuple[ExtendedNeed, ...] = ()


class Holders(NamedTuple):
    """The users of an allocated claim: `pods` by uid that have not ended, and `others`.

    Others are pods that are not known, or objects of other kinds: it is unknown when these end.
    """

    pods: frozenset[str] = frozenset()
    others: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Devices:
    """The devices of a snapshot, and the claims to which they are allocated.

    While only claims change, `classes`, `slices` and `taint_rules` are the same objects. `classes`
    are by name. `claims` are all claims of the cluster that are allocated, or that a plan of ours
    has allocated, by `namespace/name`, and `holders` has the holders of each of them. `ending` are
    the claims whose users have all ended: kube-controller-manager is about to deallocate them.
    `waiting` are the other claims that pods name. `gather_compute_domains` is the setting.
    """

    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    slices: tuple[Slice, ...] = ()
    taint_rules: tuple[TaintRule, ...] = ()
    claims: Mapping[str, Claim] = field(default_factory=dict)
    holders: Mapping[str, Holders] = field(default_factory=dict)
    ending: tuple[str, ...] = ()
    waiting: Mapping[str, Claim] = field(default_factory=dict)
    gather_compute_domains: GatherComputeDomains = GatherComputeDomains.OFF


NO_DEVICES: Final = Devices()
