"""The selectors that pods carry, and the pods that these selectors select."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from gang_scheduler.decode.namespaces import DeclaredNamespace
from gang_scheduler.model.affinity.pod_affinity import PodAffinity, PodSelector
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.pod_affinity.namespaces import Namespaces
from gang_scheduler.state.pod_affinity.selector_index import SelectorIndex

Selectors = frozenset[PodSelector]
NO_SELECTORS: Final[Selectors] = frozenset()
MOST_LEFT_BEHIND: Final = 64


class _Carried(NamedTuple):
    """What a pod asks of other pods, and its gang while the pod waits."""

    pod_affinity: PodAffinity
    gang: GangKey | None


class SelectorMatches:
    """All pods that have not ended, and the selectors that select each.

    A selector is known from its first carrier on. The class of each pod that it selects must then
    be enriched anew: `take_stale`. A selector without a carrier stays on these pods until such
    selectors are more than the carried ones. Without any selector, a pod costs an entry.
    """

    def __init__(self) -> None:
        self.namespaces = Namespaces()
        self._pods: dict[str, Pod] = {}
        self._index = SelectorIndex(self._pods)
        self._carried: dict[str, _Carried] = {}
        self._carriers: Counter[PodSelector] = Counter()
        self._left_behind: set[PodSelector] = set()
        self._meant_by: dict[str, Selectors] = {}
        self._stale: set[str] = set()
        self._came: set[PodSelector] = set()
        self._hopeful: defaultdict[PodSelector, Counter[GangKey]] = defaultdict(Counter)

    def __len__(self) -> int:
        """How many selectors are carried."""
        return len(self._index)

    def upsert(self, pod: Pod, gang: GangKey | None) -> None:
        """Add or replace a pod; its waiting gang may be due again when selected pods arrive."""
        if pod.terminal:
            self.delete(pod.uid)
            return
        before = self._pods.get(pod.uid)
        self._pods[pod.uid] = pod
        pod_affinity = pod.pod_class.pod_affinity
        if pod_affinity is None and not self._index and not self._meant_by:
            return
        if before is None or _is_other(before, pod):
            self._index.pod_moved(before, pod)
            self._look_at(pod)
        self._carry(
            pod.uid, _Carried(pod_affinity, None if pod.node else gang) if pod_affinity else None
        )

    def delete(self, uid: str) -> None:
        """Forget a pod."""
        before = self._pods.pop(uid, None)
        if before is not None:
            self._index.pod_moved(before, None)
            self._carry(uid, None)
            self._mean(uid, NO_SELECTORS)
            self._stale.discard(uid)

    def upsert_namespace(self, declared: DeclaredNamespace) -> bool:
        """Add or replace a namespace; return whether that may matter to selectors."""
        return self.namespaces.upsert(declared) and self._relabelled({declared.name})

    def delete_namespace(self, uid: str) -> bool:
        """Forget a namespace; return whether that may matter to selectors."""
        return self._relabelled({self.namespaces.delete(uid)})

    def meaning(self, uid: str) -> Selectors:
        """Return the selectors that select a pod."""
        return self._meant_by.get(uid, NO_SELECTORS)

    def take_stale(self) -> set[str]:
        """Return the pods whose selectors have changed since the last call."""
        stale, self._stale = self._stale, set()
        return stale

    def came(self, selectors: Selectors) -> bool:
        """Note that a pod with these selectors got a node; return whether that may help a gang."""
        helpful = [each for each in selectors if each in self._hopeful]
        self._came.update(helpful)
        return bool(helpful)

    def take_helped(self) -> set[GangKey]:
        """Return the waiting gangs that may be helped by pods that came since the last call."""
        came, self._came = self._came, set()
        return {gang for each in came for gang in self._hopeful.get(each, ())}

    def _carry(self, uid: str, after: _Carried | None) -> None:
        before = self._carried.get(uid)
        if after == before:
            return
        if after is not None:
            self._carried[uid] = after
            self._take_up(after)
        else:
            del self._carried[uid]
        if before is not None:
            self._put_down(before)

    def _take_up(self, carried: _Carried) -> None:
        self._hope(carried, 1)
        for each in carried.pod_affinity.selectors:
            self._carriers[each] += 1
            if each not in self._index:
                self._index.add(each)
                self._left_behind.discard(each)
                self._look_for(each)

    def _put_down(self, carried: _Carried) -> None:
        self._hope(carried, -1)
        for each in carried.pod_affinity.selectors:
            self._carriers[each] -= 1
            if not self._carriers[each]:
                del self._carriers[each]
                self._index.remove(each)
                self._left_behind.add(each)
        if len(self._left_behind) > max(MOST_LEFT_BEHIND, len(self._index)):
            self._clear_away()

    def _hope(self, carried: _Carried, sign: int) -> None:
        if carried.gang is None:
            return
        for each in _hopes(carried.pod_affinity):
            gangs = self._hopeful[each]
            gangs[carried.gang] += sign
            if not gangs[carried.gang]:
                del gangs[carried.gang]
            if not gangs:
                del self._hopeful[each]
                self._came.discard(each)

    def _look_at(self, pod: Pod) -> None:
        """Find the selectors that select a pod."""
        found = self._index.selectors_for(pod)
        self._mean(pod.uid, frozenset(each for each in found if self._selects(each, pod)))

    def _look_for(self, selector: PodSelector) -> None:
        """Find the pods that a new selector selects."""
        for pod in self._index.pods_for(selector):
            meant_by = self.meaning(pod.uid)
            if selector not in meant_by and self._selects(selector, pod):
                self._mean(pod.uid, meant_by | {selector})

    def _selects(self, selector: PodSelector, pod: Pod) -> bool:
        where, around = pod.namespace, self.namespaces.labels_of(pod.namespace)
        return selector.selects(where, pod.labels, around, deleting=pod.deleting)

    def _mean(self, uid: str, selectors: Selectors) -> None:
        if selectors == self.meaning(uid):
            return
        self._stale.add(uid)
        if selectors:
            self._meant_by[uid] = selectors
        else:
            del self._meant_by[uid]

    def _relabelled(self, namespaces: Collection[str]) -> bool:
        if not self._index and not self._meant_by:
            return False
        for pod in self._pods.values():
            if pod.namespace in namespaces:
                self._look_at(pod)
        return True

    def _clear_away(self) -> None:
        """Remove selectors that no pod carries any more from all pods that they selected."""
        for uid, selectors in list(self._meant_by.items()):
            if not selectors.isdisjoint(self._left_behind):
                self._mean(uid, selectors - self._left_behind)
        self._left_behind.clear()


def _is_other(before: Pod, after: Pod) -> bool:
    """Return whether other selectors may select the pod than before."""
    return before.labels != after.labels or before.deleting != after.deleting


def _hopes(pod_affinity: PodAffinity) -> Iterator[PodSelector]:
    """Yield the selectors of pods whose arrival can make nodes feasible for this pod."""
    if pod_affinity.affinity is not None:
        yield pod_affinity.affinity.selector
    yield from {each.selector for each in pod_affinity.spread if each.hard}
