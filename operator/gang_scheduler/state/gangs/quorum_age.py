"""Since when a gang has a quorum: what its place in the line goes by."""

from collections.abc import Sequence

from gang_scheduler.model import refs
from gang_scheduler.model.pods import Pod, VirtualPods
from gang_scheduler.state.gangs.attempt import Attempt
from gang_scheduler.state.gangs.observed import NO_SPEC, Observed, Version
from gang_scheduler.workloads import table


class QuorumAge:
    """When the member came that made the quorum complete; a PodGroup alone is no place in the line.

    That is fixed when a quorum is first seen, for an object and a minimum. It is kept while a
    member of that time, or one with a node, lives. A gang that was evicted, or whose members are to
    be created for it, keeps it until members have nodes again.
    """

    __slots__ = (
        *("_observed", "_attempt", "_version"),
        *("_uid", "_since", "_needed", "_returns", "_evicted_at"),
    )

    def __init__(self, observed: Observed, attempt: Attempt, version: Version) -> None:
        self._observed = observed
        self._attempt = attempt
        self._version = version
        self._uid = ""
        self._since: float | None = None
        self._needed = 0
        self._returns = False
        self._evicted_at = 0

    @property
    def complete_at(self) -> float:
        """When the last member of the quorum was created, in seconds since the epoch.

        0 where nothing tells it: without a quorum, without times, and for members that the
        controller of a workload creates.
        """
        return self._since or 0

    def settle(self, *, evicted: bool) -> None:
        """Bring it in line with the members. Linear in members; sorts only to fix the time anew.

        `evicted`: the gang has lost members to another one, and is not whole again.
        """
        source = self._observed.key.source
        if source == refs.SINGLE.name:
            return
        if table.BY_NAME[source].object_kind not in ("", "PodGroup"):
            return
        before = self._since
        self._begin_with_object()
        self._keep_or_forget(evicted=evicted)
        living = self._observed.living
        if self._since is None and self._attempt.holds_quorum(living):
            self._since, self._needed = self._last_of_quorum(living), self._attempt.needed
            if self._evicted_at:
                self._since = min(self._since, self._evicted_at)
        if self._since != before:
            self._version.changed()

    def _begin_with_object(self) -> None:
        """Forget what was of another object. The status of this one may tell of an eviction."""
        spec = self._observed.spec or NO_SPEC
        uid = spec.uid if spec.gvr is not None else ""
        if uid != self._uid:
            self._uid, self._since = uid, None
            self._evicted_at = spec.evictions.last if spec.evictions is not None else 0
            self._returns = self._evicted_at > 0

    def _keep_or_forget(self, *, evicted: bool) -> None:
        summary = self._observed.summary
        has_node = summary.bound > 0
        if has_node:
            self._returns, self._evicted_at = False, 0
        elif self._observed.virtual is not None:
            self._returns = True
        since = self._since
        if since is None:
            return
        kept = evicted or has_node or self._returns
        kept = kept or (summary.oldest is not None and summary.earliest <= since)
        # One that asks for more members is another demand.
        if not kept or self._attempt.needed > self._needed:
            self._since = None

    def _last_of_quorum(self, living: Sequence[Pod]) -> float:
        """Return when the last of the oldest members that are a quorum was created."""
        if type(living) is VirtualPods:
            return max(map(_created, living.prototypes), default=0)
        roles = self._attempt.roles
        if not roles:
            return sorted(map(_created, living))[self._attempt.needed - 1]
        last: float = 0
        for role in roles:
            times = sorted(_created(pod) for pod in living if pod.role == role.name)
            if role.min_member:
                last = max(last, times[role.min_member - 1])
        return last


def _created(pod: Pod) -> float:
    # A manifest without a time makes nothing younger.
    return pod.created_at if pod.dated else 0
