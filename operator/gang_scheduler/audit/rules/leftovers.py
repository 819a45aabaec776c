"""`leftovers`: no nomination and no mark stays that nothing follows from.

Source: docs/preemption.md: a nomination holds room until the pod is bound, and a mark announces a
deletion; both are withdrawn with their plan. A nomination of a gang is left over when none of its
nodes has a pod that is going, none of its members is bound meanwhile, and no victim was asked for a
checkpoint; a mark, when the pod is not deleted.

Not flagged: nominated pods with claims, which wait for volumes up to 10 minutes; anything for
`leftover` seconds.
"""

from collections.abc import Iterator, Sequence

from gang_scheduler.api import annotations as keys
from gang_scheduler.audit import victims
from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.gangs import GangName
from gang_scheduler.audit.objects.pods import Pod
from gang_scheduler.audit.rules.volumes import claims_of
from gang_scheduler.audit.world import Change, World

EVERY_SECONDS = 1.0


class Leftovers:
    """Nominations and marks, with since when nothing has followed from them."""

    name = "leftovers"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nominated: dict[str, tuple[str, float]] = {}
        self._marked: dict[str, float] = {}
        self._told: set[str] = set()
        self._looked_at = 0.0

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:  # noqa: ARG002
        """Note what came and what went."""
        for change in changes:
            pod = change.after or change.before
            if pod is None or not self._limits.schedules(pod):
                continue
            waits = change.after is not None and not pod.node and not pod.has_ended
            nominated = pod.nominated if waits and not pod.is_deleted else ""
            if self._nominated.get(pod.uid, ("",))[0] != nominated:
                self._nominated[pod.uid] = (nominated, change.at)
                self._told.discard(pod.uid)
            if not nominated:
                self._nominated.pop(pod.uid, None)
            stays = change.after is not None and not pod.is_deleted and not pod.has_ended
            if stays and victims.is_marked(pod):
                self._marked.setdefault(pod.uid, change.at)
            else:
                self._marked.pop(pod.uid, None)
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Look at what has stayed, once a second."""
        if now - self._looked_at < EVERY_SECONDS:
            return
        self._looked_at = now
        longest = self._limits.leftover + self._limits.skew
        for uid, since in list(self._marked.items()):
            pod = world.pods.get(uid)
            if pod is not None and now - since > longest:
                del self._marked[uid]
                message = f"marked as a victim for {now - since:.0f} s, and not deleted"
                yield Finding(since, self.name, pod.about, message, {"node": pod.node})
        yield from self._left_nominations(now, longest, world)

    def _left_nominations(self, now: float, longest: float, world: World) -> Iterator[Finding]:
        waiting = self._gangs(world)
        for gang, members in waiting.items():
            if _is_under_way(members, world):
                for pod in members:
                    self._nominated[pod.uid] = (pod.nominated, now)
                continue
            for pod in members:
                since = self._nominated[pod.uid][1]
                if now - since > longest and pod.uid not in self._told:
                    self._told.add(pod.uid)
                    message = f"nominated to {pod.nominated} for {now - since:.0f} s for nothing"
                    details = {"node": pod.nominated, "gang": gang.key}
                    yield Finding(since, self.name, pod.about, message, details)

    def _gangs(self, world: World) -> dict[GangName, list[Pod]]:
        """Return the nominated pods by gang."""
        found: dict[GangName, list[Pod]] = {}
        for uid in self._nominated:
            pod = world.pods.get(uid)
            if pod is not None and not claims_of(pod):
                found.setdefault(victims.gang_or_pod(pod), []).append(pod)
        return found


def _is_under_way(members: Sequence[Pod], world: World) -> bool:
    """Return whether a pod is still going on one of the nodes, or saves its work."""
    return any(
        other.is_deleted
        or victims.is_marked(other)
        or keys.CHECKPOINT_REQUEST_ID in other.annotations
        for pod in members
        for other in world.on_node(pod.nominated)
    )
