"""What is read of workloads that wait suspended in a queue, and of those that were let start."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gang_scheduler.model.refs import GangKey, QueueName
from gang_scheduler.model.suspended import ManagedWorkload, MemberTemplate
from gang_scheduler.model.virtual_pods import VirtualPods


class VirtualGang(NamedTuple):
    """Members that one gang would have of a suspended workload, and the templates of these."""

    key: GangKey
    pods: VirtualPods
    templates: tuple[MemberTemplate, ...]


@dataclass(frozen=True, slots=True)
class SuspendedWorkload:
    """A workload that waits suspended. `names` are the queues that it and its templates name.

    Without `gangs`, what it makes says what its members are (`MadePart`). `at_once` is how many
    pods its spec asks for, where that can be changed once it runs. `awaits_ends`: its controller
    creates no pod in the place of one that terminates.
    """

    workload: ManagedWorkload
    gangs: tuple[VirtualGang, ...]
    names: tuple[QueueName, ...]
    at_once: int = 0
    awaits_ends: bool = False


class Planned(NamedTuple):
    """Where all members of a workload were to go when it was let start, in their order.

    "" is the node of a member without a place. `flavors` are those that its binding would name.
    Without `gangs`, what the workload makes says what its members are (`MadePart`).
    """

    gangs: tuple[VirtualGang, ...]
    nodes: tuple[str, ...]
    flavors: tuple[tuple[str, str], ...] = ()


class MadePart(NamedTuple):
    """What another workload has made, which is suspended and started in its place.

    `maker` is the uid of that other one, and `namespace` its own. `keys` are the gangs of the pods;
    `gangs` has their members as long as there are none, if only what was made says what these are.
    `names` are the queues that it names, and its templates. `expanded` finds the members of one
    that runs, where only that says what they are: after a restart some may not be there yet.
    """

    maker: str
    namespace: str = ""
    keys: tuple[GangKey, ...] = ()
    gangs: tuple[VirtualGang, ...] = ()
    names: tuple[QueueName, ...] = ()
    expanded: Callable[[], tuple[VirtualGang, ...]] | None = None


class Managed(NamedTuple):
    """A workload that was let start, and when, in seconds since the epoch.

    `gangs` are those that its pods are in, or would be in if each were no gang by itself. `planned`
    is None where the workload does not say it. `at_once` is as of a suspended one.
    """

    workload: ManagedWorkload
    admitted_at: int
    gangs: tuple[GangKey, ...] = ()
    planned: Planned | None = None
    at_once: int = 0
