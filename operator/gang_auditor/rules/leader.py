"""`leader`: only one replica binds at a time, and it holds the Lease.

Source: docs/operations.md: replicas elect a leader.

Every process marks its bindings with its own run (the beginning of the annotation plan-id). Once
another run binds, an earlier one must not. If there is a Lease with a holder, it must not have
expired when a pod is bound.

The time of a binding is the one that the API server writes into the condition PodScheduled. The
auditor may learn of it much later on a busy machine, and of the Lease even later.

Not flagged: bindings that were on their way when the leader changed, within the skew; clusters
without a Lease, and Leases without a holder, since leader election may be off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gang_auditor.auditor import Limits
from gang_auditor.findings import Finding
from gang_auditor.objects import Kind, Pod, mapping
from gang_auditor.watch_events import Object, seconds
from gang_auditor.world import Change, Due, World

LEASE = Kind("coordination.k8s.io", "Lease")
LEASE_NAME = "py-gang-scheduler"


@dataclass
class _Run:
    began: float
    last: float


class Leader:
    """Judges which runs of the scheduler bind pods, and whether they hold the Lease."""

    name = "leader"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._runs: dict[str, _Run] = {}
        self._latest = ""
        self._due: Due[tuple[Pod, float, float]] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:  # noqa: ARG002
        """Check the run of each binding, except changes found by a list: these have no order."""
        for change in changes:
            pod = change.bound
            if pod is None or not self._limits.judges(pod):
                continue
            self._due.add(change.at, (pod, _moment(pod, change), change.at))
            if change.listed:
                continue
            run = pod.plan.partition("-")[0]
            if run not in self._runs:
                self._runs[run] = _Run(change.at, change.at)
                self._latest = run
            self._runs[run].last = change.at
            latest = self._runs[self._latest]
            if run != self._latest and change.at - latest.began > self._limits.skew:
                message = f"bound by run {run}, after run {self._latest} had begun to bind"
                details = {"run": run, "latest": self._latest, "node": pod.node}
                yield Finding(change.at, self.name, pod.about, message, details)

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Compare the time of a binding with the Lease around that time."""
        for pod, moment, at in self._due.take(now):
            begin, end = moment - self._limits.skew, at + self._limits.skew
            leases = [each for each in world.objects(LEASE) if _is_ours(each)]
            for name in {_name(each) for each in leases}:
                versions = [e for e in world.objects(LEASE).between(name, begin, end) if e]
                if versions and all(self._had_run_out(each, moment) for each in versions):
                    message = f"bound to {pod.node} after the Lease {name} had run out"
                    yield Finding(at, self.name, pod.about, message, {"node": pod.node})

    def _had_run_out(self, lease: Object, at: float) -> bool:
        spec = mapping(lease, "spec")
        renewed, lasts = spec.get("renewTime"), spec.get("leaseDurationSeconds")
        if not spec.get("holderIdentity") or not renewed or not lasts:
            return False
        return at > seconds(str(renewed)) + float(lasts) + self._limits.skew


def _moment(pod: Pod, change: Change) -> float:
    """Return when a pod was bound, by its condition, else the earliest possible time."""
    scheduled = pod.condition("PodScheduled")
    if scheduled.get("status") != "True":
        return change.since
    try:
        told = seconds(str(scheduled.get("lastTransitionTime")))
    except ValueError:
        return change.since
    return min(told, change.at)


def _is_ours(lease: Object) -> bool:
    return mapping(lease, "metadata").get("name") == LEASE_NAME


def _name(lease: Object) -> str:
    metadata = mapping(lease, "metadata")
    return f"{metadata.get('namespace')}/{metadata.get('name')}"
