"""What an earlier process had begun: workloads that it let start, whose pods have not all come.

The workload says when that was, and where its members were to go.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gang_scheduler.decode.gangs.suspended_workloads import Managed, Planned
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
    managed: Managed, planned: Planned, pods: Iterable[Pod], timeout: int, now: int
) -> Resumed | None:
    """Return what to go on with; None for a workload that runs, and may have lost pods since.

    `planned` are the members, with their priorities; `pods` are all that have come. When the time
    for these is over they get it once more: they may be on their way anew, as those of a JobSet
    that begins again. Of one that runs by then, those are awaited that come only after others, if
    none of them has come. `timeout` and `now` are in seconds.
    """
    until = min(managed.admitted_at, now) + timeout
    # Pods that leave may be of an earlier start.
    came = (pod for pod in pods if not pod.deleting)
    there = sorted(came, key=lambda pod: (not pod.node, pod.created_at, pod.uid))
    keys = (each.key for each in planned.gangs)
    hold = Hold(
        managed.workload, keys, _binds(planned), late_members(planned.gangs), managed.at_once
    )
    taken = [(pod, bind) for pod in there if (bind := hold.take_over(pod)) is not None]
    if until <= now:
        until = now + timeout
        if any(pod.node for pod in there):
            hold.keep_late()
            taken = []
        if not hold.binds:
            return None
    hold.until = until
    return Resumed(hold, tuple((pod, bind) for pod, bind in taken if pod.living and not pod.node))


def _binds(planned: Planned) -> Iterator[Bind]:
    members = (pod for gang in planned.gangs for pod in gang.pods)
    for pod, node in zip(members, planned.nodes, strict=True):
        if node:
            yield Bind(pod, node, flavors=planned.flavors)
