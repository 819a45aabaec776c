"""What a cycle decided: commands for the cluster, and a reason for every gang."""

import enum
from dataclasses import dataclass

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import (
    Cause,
    Gang,
    GangGroup,
    GangKey,
    PreemptionBlock,
    Problem,
    Reason,
)
from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.pods import Pod


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind one pod to one node.

    `volumes` are the names of those that its claims get, one for each of the needs of its storage;
    "" for one that is to be made.
    """

    pod: Pod
    node: str
    volumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """Members of a gang that go to nodes together, in rank order.

    `together` are the keys of all gangs that it starts with, itself among them; empty for a gang
    that starts by itself.
    """

    gang: Gang
    binds: tuple[Bind, ...]
    together: tuple[GangKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why members found no place.

    `rejections` are (reason in kube-scheduler's words, number of nodes), most nodes first.
    `fits` of `needs` members found room before the next one did not. `cut_off`: there may be a
    place all the same, that was not looked for.
    """

    nodes: int
    fits: int
    needs: int
    rejections: tuple[tuple[str, int], ...]
    offers: "Offers | None" = None
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Offers:
    """What the domains offer that members might have gathered in.

    `best` are (domain, members that fit there), most first and ten at most; `more` counts the
    others. `multiples` are (layer, number) of slices that must be whole there.
    """

    best: tuple[tuple[Domain, int], ...]
    more: int = 0
    multiples: tuple[tuple[str, int], ...] = ()


class PreemptionVerdict(enum.Enum):
    """What came of the try to make room for a group."""

    NO_VICTIMS = enum.auto()
    """No pod may leave for it: it lacks only surplus, or no pod has a lower priority."""
    BLOCKED = enum.auto()
    """A gang of it may not evict pods."""
    NOT_HELPFUL = enum.auto()
    """It would not fit if all pods had left that may be evicted."""
    NONE_FOUND = enum.auto()
    """The search was cut off before it found victims."""
    TOO_MANY_VICTIMS = enum.auto()
    """It would need more victims than the limit allows."""
    TERMINATING = enum.auto()
    """It waits for pods that terminate already."""
    EVICTING = enum.auto()
    """It waits for victims that are evicted for it."""


@dataclass(frozen=True, slots=True)
class PreemptionOutcome:
    """The verdict, with what a message about it needs.

    `victims` is how many there are or would have to be, `limit` how many are allowed. `cut_off`:
    there may be cheaper victims, that were not looked for. `offers` is what the domains would offer
    at best, where the group must gather in one. `attempted_by` is the gang of the group that made
    the try, for the others of it.
    """

    verdict: PreemptionVerdict
    block: PreemptionBlock | None = None
    victims: int = 0
    limit: int = 0
    cut_off: bool = False
    offers: "Offers | None" = None
    attempted_by: GangKey | None = None

    @property
    def waits(self) -> bool:
        """Whether the group waits for pods to leave."""
        return self.verdict in (PreemptionVerdict.TERMINATING, PreemptionVerdict.EVICTING)


@dataclass(frozen=True, slots=True)
class Refused:
    """A gang that stays pending, wholly or (`left_over`) with members beyond its quorum.

    `misfit` is why its members found no place, `cause` what else keeps it waiting.
    `preemption` is what came of its try to make room; None where there was none. `with_group` is
    why the gang waits that would fit itself, and another one of its group does not.
    """

    gang: Gang
    reason: Reason
    pods: tuple[Pod, ...]
    misfit: Misfit | None = None
    cause: Cause | None = None
    detail: str = ""
    left_over: bool = False
    preemption: PreemptionOutcome | None = None
    with_group: "GroupRejection | None" = None


@dataclass(frozen=True, slots=True)
class GroupRejection:
    """The first member of a group that found no place, and the refusal of its gang."""

    group: str
    pod: str
    refused: Refused


@dataclass(frozen=True, slots=True)
class Warned:
    """Something about a gang that holds nothing up, and that people should know."""

    gang: Gang
    problem: Problem


@dataclass(frozen=True, slots=True)
class Preemption:
    """Room that is made for a group: its members' nodes, and who must leave them.

    `nominations` are in rank order within each gang. `victims` are empty where those that are
    leaving already make room enough. `displaced` are waiting pods of lower priority whose own
    nominations end. `domain` is where the members will be; None is the whole cluster.
    """

    gangs: tuple[Gang, ...]
    nominations: tuple[Bind, ...]
    victims: tuple[BoundPod, ...] = ()
    displaced: tuple[Pod, ...] = ()
    domain: Domain | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A group that could not be decided because of an error of ours."""

    group: GangGroup
    error: Exception


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions in the order in which they were made. Gangs are whole in it or absent.

    The gangs of a group that failed are among the `refused`, too.
    """

    placed: tuple[Placed, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    refused: tuple[Refused, ...] = ()
    warned: tuple[Warned, ...] = ()
    failures: tuple[Failure, ...] = ()
