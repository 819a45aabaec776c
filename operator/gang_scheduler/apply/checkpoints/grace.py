"""What pods get to end once they are deleted: SIGTERM tells them to save their work."""

from typing import Final

from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache

MOST_SECONDS: Final = 600


class GracePeriods:
    """Says for how long a pod may go on, as far as that is longer than what it asks for itself.

    The gracePeriod of a queue counts up to `most_seconds`.
    """

    def __init__(self, cache: Cache, most_seconds: int = MOST_SECONDS) -> None:
        self._cache = cache
        self._most = most_seconds

    def of(self, pod: Pod) -> int | None:
        """Return the grace period of a deletion, in seconds; None: the pod's own."""
        rules = self._cache.queues.saving(self._cache.queue_of(pod.gang))
        least = min(rules.grace or 0, self._most)
        return least if least > pod.grace_seconds else None
