"""Grace periods of evicted pods: how long a pod may run on, after SIGTERM told it to save."""

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.rules import NO_SETTINGS, PreemptionRules
from gang_scheduler.state.cache import Cache


class GracePeriods:
    """Decides how long an evicted pod may run: as long as its spec says, within limits.

    The gracePeriod of its queue counts, too, up to the limit for queues.
    """

    def __init__(self, cache: Cache, rules: PreemptionRules = NO_SETTINGS.preemption) -> None:
        self._cache = cache
        self._rules = rules

    def of(self, pod: Pod) -> int | None:
        """Return the grace period of a deletion, in seconds; None for the pod's own."""
        saving = self._cache.queues.saving(self._cache.queue_of(pod.gang))
        least = min(saving.grace or 0, self._rules.max_grace_period_seconds)
        granted = max(least, min(pod.grace_seconds, self._rules.max_termination_seconds))
        # If a pod is terminating already, only a deletion with a shorter grace period speeds it up.
        return granted if granted != pod.grace_seconds or pod.deleting else None
