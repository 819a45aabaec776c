"""What pods get to end once they are evicted: SIGTERM tells them to save their work."""

from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.terminating import DEFAULT_ENDS, Ends


class GracePeriods:
    """Says for how long a pod may go on: for what it asks for itself, within what `ends` allow.

    The gracePeriod of its queue counts, too, up to what that may give.
    """

    def __init__(self, cache: Cache, ends: Ends = DEFAULT_ENDS) -> None:
        self._cache = cache
        self._ends = ends

    def of(self, pod: Pod) -> int | None:
        """Return the grace period of a deletion, in seconds; None: the pod's own."""
        rules = self._cache.queues.saving(self._cache.queue_of(pod.gang))
        least = min(rules.grace or 0, self._ends.longest_of_queues)
        granted = max(least, min(pod.grace_seconds, self._ends.longest))
        # One that terminates already is only hurried by a deletion that says how much.
        return granted if granted != pod.grace_seconds or pod.deleting else None
