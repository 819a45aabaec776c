"""Pod affinity: the pods that the selectors of other pods match, counted by node."""

import weakref
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

import numpy as np

from gang_scheduler.decode.cluster import DeclaredNamespace
from gang_scheduler.decode.pods import pod_class as pod_pod_class
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.device_needs import DeviceNeeds
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import Requests
from gang_scheduler.model.selectors import AffinityCounts, AffinityTerm, PodAffinity, PodSelector
from gang_scheduler.model.volumes import Storage
from gang_scheduler.state.namespaces import Namespaces

# For each selector and node: how many pods it selects, and how many keep other pods away.

K = TypeVar("K", bound=Hashable)
NodeCounts = Counter[str]
"""Pods by the name of their node."""


class SelectorCounts:
    """The counts of AffinityCounts, kept up to date pod by pod.

    Reading them takes one step for each selector that is asked for.
    """

    def __init__(self) -> None:
        self._present: dict[PodSelector, NodeCounts] = {}
        self._avoiding: dict[PodSelector, dict[AffinityTerm, NodeCounts]] = {}

    def count(self, node: str, pod_class: PodClass, sign: int) -> None:
        """Count a pod on a node; with the sign -1, stop counting it."""
        for selector in pod_class.selected_by:
            _add(self._present, selector, node, sign)
        for term in pod_class.pod_affinity.anti if pod_class.pod_affinity is not None else ():
            terms = self._avoiding.setdefault(term.selector, {})
            _add(terms, term, node, sign)
            if not terms:
                del self._avoiding[term.selector]

    def reselected(self, node: str, before: PodClass, after: PodClass) -> None:
        """Count a pod that other selectors select than before; its own terms have not changed."""
        for selector in after.selected_by - before.selected_by:
            _add(self._present, selector, node, 1)
        for selector in before.selected_by - after.selected_by:
            _add(self._present, selector, node, -1)

    def of(self, pod_classes: Iterable[PodClass], rows: Mapping[str, int]) -> AffinityCounts:
        """Return the counts that matter to pods of these classes; `rows` are the rows of nodes."""
        asked: set[PodSelector] = set()
        matched: set[PodSelector] = set()
        for pod_class in pod_classes:
            matched |= pod_class.selected_by
            if pod_class.pod_affinity is not None:
                asked |= pod_class.pod_affinity.selectors
        terms = (
            item
            for each in matched & self._avoiding.keys()
            for item in self._avoiding[each].items()
        )
        return AffinityCounts(
            present={s: _column(self._present[s], rows) for s in asked & self._present.keys()},
            avoiding={term: _column(heads, rows) for term, heads in terms},
        )


def _add(counted: dict[K, NodeCounts], key: K, node: str, sign: int) -> None:
    heads = counted.get(key)
    if heads is None:
        heads = counted[key] = Counter()
    heads[node] += sign
    if not heads[node]:
        del heads[node]
    if not heads:
        del counted[key]


def _column(heads: NodeCounts, rows: Mapping[str, int]) -> IntArray:
    column = np.zeros(len(rows), dtype=np.int64)
    for node, number in heads.items():
        if node in rows:
            column[rows[node]] = number
    column.flags.writeable = False
    return column


# An inverted index of selectors and pods by (namespace, label value). A selector is filed under
# one label that it requires, or under NO_LABEL, in the namespaces that it names, or ANYWHERE.
# Every pod that it selects is filed there too. Pods are filed only under labels under which a
# selector is filed, so a cluster without selectors pays nothing.

NO_LABEL: Final = ""
ANYWHERE: Final = ""
FEW: Final = 8
"""A place with at most this many selectors is good enough: no better one is searched."""

Place = tuple[str, str]
"""A namespace, or ANYWHERE, and the value of a label."""


class _Place(NamedTuple):
    """Where a selector is filed: the label, and the places under it."""

    label: str
    places: tuple[Place, ...]


