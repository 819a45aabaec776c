"""The virtual pods of waiting workloads: the members that they would have.

One prototype for each template represents all members of that template: quotas count it once for
each member, and selectors are matched only with it.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from gang_scheduler.model.pods import Pod, VirtualPods, numbers_of
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state import pod_affinity
from gang_scheduler.state.devices.device_cache import DeviceCache
from gang_scheduler.state.pod_affinity import SelectorMatches
from gang_scheduler.state.queues.usage import Counted


@dataclass(frozen=True, slots=True)
class _Prototype:
    pod: Pod
    gang: GangKey
    number: int


class VirtualPodStore:
    """The prototypes by their uids, and the members of each gang."""

    def __init__(self, selector_matches: SelectorMatches, devices: DeviceCache) -> None:
        self._selector_matches = selector_matches
        self._devices = devices
        self._prototypes: dict[str, _Prototype] = {}
        self._members: dict[GangKey, VirtualPods] = {}

    def put(self, key: GangKey, members: VirtualPods) -> VirtualPods:
        """Add or replace the members of a gang; return them with the selectors that match them."""
        self.remove(key)
        numbers = numbers_of(members)
        for place, pod in enumerate(members.prototypes):
            self._selector_matches.upsert(pod, key)
            self._prototypes[pod.uid] = _Prototype(pod, key, numbers[place])
        return self._enriched(key, members)

    def remove(self, key: GangKey) -> Collection[str]:
        """Forget the members of a gang; return the uids of their prototypes."""
        members = self._members.pop(key, None)
        uids = [pod.uid for pod in members.prototypes] if members is not None else []
        for uid in uids:
            self._selector_matches.delete(uid)
            self._devices.delete_pod(uid)
            del self._prototypes[uid]
        return uids

    def members(self, key: GangKey) -> VirtualPods | None:
        """Return the current virtual members of a gang; None without any."""
        return self._members.get(key)

    def uids(self) -> Iterable[str]:
        """Return the uids of all prototypes."""
        return self._prototypes.keys()

    def uids_of(self, key: GangKey) -> Iterable[str]:
        """Return the uids of the prototypes of a gang."""
        members = self._members.get(key)
        return () if members is None else [pod.uid for pod in members.prototypes]

    def counted(self, uid: str) -> Counted | None:
        """Return a prototype as quotas count it, with the number of its members."""
        found = self._prototypes.get(uid)
        return Counted(found.pod, found.gang, "", found.number) if found is not None else None

    def enrich(self, uids: Iterable[str]) -> Iterator[tuple[GangKey, VirtualPods]]:
        """Yield the gangs whose members match other selectors now, with their new members."""
        keys = {self._prototypes[uid].gang for uid in uids if uid in self._prototypes}
        for key in sorted(keys):
            before = self._members[key]
            after = self._enriched(key, before)
            if after is not before:
                yield key, after

    def _enriched(self, key: GangKey, members: VirtualPods) -> VirtualPods:
        pods = [self._complete(pod) for pod in members.prototypes]
        if any(after is not before for after, before in zip(pods, members.prototypes, strict=True)):
            members = members.with_prototypes(pods)
            for pod in pods:
                self._prototypes[pod.uid] = replace(self._prototypes[pod.uid], pod=pod)
        self._members[key] = members
        return members

    def _complete(self, pod: Pod) -> Pod:
        """Return a prototype with the selectors that match it, and the devices it needs."""
        selectors = self._selector_matches.selectors_matching(pod.uid)
        devices = self._devices.needs_of(pod) if pod.claims or pod.extended else None
        refuses_claims = bool(pod.claims) and not self._devices.are_known
        pod_class = pod_affinity.enrich(
            *(pod.pod_class, selectors, None, devices),
            claimed=self._devices.charged_for(pod) if pod.claims else (),
            refuses_claims=refuses_claims,
            leaves_out_terms=self._selector_matches.leaves_out(pod),
        )
        return pod if pod_class is pod.pod_class else replace(pod, pod_class=pod_class)
