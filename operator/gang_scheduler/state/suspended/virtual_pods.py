"""The virtual pods of waiting workloads: one for each template, which stands for all its members.

Quota requests and matching selectors of these members are kept by it.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from gang_scheduler.model.pods import Pod, VirtualPods, numbers_of
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state import pod_affinity
from gang_scheduler.state.pod_affinity import SelectorMatches
from gang_scheduler.state.queues.usage import Counted


@dataclass(frozen=True, slots=True)
class _OneOfEqual:
    pod: Pod
    gang: GangKey
    number: int


class VirtualPodStore:
    """The pods by uid, and the members of each gang."""

    def __init__(self, selector_matches: SelectorMatches) -> None:
        self._selector_matches = selector_matches
        self._virtual_pods: dict[str, _OneOfEqual] = {}
        self._members: dict[GangKey, VirtualPods] = {}

    def put(self, key: GangKey, members: VirtualPods) -> VirtualPods:
        """Add or replace the members of a gang; return them with the selectors that match them."""
        self.remove(key)
        numbers = numbers_of(members)
        for place, pod in enumerate(members.prototypes):
            self._selector_matches.upsert(pod, key)
            self._virtual_pods[pod.uid] = _OneOfEqual(pod, key, numbers[place])
        return self._enriched(key, members)

    def remove(self, key: GangKey) -> Collection[str]:
        """Forget the members of a gang; return the uids of their virtual pods."""
        members = self._members.pop(key, None)
        uids = [pod.uid for pod in members.prototypes] if members is not None else []
        for uid in uids:
            self._selector_matches.delete(uid)
            del self._virtual_pods[uid]
        return uids

    def members(self, key: GangKey) -> VirtualPods | None:
        """Return the current virtual members of a gang; None without any."""
        return self._members.get(key)

    def uids(self) -> Iterable[str]:
        """Return the uids of all virtual pods."""
        return self._virtual_pods.keys()

    def uids_of(self, key: GangKey) -> Iterable[str]:
        """Return the uids of the virtual pods of a gang."""
        members = self._members.get(key)
        return () if members is None else [pod.uid for pod in members.prototypes]

    def counted(self, uid: str) -> Counted | None:
        """Return a pod as quotas count it, with how many it stands for."""
        found = self._virtual_pods.get(uid)
        return Counted(found.pod, found.gang, "", found.number) if found is not None else None

    def enrich(self, uids: Iterable[str]) -> Iterator[tuple[GangKey, VirtualPods]]:
        """Yield the gangs whose members other selectors match now, with the new members."""
        keys = {self._virtual_pods[uid].gang for uid in uids if uid in self._virtual_pods}
        for key in sorted(keys):
            before = self._members[key]
            after = self._enriched(key, before)
            if after is not before:
                yield key, after

    def _enriched(self, key: GangKey, members: VirtualPods) -> VirtualPods:
        pods = [self._with_selectors(pod) for pod in members.prototypes]
        if any(after is not before for after, before in zip(pods, members.prototypes, strict=True)):
            members = members.with_prototypes(pods)
            for pod in pods:
                self._virtual_pods[pod.uid] = replace(self._virtual_pods[pod.uid], pod=pod)
        self._members[key] = members
        return members

    def _with_selectors(self, pod: Pod) -> Pod:
        meaning = self._selector_matches.meaning(pod.uid)
        pod_class = pod_affinity.enrich(pod.pod_class, meaning, None)
        return pod if pod_class is pod.pod_class else replace(pod, pod_class=pod_class)
