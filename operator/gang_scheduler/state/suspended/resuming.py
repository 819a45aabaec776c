"""What an earlier process had begun: workloads that it let start, whose pods have not all come.

The workload says when that was, and where its members were to go.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gang_scheduler.decode.gangs.suspended_workloads import Managed, VirtualGang
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.suspended.holds import Hold, late_members


class Resumed(NamedTuple):
    """The room that is kept on, for members that are no pods yet, and what pods have of it.

    `nominated` are pods that wait, each with the plan that it takes over.
    """

    hold: Hold
    nominated: tuple[tuple[Pod, Bind], ...]


def of(
    managed: Managed, gangs: Sequence[VirtualGang], pods: Iterable[Pod], timeout: int, now: int
) -> Resumed | None:
    """Return what to go on with; None for a workload that runs, and may have lost pods since.

    `gangs` are those planned, with their priorities; `pods` are all that have come. When the time
    for these is over they get it once more: they may be on their way anew, as those of a JobSet
    that begins again. `timeout` and `now` are in seconds.
    """
    until = min(managed.admitted_at, now) + timeout
    # Pods that leave may be of an earlier start.
    came = (pod for pod in pods if not pod.deleting)
    there = sorted(came, key=lambda pod: (not pod.node, pod.created_at, pod.uid))
    if until <= now and any(pod.node for pod in there):
        return None
    hold = Hold(managed.workload, managed.gangs, _binds(managed, gangs), late_members(gangs))
    taken = [(pod, bind) for pod in there if (bind := hold.take_over(pod)) is not None]
    if until <= now:
        if not hold.binds:
            return None
        until = now + timeout
    hold.until = until
    return Resumed(hold, tuple((pod, bind) for pod, bind in taken if pod.living and not pod.node))


def _binds(managed: Managed, gangs: Iterable[VirtualGang]) -> Iterator[Bind]:
    if managed.planned is None:
        return
    members = (pod for gang in gangs for pod in gang.pods)
    for pod, node in zip(members, managed.planned.nodes, strict=True):
        if node:
            yield Bind(pod, node, flavors=managed.planned.flavors)