@dataclass(slots=True, eq=False)
class _Entries:
    """The selectors and pods that are filed under one label."""

    selectors: dict[Place, dict[PodSelector, None]] = field(default_factory=dict)
    pods: dict[Place, set[str]] = field(default_factory=dict)

    def file(self, pod: Pod, label: str) -> None:
        self.pods.setdefault((pod.namespace, pod.labels.get(label, "")), set()).add(pod.uid)

    def take_out(self, pod: Pod, label: str) -> None:
        place = (pod.namespace, pod.labels.get(label, ""))
        self.pods[place].discard(pod.uid)
        if not self.pods[place]:
            del self.pods[place]

    def uids_at(self, place: Place) -> Iterable[str]:
        namespace, value = place
        if namespace != ANYWHERE:
            return self.pods.get(place, ())
        return (uid for (_, v), uids in self.pods.items() if v == value for uid in uids)


class SelectorIndex:
    """The selectors that were added, and `pods` by uid, which the caller keeps up to date."""

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self._pods = pods
        self._entries: dict[str, _Entries] = {}
        self._filed: dict[PodSelector, _Place] = {}

    def __len__(self) -> int:
        return len(self._filed)

    def __contains__(self, selector: PodSelector) -> bool:
        return selector in self._filed

    def add(self, selector: PodSelector) -> None:
        """File a selector. Linear in pods for the first selector of a label."""
        filing = self._filed[selector] = self._filing(selector)
        for place in filing.places:
            entries = self._entries.get(filing.label) or self._set_up(filing.label)
            entries.selectors.setdefault(place, {})[selector] = None

    def remove(self, selector: PodSelector) -> None:
        """Remove a selector."""
        label, places = self._filed.pop(selector)
        for place in places:
            filed = self._entries[label].selectors
            del filed[place][selector]
            if not filed[place]:
                del filed[place]
            if not filed:
                del self._entries[label]

    def pod_moved(self, before: Pod | None, after: Pod | None) -> None:
        """File the new state of a pod instead of the old one."""
        if before is not None:
            for label in self._labels_of(before):
                self._entries[label].take_out(before, label)
        if after is not None:
            for label in self._labels_of(after):
                self._entries[label].file(after, label)

    def selectors_for(self, pod: Pod) -> Iterator[PodSelector]:
        """Yield all selectors that may select a pod."""
        for label in self._labels_of(pod):
            filed, value = self._entries[label].selectors, pod.labels.get(label, "")
            yield from filed.get((pod.namespace, value), ())
            yield from filed.get((ANYWHERE, value), ())

    def pods_for(self, selector: PodSelector) -> Iterator[Pod]:
        """Yield all pods that a selector may select."""
        label, places = self._filed[selector]
        for place in places:
            for uid in self._entries[label].uids_at(place):
                yield self._pods[uid]

    def _set_up(self, label: str) -> _Entries:
        entries = self._entries[label] = _Entries()
        for pod in self._pods.values():
            if label == NO_LABEL or label in pod.labels:
                entries.file(pod, label)
        return entries

    def _labels_of(self, pod: Pod) -> list[str]:
        labels = list(self._entries.keys() & pod.labels.keys())
        return [NO_LABEL, *labels] if NO_LABEL in self._entries else labels

    def _filing(self, selector: PodSelector) -> _Place:
        """Return where a selector is filed: under a label with few other selectors."""
        named = [each.namespaces for each in selector.clauses if each.of_namespaces is None]
        namespaces = min(named, key=len, default=(ANYWHERE,))
        filings = [
            _Place(label, tuple((each, value) for each in namespaces for value in values))
            for label, values in _wanted(selector)
        ]
        return min(filings, key=self._crowd)

    def _crowd(self, filing: _Place) -> int:
        entries = self._entries.get(filing.label, _Entries())
        there = sum(len(entries.selectors.get(place, ())) for place in filing.places)
        return there if there >= FEW else 0


def _wanted(selector: PodSelector) -> list[tuple[str, tuple[str, ...]]]:
    """Return the labels that a selector requires, each with its possible values."""
    wanted = [
        (each.key, each.values)
        for clause in selector.clauses
        for each in clause.labels
        if each.operator is Operator.IN
    ]
    return wanted or [(NO_LABEL, ("",))]


Selectors = frozenset[PodSelector]
NO_SELECTORS: Final[Selectors] = frozenset()
MOST_LEFT_BEHIND: Final = 64


