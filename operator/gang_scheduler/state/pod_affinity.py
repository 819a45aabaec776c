"""Pod affinity: the pods that the selectors of other pods select, counted by node."""

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
from gang_scheduler.state.affinity_term_budgets import MOST_COMPARED, Age, TermBudgets
from gang_scheduler.state.namespaces import Namespaces
from gang_scheduler.state.selector_entries import Alike
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


class _Carried(NamedTuple):
    """The affinity terms of a pod, and its gang while the pod waits."""

    pod_affinity: PodAffinity
    gang: GangKey | None
    age: Age
    namespace: str


class SelectorMatches:
    """All pods that have not ended, and the selectors that select each of them.

    A pod carries the selectors of its own affinity. A selector is known once a pod carries it. The
    class of each pod that it selects must then be enriched again: see `take_stale`. A selector that
    no pod carries any more is kept until there are more such selectors than carried ones. Without
    any selector, a pod costs one entry. Selectors of the newest pods that are over the bound of
    their namespace, `most_compared`, are left out: see `leaves_out`.
    """

    def __init__(self, most_compared: int = MOST_COMPARED) -> None:
        self.namespaces = Namespaces()
        self._pods: dict[str, Pod] = {}
        self._stale_alike: dict[Alike, None] = {}
        self._index = SelectorIndex(self._pods, self._selects, self._note_stale)
        self._budgets = TermBudgets(self._index, most_compared)
        self.left_out: Collection[str] = self._budgets.over
        """The namespaces that have too many selectors."""
        self._carried: dict[str, _Carried] = {}
        self._shared: dict[tuple[Selectors, ...], Selectors] = {}
        self._stale: set[str] = set()
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
        if pod_affinity is None and not (self._carried or self._index.left_behind):
            return
        if before is None or _is_other(before, pod):
            selected = self.selectors_matching(pod.uid)
            self._index.pod_moved(before, pod)
            if self.selectors_matching(pod.uid) != selected:
                self._stale.add(pod.uid)
        age = Age(pod.created_at, pod.name, pod.uid)
        waiting = None if pod.node else gang
        self._carry(
            pod.uid, _Carried(pod_affinity, waiting, age, pod.namespace) if pod_affinity else None
        )

    def delete(self, uid: str) -> None:
        """Forget a pod."""
        before = self._pods.pop(uid, None)
        if before is not None:
            self._index.pod_moved(before, None)
            self._carry(uid, None)
            self._stale.discard(uid)

    def upsert_namespace(self, declared: DeclaredNamespace) -> bool:
        """Add or replace a namespace; return whether that may matter to selectors."""
        return self.namespaces.upsert(declared) and self._relabelled({declared.name})

    def delete_namespace(self, uid: str) -> bool:
        """Forget a namespace; return whether that may matter to selectors."""
        return self._relabelled({self.namespaces.delete(uid)})

    def selectors_matching(self, uid: str) -> Selectors:
        """Return the selectors that select a pod; pods may share a set."""
        alike = self._index.alike.get(uid)
        if not alike:
            return NO_SELECTORS
        parts = tuple(sorted((each.frozen for each in alike if each.selectors), key=id))
        if len(parts) < 2:
            return parts[0] if parts else NO_SELECTORS
        shared = self._shared.get(parts)
        if shared is None:
            shared = self._shared[parts] = NO_SELECTORS.union(*parts)
        return shared

    def leaves_out(self, pod: Pod) -> bool:
        """Return whether selectors of this pod are left out: its namespace has too many."""
        pod_affinity = pod.pod_class.pod_affinity
        if pod_affinity is None:
            return False
        return self._budgets.leaves_out(pod.namespace, pod_affinity.selectors)

    def compare_in_steps(self) -> Iterator[None]:
        """Compare new selectors with the pods that they may select, a little in each step."""
        while self._budgets.advance():
            yield

    def take_stale(self) -> set[str]:
        """Return the uids of the pods that are selected by other selectors than at the last call.

        Pods whose selectors are left out now, or are no longer left out, are among them.
        """
        self._budgets.begin_cycle()
        for _ in self.compare_in_steps():
            pass
        if changed := self._budgets.take_changed():
            self._stale |= {uid for uid, each in self._carried.items() if each.namespace in changed}
        self._clear_away()
        self._shared.clear()
        stale, self._stale = self._stale, set()
        stale.update(*(each.uids for each in self._stale_alike))
        self._stale_alike.clear()
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
            self._count_waiting(after, 1)
        else:
            del self._carried[uid]
        if before is not None:
            self._count_waiting(before, -1)
        if before is not None and after is not None and before._replace(gang=after.gang) == after:
            return
        if before is not None:
            self._budgets.left(before.namespace, before.age)
            self._clear_away()
        if after is not None:
            self._budgets.came(after.namespace, after.age, after.pod_affinity)

    def _clear_away(self) -> None:
        for each in self._index.clear_away(MOST_LEFT_BEHIND):
            self._note_stale(each)

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

    def _selects(self, selector: PodSelector, alike: Alike) -> bool:
        where, around = alike.namespace, self.namespaces.labels_of(alike.namespace)
        return selector.selects(where, alike.labels, around, deleting=alike.deleting)

    def _note_stale(self, alike: Alike) -> None:
        self._stale_alike[alike] = None

    def _relabelled(self, namespaces: Collection[str]) -> bool:
        if not self._index:
            return False
        self._index.reselect(namespaces)
        return True


def _is_other(before: Pod, after: Pod) -> bool:
    """Return whether the set of selectors that may select the pod has changed."""
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

    `claimed` has the amounts that queues count for its claims of devices. `refuses_claims`: the pod
    has claims of devices, and devices are not known in this cluster. `leaves_out_terms`: its
    namespace has too many terms about other pods.
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
