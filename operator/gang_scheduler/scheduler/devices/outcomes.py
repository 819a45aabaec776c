"""The result of a search for devices: the devices, why there are none, or that it was cut off."""

import enum
from dataclasses import dataclass, field

from gang_scheduler.model.devices import Allocation, Problem

STEPS_OF_A_SEARCH = 20_000
"""The most steps for the claims of one node."""
STEPS_OF_A_GANG = 60_000
"""The most steps for a gang in one cycle: those of three searches that are cut off."""


@dataclass(slots=True)
class Budget:
    """The steps that a gang has left in this cycle. Steps are counted, without a clock.

    `besides` counts comparisons of requests with devices, besides steps.
    """

    left: int = STEPS_OF_A_GANG
    of_a_search: int = STEPS_OF_A_SEARCH
    besides: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """An allocation for each claim, in their order."""

    allocations: tuple[Allocation, ...]
    steps: int = 0


class Lack(enum.StrEnum):
    """Why the claims do not fit on a node."""

    DEVICES = "too few devices"
    TOGETHER = "too few devices for all requests together"
    INCOMPLETE_POOL = "asks for all devices of an incomplete pool"
    INVALID_POOL = "asks for all devices of an invalid pool"
    TOO_MANY = "more devices than a claim can hold"


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many devices of a node are left after each condition of a request.

    `taints` are the taints that keep devices out, each with its number, the most frequent first.
    `avoided` are devices of the node that no request gets, because they could not be attached for
    the gang a short time ago. `device_class` and `selectors` are what the request asks for.
    """

    claim: int
    request: str
    wanted: int
    reaching: int = 0
    of_class: int = 0
    matching: int = 0
    tolerated: int = 0
    sufficient: int = 0
    free: int = 0
    taints: tuple[tuple[str, int], ...] = ()
    avoided: int = 0
    device_class: str = ""
    selectors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoFit:
    """The claims do not fit. `funnel` is of the request that fails first."""

    lack: Lack
    funnel: Funnel
    pool: str = ""
    steps: int = 0
    unsupported: tuple[Problem, ...] = ()
    """Fields that were not understood, in slices of pools that the node would have, by name."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The search ended before it was known whether the claims fit."""

    steps: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A claim that can run nowhere as it is, with its faults, by claim and request."""

    claim: int
    request: str
    why: str
    problems: tuple[Problem, ...] = field(default=())
    steps: int = 0

    @property
    def is_unsupported(self) -> bool:
        """Whether the claim is valid, and uses a feature that this scheduler does not support."""
        return bool(self.problems)


Outcome = Found | NoFit | Cut | Refused