class _Carried(NamedTuple):
    """The affinity terms of a pod, and its gang while the pod waits."""

    pod_affinity: PodAffinity
    gang: GangKey | None


class SelectorMatches:
    """All pods that have not ended, and the selectors that select each of them.

    A pod carries the selectors of its own affinity. A selector is known once a pod carries it. The
    class of each pod that it selects must then be enriched again: see `take_stale`. A selector that
    no pod carries any more is kept until there are more such selectors than carried ones. Without
    any selector, a pod costs one entry.
    """

    def __init__(self) -> None:
        self.namespaces = Namespaces()
        self._pods: dict[str, Pod] = {}
        self._index = SelectorIndex(self._pods)
        self._carried: dict[str, _Carried] = {}
        self._carriers: Counter[PodSelector] = Counter()
        self._left_behind: set[PodSelector] = set()
        self._matching: dict[str, Selectors] = {}
        # Selectors to be added to these: a set of thousands is not copied for each new selector.
        self._also: dict[str, set[PodSelector]] = {}
        self._shared: dict[tuple[Selectors, Selectors], Selectors] = {}
        self._stale: set[str] = set()
        self._placed: set[PodSelector] = set()
        self._waiting: defaultdict[PodSelector, Counter[GangKey]] = defaultdict(Counter)

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
        if pod_affinity is None and not self._index and not (self._matching or self._also):
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
            self._set_matching(uid, NO_SELECTORS)
            self._stale.discard(uid)

    def upsert_namespace(self, declared: DeclaredNamespace) -> bool:
        """Add or replace a namespace; return whether that may matter to selectors."""
        return self.namespaces.upsert(declared) and self._relabelled({declared.name})

    def delete_namespace(self, uid: str) -> bool:
        """Forget a namespace; return whether that may matter to selectors."""
        return self._relabelled({self.namespaces.delete(uid)})

    def selectors_matching(self, uid: str) -> Selectors:
        """Return the selectors that select a pod; pods may share a set."""
        found = self._matching.get(uid, NO_SELECTORS)
        also = self._also.pop(uid, None)
        if also is None:
            return found
        parts = found, frozenset(also)
        shared = self._shared.get(parts)
        if shared is None:
            shared = self._shared[parts] = found | also
        self._matching[uid] = shared
        return shared

    def take_stale(self) -> set[str]:
        """Return the uids of the pods that other selectors match than at the last call."""
        self._shared.clear()
        stale, self._stale = self._stale, set()
        return stale

    def pod_placed(self, selectors: Selectors) -> bool:
        """Note that a pod that `selectors` match got a node; return whether it may help a gang."""
        helpful = [each for each in selectors if each in self._waiting]
        self._placed.update(helpful)
        return bool(helpful)

    def take_gangs_to_retry(self) -> set[GangKey]:
        """Return the waiting gangs that pods which got a node since the last call may help."""
        placed, self._placed = self._placed, set()
        return {gang for each in placed for gang in self._waiting.get(each, ())}

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
        self._count_waiting(carried, 1)
        for each in carried.pod_affinity.selectors:
            self._carriers[each] += 1
            if each not in self._index:
                self._index.add(each)
                self._left_behind.discard(each)
                self._look_for(each)

    def _put_down(self, carried: _Carried) -> None:
        self._count_waiting(carried, -1)
        for each in carried.pod_affinity.selectors:
            self._carriers[each] -= 1
            if not self._carriers[each]:
                del self._carriers[each]
                self._index.remove(each)
                self._left_behind.add(each)
        if len(self._left_behind) > max(MOST_LEFT_BEHIND, len(self._index)):
            self._clear_away()

    def _count_waiting(self, carried: _Carried, sign: int) -> None:
        if carried.gang is None:
            return
        for each in _selectors_waited_for(carried.pod_affinity):
            gangs = self._waiting[each]
            gangs[carried.gang] += sign
            if not gangs[carried.gang]:
                del gangs[carried.gang]
            if not gangs:
                del self._waiting[each]
                self._placed.discard(each)

    def _look_at(self, pod: Pod) -> None:
        """Find the selectors that select a pod."""
        found = self._index.selectors_for(pod)
        self._set_matching(pod.uid, frozenset(each for each in found if self._selects(each, pod)))

    def _look_for(self, selector: PodSelector) -> None:
        """Find the pods that a new selector selects."""
        for pod in self._index.pods_for(selector):
            uid = pod.uid
            if selector in self._matching.get(uid, NO_SELECTORS):
                continue
            if self._selects(selector, pod):
                self._also.setdefault(uid, set()).add(selector)
                self._stale.add(uid)

    def _selects(self, selector: PodSelector, pod: Pod) -> bool:
        where, around = pod.namespace, self.namespaces.labels_of(pod.namespace)
        return selector.selects(where, pod.labels, around, deleting=pod.deleting)

    def _set_matching(self, uid: str, selectors: Selectors) -> None:
        if selectors == self.selectors_matching(uid):
            return
        self._stale.add(uid)
        if selectors:
            self._matching[uid] = selectors
        else:
            del self._matching[uid]

    def _relabelled(self, namespaces: Collection[str]) -> bool:
        if not self._index and not (self._matching or self._also):
            return False
        for pod in self._pods.values():
            if pod.namespace in namespaces:
                self._look_at(pod)
        return True

    def _clear_away(self) -> None:
        """Remove selectors that no pod carries any more from the pods that they selected."""
        for uid in [*self._also]:
            self.selectors_matching(uid)
        for uid, selectors in list(self._matching.items()):
            if not selectors.isdisjoint(self._left_behind):
                self._set_matching(uid, selectors - self._left_behind)
        self._left_behind.clear()


