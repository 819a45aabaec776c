"""Nominations of pods that wait, and whether each was kept: by the pod itself, or by a mate."""

from collections.abc import Callable
from dataclasses import dataclass

from gang_scheduler.client.fake.cluster import Document


@dataclass(slots=True)
class _Promise:
    name: str
    gang: str
    node: str
    at: float
    is_taken_over: bool = False


class Promises:
    """The nominations that stand, and those that ended before their pods had a node.

    A gang gives the places that it is promised to its first members in rank: one that comes back
    may take over what a mate was nominated to, each for one mate.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._promises: dict[str, _Promise] = {}

    def see(self, pod: Document) -> None:
        """Take in a pod as it was just written."""
        uid = pod["metadata"]["uid"]
        if pod["spec"].get("nodeName"):
            self.forget(uid)
            return
        node = pod.get("status", {}).get("nominatedNodeName", "")
        known = self._promises.get(uid)
        if not node:
            if known is not None and self._is_passed_on(known):
                self.forget(uid)
        elif known is None or known.node != node:
            self._promises[uid] = self._of(pod, node)

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone, or has a node."""
        self._promises.pop(uid, None)

    def broken(self) -> list[str]:
        """Return the names of the pods that have no node, nor a mate in their place."""
        return sorted(each.name for each in self._promises.values())

    def _of(self, pod: Document, node: str) -> _Promise:
        metadata = pod["metadata"]
        gang = (metadata.get("labels") or {}).get("member-of", "")
        return _Promise(metadata["name"], gang, node, self._clock())

    def _is_passed_on(self, known: _Promise) -> bool:
        """Return whether a mate was nominated to the node later, and is in no other's place."""
        for mate in self._promises.values():
            is_mate = bool(known.gang) and (mate.gang, mate.node) == (known.gang, known.node)
            if is_mate and mate.at > known.at and not mate.is_taken_over:
                mate.is_taken_over = True
                return True
        return False
