"""Pod affinity: the pods that the selectors of other pods match, counted by node."""

import functools
import weakref
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

import numpy as np

from gang_scheduler.decode.cluster import DeclaredNamespace
from gang_scheduler.decode.pods import pod_class as pod_pod_class
from gang_scheduler.model.causes.specs import TERMS_ABOUT_PODS
from gang_scheduler.model.device_needs import DeviceNeeds
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import Requests
from gang_scheduler.model.selectors import (
    AffinityCounts,
    AffinityTerm,
    FewNodes,
    NodeCounts,
    PodAffinity,
    PodSelector,
)
from gang_scheduler.model.volumes import Storage
from gang_scheduler.state.namespaces import Namespaces
from gang_scheduler.state.selector_index import SelectorIndex

# For each selector and node: how many pods it selects, and how many keep other pods away.

K = TypeVar("K", bound=Hashable)
_Heads = Counter[str] | IntArray
"""Pods by the name of their node, or by its slot."""
FEW_NODES: Final = 64
PART_OF_NODES: Final = 8
"""Pods on more than this part of the nodes, and on more than a few, are counted in an array.

An array takes less memory then, and makes a column a hundred times as fast.
"""


class SelectorCounts:
    """The counts of AffinityCounts, kept up to date pod by pod.

    Reading them takes one step for each selector that is asked for.
    """

    def __init__(self) -> None:
        self._present: dict[PodSelector, _Heads] = {}
        self._avoiding: dict[PodSelector, dict[AffinityTerm, _Heads]] = {}
        self._slots: dict[str, int] = {}
        """The places of nodes in arrays. They stay when nodes come and go, as rows do not."""

    def count(self, node: str, pod_class: PodClass, sign: int) -> None:
        """Count a pod on a node; with the sign -1, stop counting it."""
        for selector in pod_class.selected_by:
            self._add(self._present, selector, node, sign)
        for term in pod_class.pod_affinity.anti if pod_class.pod_affinity is not None else ():
            terms = self._avoiding.setdefault(term.selector, {})
            self._add(terms, term, node, sign)
            if not terms:
                del self._avoiding[term.selector]

    def reselected(self, node: str, before: PodClass, after: PodClass) -> None:
        """Count a pod that other selectors select than before; its own terms have not changed."""
        for selector in after.selected_by - before.selected_by:
            self._add(self._present, selector, node, 1)
        for selector in before.selected_by - after.selected_by:
            self._add(self._present, selector, node, -1)

    def of(self, pod_classes: Iterable[PodClass], rows: Mapping[str, int]) -> AffinityCounts:
        """Return the counts that matter to pods of these classes; `rows` are the rows of nodes."""
        if len(self._slots) > 2 * len(rows) + FEW_NODES:
            self._forget_slots()
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
        columns = _Columns(self._slots, rows)
        return AffinityCounts(
            present={s: columns.of(self._present[s]) for s in asked & self._present.keys()},
            avoiding={term: columns.of(heads) for term, heads in terms},
        )

    def _add(self, counted: dict[K, _Heads], key: K, node: str, sign: int) -> None:
        heads = counted.get(key)
        if heads is None:
            heads = counted[key] = Counter()
        if isinstance(heads, Counter):
            heads[node] += sign
            if not heads[node]:
                del heads[node]
            if not heads:
                del counted[key]
            elif len(heads) > max(FEW_NODES, len(self._slots) // PART_OF_NODES):
                counted[key] = self._as_array(heads)
            return
        slot = self._slots.setdefault(node, len(self._slots))
        if slot >= len(heads):
            more = np.zeros(len(heads) // 4 + slot + 1 - len(heads), dtype=np.int64)
            heads = counted[key] = np.concatenate([heads, more])
        heads[slot] += sign
        if not heads[slot] and not heads.any():
            del counted[key]

    def _forget_slots(self) -> None:
        """Give no slots to nodes that are gone: new nodes have other names."""
        names = [*self._slots]
        _by_name(self._present, names)
        for terms in self._avoiding.values():
            _by_name(terms, names)
        self._slots.clear()

    def _as_array(self, heads: Counter[str]) -> IntArray:
        slots = [self._slots.setdefault(node, len(self._slots)) for node in heads]
        found = np.zeros(len(self._slots), dtype=np.int64)
        found[slots] = list(heads.values())
        return found


def _by_name(counted: dict[K, _Heads], names: Sequence[str]) -> None:
    """Count by the names of nodes what is counted by their slots."""
    for key, heads in counted.items():
        if not isinstance(heads, Counter):
            there = np.flatnonzero(heads).tolist()
            counted[key] = Counter({names[slot]: int(heads[slot]) for slot in there})


class _Columns:
    """Makes columns of counts. `rows` are the rows of nodes, and `slots` their places in arrays."""

    def __init__(self, slots: Mapping[str, int], rows: Mapping[str, int]) -> None:
        self._slots = slots
        self._rows = rows

    @functools.cached_property
    def _slot_of_row(self) -> IntArray:
        none = len(self._slots)
        return np.array([self._slots.get(node, none) for node in self._rows], dtype=np.int64)

    def of(self, heads: _Heads) -> NodeCounts:
        """Return the pods on each node. Nodes that are gone have no row."""
        if isinstance(heads, Counter):
            there = {self._rows[node]: n for node, n in heads.items() if node in self._rows}
            return FewNodes(tuple(there), tuple(there.values()), len(self._rows))
        by_slot = np.zeros(max(len(heads), len(self._slots)) + 1, dtype=np.int64)
        by_slot[: len(heads)] = heads
        column: IntArray = by_slot[self._slot_of_row]
        column.flags.writeable = False
        return column


Selectors = frozenset[PodSelector]
NO_SELECTORS: Final[Selectors] = frozenset()
MOST_LEFT_BEHIND: Final = 64
MOST_COMPARED: Final = 4_000_000
"""The selectors of a namespace are compared with at most this many pods, all together.

Each comparison takes two microseconds when the selector or the pod is new, and 70 bytes. A thousand
jobs of which none shares a rack with another one, of four thousand pods together, need as many.
"""
MOST_GIVEN_BACK: Final = 50_000
"""So much of what removed selectors counted as is given back between two cycles.

Otherwise selectors that are removed and added again would cost as much in each cycle.
"""
AT_ONCE: Final = 1_000
"""New selectors of a pod are compared at once with this many pods; more wait for the next cycle."""


class _Carried(NamedTuple):
    """The affinity terms of a pod, and its gang while the pod waits."""

    pod_affinity: PodAffinity
    gang: GangKey | None
    namespace: str


class SelectorMatches:
    """All pods that have not ended, and the selectors that select each of them.

    A pod carries the selectors of its own affinity. A selector is known once a pod carries it. The
    class of each pod that it selects must then be enriched again: see `take_stale`. A selector that
    no pod carries any more is kept until there are more such selectors than carried ones. Without
    any selector, a pod costs one entry. Selectors over the bound of their namespace are left out:
    see `leaves_out`.
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
        self._not_compared: dict[PodSelector, list[str] | None] = {}
        """New selectors, and the uids of pods that they must be compared with: None for all."""
        self.left_out: dict[str, dict[PodSelector, None]] = {}
        """By namespace: the selectors of its pods that are left out, since it has too many."""
        self._removed: Counter[str] = Counter()
        """By namespace: what removed selectors counted as, and still do."""
        self._placed: set[PodSelector] = set()
        self._waiting: defaultdict[PodSelector, Counter[GangKey]] = defaultdict(Counter)

    def __len__(self) -> int:
        """How many selectors the pods carry."""
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
            pod.uid,
            _Carried(pod_affinity, None if pod.node else gang, pod.namespace)
            if pod_affinity
            else None,
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

    def leaves_out(self, pod: Pod) -> bool:
        """Return whether selectors of this pod are left out: its namespace has too many."""
        left_out = self.left_out.get(pod.namespace)
        pod_affinity = pod.pod_class.pod_affinity
        if not left_out or pod_affinity is None:
            return False
        return not pod_affinity.selectors.isdisjoint(left_out)

    def compare_in_steps(self) -> Iterator[None]:
        """Compare new selectors with the pods that they may select, a little in each step."""
        while self._not_compared:
            selector, uids = next(iter(self._not_compared.items()))
            if uids is None:
                uids = self._not_compared[selector] = self._index.uids_for(selector)
            part = [uids.pop() for _ in range(min(AT_ONCE, len(uids)))]
            if not uids:
                del self._not_compared[selector]
            self._compare(selector, part)
            yield

    def take_stale(self) -> set[str]:
        """Return the uids of the pods that other selectors match than at the last call.

        Also of those whose selectors are left out now, or are no longer.
        """
        self._keep_bounds()
        for _ in self.compare_in_steps():
            pass
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
        has_room, now = True, AT_ONCE
        for each in carried.pod_affinity.selectors:
            self._carriers[each] += 1
            if each in self._index:
                continue
            has_room = has_room and self._add(each, carried.namespace)
            if not has_room:
                self.left_out.setdefault(carried.namespace, {})[each] = None
                continue
            now -= self._index.number_for(each)
            if now >= 0:
                del self._not_compared[each]
                self._compare(each, self._index.uids_for(each))

    def _add(self, selector: PodSelector, namespace: str) -> bool:
        """Add a selector, unless that is too much for its namespace; return whether it was."""
        if self._counted_for(namespace) >= MOST_COMPARED:
            return False
        self._index.add(selector, namespace)
        if self._counted_for(namespace) > MOST_COMPARED:
            self._index.remove(selector)
            return False
        self._left_behind.discard(selector)
        self._not_compared[selector] = None
        return True

    def _counted_for(self, namespace: str) -> int:
        return self._index.compared[namespace] + self._removed[namespace]

    def _remove(self, selector: PodSelector) -> None:
        namespace, counted = self._index.remove(selector)
        self._removed[namespace] += counted
        self._not_compared.pop(selector, None)
        self._left_behind.add(selector)

    def _keep_bounds(self) -> None:
        """Leave out selectors that are over the bound of a namespace, and add what has room."""
        for namespace, counted in [*self._removed.items()]:
            self._removed[namespace] -= min(counted, MOST_GIVEN_BACK)
            if not self._removed[namespace]:
                del self._removed[namespace]
        over = {each for each, number in self._index.compared.items() if number > MOST_COMPARED}
        for namespace in over:
            self._leave_out_newest(namespace)
        changed = {each for each in [*self.left_out] if each not in over and self._add_again(each)}
        if changed := changed | over:
            self._stale |= {uid for uid, each in self._carried.items() if each.namespace in changed}

    def _leave_out_newest(self, namespace: str) -> None:
        while self._index.compared[namespace] > MOST_COMPARED:
            selector = self._index.newest_of(namespace)
            self._remove(selector)
            self.left_out.setdefault(namespace, {})[selector] = None

    def _add_again(self, namespace: str) -> bool:
        """Add selectors that were left out; return whether any is no longer."""
        left_out = self.left_out[namespace]
        number = len(left_out)
        while left_out:
            selector = next(iter(left_out))
            if selector not in self._index and not self._add(selector, namespace):
                break
            del left_out[selector]
        if not left_out:
            del self.left_out[namespace]
        return len(left_out) < number

    def _put_down(self, carried: _Carried) -> None:
        self._count_waiting(carried, -1)
        for each in carried.pod_affinity.selectors:
            self._carriers[each] -= 1
            if not self._carriers[each]:
                del self._carriers[each]
                if each in self._index:
                    self._remove(each)
                for left_out in self.left_out.values():
                    left_out.pop(each, None)
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

    def _compare(self, selector: PodSelector, uids: Iterable[str]) -> None:
        """Find those of these pods that a new selector selects."""
        keys = {required.key for clause in selector.clauses for required in clause.labels}
        known: dict[Hashable, bool] = {}
        for uid in uids:
            pod = self._pods.get(uid)
            if pod is None or selector in self._matching.get(uid, NO_SELECTORS):
                continue
            # Most pods are like others to a selector: comparing each would take thrice as long.
            seen = pod.namespace, pod.deleting, *map(pod.labels.get, keys)
            selects = known.get(seen)
            if selects is None:
                selects = known[seen] = self._selects(selector, pod)
            if selects:
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
    leaves_out_terms: bool = False,
) -> PodClass:
    """Return the class with these selectors, storage and devices; the same if nothing changes.

    `claimed` is what queues count for its claims of devices. `refuses_claims`: the pod has claims
    of devices, and devices are not known in this cluster. `leaves_out_terms`: its namespace has too
    many terms about other pods.
    """
    unsupported = pod_class.unsupported
    if unsupported or refuses_claims or leaves_out_terms:
        refused = {
            pod_pod_class.RESOURCE_CLAIMS: refuses_claims,
            TERMS_ABOUT_PODS: leaves_out_terms,
        }
        unsupported = _unsupported(unsupported, refused)
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


def _unsupported(present: tuple[str, ...], refused: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the unsupported fields, with those that are refused in this cluster now."""
    new = tuple(each for each, is_refused in refused.items() if is_refused and each not in present)
    return (*new, *(each for each in present if refused.get(each, True)))
