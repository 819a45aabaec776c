"""What a cycle decided: commands for the cluster, and a reason for every gang."""

from dataclasses import dataclass

from gang_scheduler.model.bound_pods import Tenant
from gang_scheduler.model.gangs import Gang, GangGroup, GangKey, Problem, Reason
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


@dataclass(frozen=True, slots=True)
class Refused:
    """A gang that stays pending, wholly or (`left_over`) with members beyond its quorum.

    `preemption` says what came of its try to make room.
    """

    gang: Gang
    reason: Reason
    pods: tuple[Pod, ...]
    misfit: Misfit | None = None
    detail: str = ""
    left_over: bool = False
    preemption: str = ""


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
    victims: tuple[Tenant, ...] = ()
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
