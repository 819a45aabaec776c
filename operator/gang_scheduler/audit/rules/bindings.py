"""`bindings`: each pod is bound once, and none that is being deleted, has ended or is gated.

Source: a pod has one node for its life; the API server's binding subresource refuses pods that are
being deleted or have gates: seen here, it was got round. It takes pods that have ended.

Not flagged: a pod that was deleted after it was bound, or has just ended.
"""

from collections.abc import Iterator, Sequence

from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.objects.pods import Pod
from gang_scheduler.audit.world import Change, World


class Bindings:
    """Bindings that must not be, whatever there is room for."""

    name = "bindings"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Compare a pod before and after."""
        for change in changes:
            before, after = change.before, change.after
            if before is None or after is None or not self._limits.judges(after):
                continue
            if before.node and before.node != after.node:
                message = f"bound twice: to {before.node}, then to {after.node}"
                yield self._finding(change, after, message)
            elif not before.node and (state := self._unfit(before, change, world)):
                yield self._finding(change, after, f"bound to {after.node} while it {state}")

    def passed(self, now: float, world: World) -> Iterator[Finding]:  # noqa: ARG002 - a rule's.
        """Judge nothing later."""
        yield from ()

    def _finding(self, change: Change, pod: Pod, message: str) -> Finding:
        return Finding(change.at, self.name, pod.about, message, {"node": pod.node})

    def _unfit(self, pod: Pod, change: Change, world: World) -> str:
        """Return why a pod must not be bound, "" if it may be. Gates may go between two lists."""
        over_at = world.over_at.get(pod.uid, change.at)
        states = {
            "was being deleted": pod.is_deleted,
            "had ended": pod.has_ended and over_at < self._limits.decided(change.since),
            "had scheduling gates": pod.is_gated and change.since == change.at,
        }
        return next((words for words, holds in states.items() if holds), "")
