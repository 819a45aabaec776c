"""Waiting pods that room is kept for, and what we have written of that and not seen again yet."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.state.gangs.gang_info import GangInfo


class Nominator:
    """The nominated pods, and the nominations that are assumed; "" assumes that there is none."""

    def __init__(self) -> None:
        self._assumed: dict[str, str] = {}
        self._pods: dict[str, tuple[Pod, GangKey]] = {}

    def assume(self, uid: str, node: str) -> None:
        """Count a nomination, or with "" that there is none, before the API server shows it."""
        self._assumed[uid] = node

    def forget(self, uid: str) -> None:
        """Assume nothing of a pod any more."""
        self._assumed.pop(uid, None)

    def seen(self, pod: Pod) -> Pod:
        """Return a waiting pod as it will be when all that was written has come back."""
        node = self._assumed.get(pod.uid)
        if node is None:
            return pod
        if pod.nominated == node:
            del self._assumed[pod.uid]
            return pod
        # An older state than our own write, whose echo is still on its way.
        return replace(pod, nominated=node)

    def note(self, uid: str, pod: Pod | None, gang: GangKey | None) -> bool:
        """Keep account of a pod as it is now, None: it is gone.

        Tell whether there is room now that was kept for it, and that it does not take.
        """
        before, _ = self._pods.pop(uid, (None, None))
        if pod is not None and gang is not None and pod.nominated and pod.living and not pod.node:
            self._pods[uid] = (pod, gang)
        if before is None:
            return False
        return pod is None or not pod.living or (pod.node or pod.nominated) != before.nominated

    def gangs_on(self, node: str) -> Iterator[GangKey]:
        """Yield the gangs that room is kept for on a node."""
        return (gang for pod, gang in self._pods.values() if pod.nominated == node)

    def all(self, infos: Mapping[GangKey, GangInfo]) -> tuple[Nominated, ...]:
        """Return all nominated pods with the priorities of their gangs, in order of their gangs."""
        priorities = {gang: infos[gang].priority for _, gang in self._pods.values()}
        found = (Nominated(pod, gang, priorities[gang]) for pod, gang in self._pods.values())
        return tuple(sorted(found, key=lambda each: (each.gang, rank_key(each.pod), each.pod.uid)))
