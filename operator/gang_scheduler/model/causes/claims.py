"""Claims that members are bound after."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.problems import Cause


class UnboundClaim(NamedTuple):
    """A claim, as `namespace/name`, that is not bound yet, and the class of its volume."""

    claim: str
    storage_class: str


@dataclass(frozen=True, slots=True)
class ClaimsUnbound(Cause):
    """So many of the claims of a plan are not bound yet; `first` is one of them."""

    number: int
    of: int
    first: UnboundClaim


class ClaimFault(enum.Enum):
    """Why a claim will not be bound for a pod on its node: what checkBindings finds."""

    NOT_FOUND = enum.auto()
    DELETING = enum.auto()
    NOT_PROVISIONED = enum.auto()
    NO_PROVISIONER = enum.auto()
    VOLUME_NOT_FOUND = enum.auto()
    VOLUME_TAKEN_BACK = enum.auto()
    VOLUME_OUT_OF_REACH = enum.auto()


@dataclass(frozen=True, slots=True)
class ClaimFailed(Cause):
    """A claim will not be bound; `name` is that of the claim or, in a VOLUME fault, its volume."""

    fault: ClaimFault
    name: str
    node: str = ""


@dataclass(frozen=True, slots=True)
class PodsClaimFailed(Cause):
    """A claim of this member will not be bound."""

    pod: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class ClaimNotWritten(Cause):
    """A `volume` could not be reserved for a claim or, with none, a `node` not be selected."""

    claim: str
    node: str
    volume: str
    answer: str
