"""What the living members of a gang say together, found in one walk over them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import QueueRequest


class Summary(NamedTuple):
    """What is asked of a gang in every snapshot that it is made for.

    `bound` members have a node; `oldest` is the first by creation and uid, None without members.
    `earliest` is the first creation in seconds since the epoch, 0 for a member that tells none.
    `lowest` and `highest` are their priorities. All others tell whether any member says so: then it
    is worth a walk to find which. `queue_requests` are what they say of queues, each once.
    """

    bound: int = 0
    oldest: Pod | None = None
    earliest: float = 0
    lowest: int = 0
    highest: int = 0
    of_gang: bool = False
    nominated: bool = False
    peaceful: bool = False
    of_jobs: bool = False
    with_problem: bool = False
    with_role: bool = False
    with_podset: bool = False
    with_gang_request: bool = False
    queue_requests: tuple[QueueRequest, ...] = ()


NOBODY: Final = Summary()


def summary_of(members: Sequence[Pod]) -> Summary:
    """Return what members say together. Linear in members."""
    if not members:
        return NOBODY
    bound, oldest = 0, members[0]
    earliest, lowest, highest = oldest.created_at, oldest.priority, oldest.priority
    for pod in members:
        if pod.node:
            bound += 1
        at, priority = pod.created_at, pod.priority
        if at < oldest.created_at or (at == oldest.created_at and pod.uid < oldest.uid):
            oldest = pod
        if not pod.dated or at < earliest:
            earliest = at if pod.dated else 0
        if not lowest <= priority <= highest:
            lowest, highest = min(lowest, priority), max(highest, priority)
    requests = [pod.queue_request for pod in members if pod.queue_request is not None]
    found = Summary(
        *(bound, oldest, earliest, lowest, highest),
        queue_requests=tuple(dict.fromkeys(requests)),
    )
    special = [*filter(_is_special, members)]
    if not special:
        return found
    return found._replace(
        of_gang=any(pod.said_of_gang is not None for pod in special),
        nominated=any(pod.nominated for pod in special),
        peaceful=not all(pod.preempts for pod in special),
        of_jobs=any(pod.job_uid for pod in special),
        with_problem=any(pod.problem is not None for pod in special),
        with_role=any(pod.role for pod in special),
        with_podset=any(pod.podset is not None for pod in special),
        with_gang_request=any(pod.gang_request is not None for pod in special),
    )


def _is_special(pod: Pod) -> bool:
    """Return whether a pod says any of what few say: gangs without such members are very many."""
    return bool(
        pod.said_of_gang
        or pod.nominated
        or not pod.preempts
        or pod.job_uid
        or pod.problem
        or pod.role
        or pod.podset
        or pod.gang_request
    )