def _is_other(before: Pod, after: Pod) -> bool:
    """Return whether other selectors may select the pod than before."""
    return before.labels != after.labels or before.deleting != after.deleting


def _selectors_waited_for(pod_affinity: PodAffinity) -> Iterator[PodSelector]:
    """Yield the selectors of pods whose arrival can make nodes feasible for this pod."""
    if pod_affinity.affinity is not None:
        yield pod_affinity.affinity.selector
    yield from {each.selector for each in pod_affinity.spread if each.hard}


# Pod classes, completed with facts that are known only in this cluster. Equal classes are one
# object.

_Parts = tuple[
    PodClass, frozenset[PodSelector], Storage | None, DeviceNeeds | None, tuple[str, ...], Requests
]
_enriched: Final[weakref.WeakValueDictionary[_Parts, PodClass]] = weakref.WeakValueDictionary()
"""Complete classes that are in use, by the parts they were made of."""


def enrich(
    pod_class: PodClass,
    selected_by: frozenset[PodSelector],
    storage: Storage | None,
    devices: DeviceNeeds | None = None,
    *,
    claimed: Requests = (),
    refuses_claims: bool = False,
) -> PodClass:
    """Return the class with these selectors, storage and devices; the same if nothing changes.

    `claimed` is what queues count for its claims of devices. `refuses_claims`: the pod has claims
    of devices, and devices are not known in this cluster.
    """
    unsupported = pod_class.unsupported
    if unsupported or refuses_claims:
        unsupported = _unsupported(pod_class, refuses_claims=refuses_claims)
    if (
        selected_by == pod_class.selected_by
        and storage == pod_class.storage
        and devices == pod_class.devices
        and unsupported == pod_class.unsupported
        and claimed == pod_class.claimed
    ):
        return pod_class
    said = (pod_class, selected_by, storage, devices, unsupported, claimed)
    known = _enriched.get(said)
    if known is None:
        known = replace(
            pod_class,
            selected_by=selected_by,
            storage=storage,
            devices=devices,
            unsupported=unsupported,
            claimed=claimed,
        )
        _enriched[said] = known = pod_pod_class.interned(known)
    return known


def _unsupported(pod_class: PodClass, *, refuses_claims: bool) -> tuple[str, ...]:
    """Return the unsupported fields of a class, with claims of devices if these are refused."""
    claims, present = pod_pod_class.RESOURCE_CLAIMS, pod_class.unsupported
    if refuses_claims == (claims in present):
        return present
    others = tuple(each for each in present if each != claims)
    return (claims, *others) if refuses_claims else others
