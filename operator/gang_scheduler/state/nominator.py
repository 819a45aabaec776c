"""Waiting pods that room is reserved for, and nominations written but not seen again yet."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.state.gangs.gang_info import GangInfo


class _Kept(NamedTuple):
    """A pod with its gang, and its place among all: with each change, thousands are sorted."""

    pod: Pod
    gang: GangKey
    order: tuple[object, ...]


class Nominator:
    """The nominated pods, and assumed nominations; "" is an assumed removal."""

    def __init__(self) -> None:
        self._assumed: dict[str, str] = {}
        self._pods: dict[str, _Kept] = {}
        # All of them in order, as long as they and these priorities are the same.
        self._ordered: tuple[Nominated, ...] | None = None
        self._priorities: dict[GangKey, int] = {}

    def assume(self, uid: str, node: str) -> None:
        """Assume a nomination, or with "" its removal, before the API server shows it."""
        self._assumed[uid] = node

    def forget(self, uid: str) -> None:
        """Assume nothing of a pod any more."""
        self._assumed.pop(uid, None)

    def seen(self, pod: Pod) -> Pod:
        """Return a waiting pod with its assumed nomination, if it has one."""
        node = self._assumed.get(pod.uid)
        if node is None:
            return pod
        if pod.nominated == node:
            del self._assumed[pod.uid]
            return pod
        # The pod is older than our own write, which the watch has not shown yet.
        return revised(pod, nominated=node)

    def note(self, uid: str, pod: Pod | None, gang: GangKey | None) -> bool:
        """Note the present state of a pod; None if it is gone.

        Return whether this frees room that was reserved for the pod and that the pod does not take.
        """
        known = self._pods.pop(uid, None)
        if pod is not None and gang is not None and pod.nominated and pod.living and not pod.node:
            if known is not None and pod is known.pod and gang == known.gang:
                self._pods[uid] = known
            else:
                self._pods[uid] = _Kept(pod, gang, (gang, rank_key(pod), uid))
                self._ordered = None
        elif known is not None:
            self._ordered = None
        if known is None:
            return False
        return pod is None or not pod.living or (pod.node or pod.nominated) != known.pod.nominated

    def gangs_on(self, node: str) -> Iterator[GangKey]:
        """Yield the gangs that room is reserved for on a node."""
        return (each.gang for each in self._pods.values() if each.pod.nominated == node)

    def uids_on(self, node: str) -> Iterator[str]:
        """Yield the uids of the pods that room is reserved for on a node."""
        return (uid for uid, each in self._pods.items() if each.pod.nominated == node)

    def all(self, infos: Mapping[GangKey, GangInfo]) -> tuple[Nominated, ...]:
        """Return all nominated pods with the priorities of their gangs, in order of their gangs."""
        gangs = {each.gang for each in self._pods.values()}
        priorities = {gang: infos[gang].observed.priority for gang in gangs}
        if self._ordered is None or priorities != self._priorities:
            found = sorted(self._pods.values(), key=_order)
            self._ordered = tuple(
                Nominated(each.pod, each.gang, priorities[each.gang]) for each in found
            )
            self._priorities = priorities
        return self._ordered


def _order(each: _Kept) -> tuple[object, ...]:
    return each.order
