"""The selectors of pods' affinity, the pods that each may select, and the cost of comparing them.

Pods that look alike to selectors are compared once, and share the result.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import PodSelector
from gang_scheduler.state.selector_entries import (
    ANY_VALUE,
    ANYWHERE,
    LEAST,
    NO_LABEL,
    PODS_A_COMPARISON,
    Alike,
    Bucket,
    Entry,
    Place,
    Shape,
    Values,
    filing_of,
    kind_of,
    places_of,
    shape_of,
    weight_of,
)


class _Filed(NamedTuple):
    """Where a selector is filed, and for which namespaces."""

    entries: tuple[Entry, ...]
    values: Values | None
    weight: int
    owners: set[str]


class SelectorIndex:
    """The selectors that were added, and `pods` by uid, which the caller keeps up to date.

    `selects` tells whether a selector selects pods. `changed` is called with known pods that are
    now selected by other selectors.
    """

    def __init__(
        self,
        pods: Mapping[str, Pod],
        selects: Callable[[PodSelector, Alike], bool],
        changed: Callable[[Alike], object],
    ) -> None:
        self._pods = pods
        self._selects = selects
        self._changed = changed
        self._parts: Counter[str] = Counter()
        """By namespace: the cost of its selectors, in parts of a comparison."""
        self._labels: dict[str, Counter[str]] = {}
        """By namespace: the labels under which its selectors are filed."""
        self._at: dict[str, dict[Place, dict[Shape, Entry]]] = {}
        self._pods_at: dict[str, dict[Place, dict[str, None]]] = {}
        self.alike: dict[str, list[Alike]] = {}
        """By uid: the entries with which a pod is filed. Some may have no selector."""
        self._filed: dict[PodSelector, _Filed] = {}
        self._unfinished: dict[Entry, None] = {}
        self._not_compared: dict[PodSelector, list[Alike]] = {}
        self._of_namespaces: dict[PodSelector, None] = {}
        """The entries whose selectors ask for labels of namespaces."""
        self._gone: list[Alike] = []
        """The entries of places that have no selector any more."""
        self.left_behind: set[PodSelector] = set()
        """Removed selectors that may still select pods."""
        self.gone = 0
        """How many pods have gone, or have changed their labels."""

    def __len__(self) -> int:
        return len(self._filed)

    def __contains__(self, selector: PodSelector) -> bool:
        return selector in self._filed

    def compared(self, owner: str) -> int:
        """Return the cost of all selectors of a namespace, in comparisons."""
        labels = len(self._labels.get(owner, ()))
        return (self._parts[owner] + labels * len(self._pods)) // PODS_A_COMPARISON

    def add(self, selector: PodSelector, owner: str) -> int:
        """File a selector for a namespace; return the amount of work that this needs.

        `work` does that. Linear in pods for the first selector of a label.
        """
        filed = self._filed.get(selector)
        work = 0
        if filed is None:
            self.left_behind.discard(selector)
            label, places = filing_of(selector)
            if label not in self._at:
                self._set_up(label)
                work += len(self._pods) // PODS_A_COMPARISON
            shape, values = shape_of(selector)
            entries = tuple(self._entry(label, place, shape) for place in places)
            filed = self._filed[selector] = _Filed(entries, values, weight_of(selector), set())
            work += LEAST * len(places) + self._file(selector, filed)
            if any(each.of_namespaces for each in selector.clauses):
                self._of_namespaces[selector] = None
        if owner not in filed.owners:
            filed.owners.add(owner)
            self._charge(filed, owner, 1)
        return work

    def remove(self, selector: PodSelector, owner: str, *, at_once: bool = False) -> int:
        """Remove a selector of a namespace; return its cost there, in comparisons.

        The pods that it selected are forgotten later, unless `at_once`.
        """
        filed, before = self._filed[selector], self.compared(owner)
        filed.owners.discard(owner)
        self._charge(filed, owner, -1)
        if not filed.owners:
            del self._filed[selector]
            if at_once:
                self._forget(selector, filed)
            else:
                self.left_behind.add(selector)
            self._of_namespaces.pop(selector, None)
            self._not_compared.pop(selector, None)
            for entry in filed.entries:
                self._take_out(selector, filed.values, entry)
        return before - self.compared(owner)

    @property
    def has_work(self) -> bool:
        """Whether there is anything to file or to compare."""
        return bool(self._unfinished or self._not_compared)

    def work(self, most: int) -> int:
        """File and compare a part of the pending pods; return the amount of work that was done."""
        done = 0
        while done < most and self._unfinished:
            entry = next(iter(self._unfinished))
            done += 1
            pod = self._pods.get(entry.left.pop())
            if pod is not None and entry.place in places_of(pod, entry.label):
                alike, compared = self._file_in(entry, pod)
                done += compared
                if alike.selectors:
                    self._changed(alike)
            if not entry.left:
                del self._unfinished[entry]
        while done < most and self._not_compared:
            selector, those = next(iter(self._not_compared.items()))
            done += self._filed[selector].weight
            each = those.pop()
            if not those:
                del self._not_compared[selector]
            if each.uids and selector not in each.selectors and self._selects(selector, each):
                each.add(selector)
                self._changed(each)
        return done

    def pod_moved(self, before: Pod | None, after: Pod | None) -> None:
        """File the new state of a pod instead of the old one."""
        if before is not None:
            self.gone += 1
            self._pod_left(before)
        if after is not None:
            self._pod_came(after)

    def reselect(self, namespaces: Collection[str]) -> None:
        """Compare the pods of these namespaces again with selectors that ask for their labels."""
        self._purge()
        for selector in self._of_namespaces:
            filed = self._filed[selector]
            for entry in filed.entries:
                for each in entry.those(filed.values):
                    if each.namespace in namespaces:
                        self._compare_anew(selector, each)

    def clear_away(self, most: int) -> Iterator[Alike]:
        """Drop the records that removed selectors have left, if there are too many.

        Yields pods that such selectors still selected.
        """
        if len(self.left_behind) > max(most, len(self)):
            there = (each for entry in self._entries() for each in entry.those(None))
            for each in [*there, *self._gone]:
                if each.drop(self.left_behind):
                    yield each
            self.left_behind.clear()
            self._purge()
        elif len(self._gone) > most:
            # A selector that comes and goes leaves records each time.
            self._purge()

    def _purge(self) -> None:
        """Stop filing pods at places that have no selector."""
        for uid in {uid for each in self._gone for uid in each.uids}:
            if uid in self.alike:
                self.alike[uid] = [each for each in self.alike[uid] if not each.is_gone]
        self._gone.clear()

    def _entries(self) -> Iterator[Entry]:
        for places in self._at.values():
            for shapes in places.values():
                yield from shapes.values()

    def _compare_anew(self, selector: PodSelector, alike: Alike) -> None:
        selects = self._selects(selector, alike)
        if selects != (selector in alike.selectors):
            if selects:
                alike.add(selector)
            else:
                alike.drop((selector,))
            self._changed(alike)

    def _entry(self, label: str, place: Place, shape: Shape) -> Entry:
        """Return the entry of a place and a shape; a new one has all pods of the place to file."""
        shapes = self._at[label].setdefault(place, {})
        entry = shapes.get(shape)
        if entry is None:
            left = [uid for uids in _sets_at(place, self._pods_at[label]) for uid in uids]
            entry = shapes[shape] = Entry(label, place, shape, len(left), left)
            if left:
                self._unfinished[entry] = None
        return entry

    def _file(self, selector: PodSelector, filed: _Filed) -> int:
        """Put a new selector into its entries; return the amount of work for it."""
        work, those = 0, list[Alike]()
        for entry in filed.entries:
            bucket = entry.buckets.setdefault(filed.values, Bucket())
            bucket.selectors[selector] = None
            work += len(entry.left) * entry.cost // PODS_A_COMPARISON
            those.extend(entry.those(filed.values))
        if those:
            self._not_compared[selector] = those
        return work + len(those) * filed.weight

    def _forget(self, selector: PodSelector, filed: _Filed) -> None:
        for entry in filed.entries:
            for each in entry.those(filed.values):
                if each.drop((selector,)):
                    self._changed(each)

    def _take_out(self, selector: PodSelector, values: Values | None, entry: Entry) -> None:
        """Take a selector out of an entry, and the entry away if that was the last one."""
        del entry.buckets[values].selectors[selector]
        if not entry.buckets[values].selectors:
            del entry.buckets[values]
        if entry.buckets:
            return
        self._unfinished.pop(entry, None)
        for each in entry.those(None):
            each.is_gone = True
            self._gone.append(each)
        places = self._at[entry.label]
        del places[entry.place][entry.shape]
        if not places[entry.place]:
            del places[entry.place]
        if not places:
            del self._at[entry.label], self._pods_at[entry.label]

    def _charge(self, filed: _Filed, owner: str, sign: int) -> None:
        """Count a selector for a namespace, or stop counting it with the sign -1."""
        parts = 0
        for entry in filed.entries:
            bucket = entry.buckets[filed.values]
            _add(bucket.weights, owner, sign * filed.weight)
            parts += LEAST * PODS_A_COMPARISON
            for each in entry.those(filed.values):
                parts += filed.weight * each.parts(owner, len(each.uids), 1)
            before = entry.owners[owner]
            _add(entry.owners, owner, sign)
            if not before or not entry.owners[owner]:
                parts += entry.cost * entry.number
            labels = self._labels.setdefault(owner, Counter())
            _add(labels, entry.label, sign)
            if not labels:
                del self._labels[owner]
        _add(self._parts, owner, sign * parts)

    def _pod_came(self, pod: Pod) -> None:
        for label in self._labels_of(pod):
            place = pod.namespace, pod.labels.get(label, "")
            self._pods_at[label].setdefault(place, {})[pod.uid] = None
            for entry in self._entries_for(pod, label):
                entry.number += 1
                for owner in entry.owners:
                    self._parts[owner] += entry.cost
                self._file_in(entry, pod)

    def _pod_left(self, pod: Pod) -> None:
        for label in self._labels_of(pod):
            place = pod.namespace, pod.labels.get(label, "")
            there = self._pods_at[label]
            there[place].pop(pod.uid, None)
            if not there[place]:
                del there[place]
            for entry in self._entries_for(pod, label):
                entry.number -= 1
                for owner in entry.owners:
                    _add(self._parts, owner, -entry.cost)
                self._take_from(entry, pod)
        self.alike.pop(pod.uid, None)

    def _file_in(self, entry: Entry, pod: Pod) -> tuple[Alike, int]:
        """File a pod in an entry; return the pods alike, and how many selectors were compared.

        A pod is compared only if no pod there is like it.
        """
        values, kind = entry.values_of(pod), kind_of(pod, entry)
        those = entry.alike.setdefault(values, {})
        alike, compared, is_new = those.get(kind), 0, 0
        if alike is None:
            is_new, read = 1, zip(entry.shape.keys, values, strict=True)
            labels = {key: value for key, value in read if value is not None}
            alike = those[kind] = Alike(pod.namespace, labels, kind[1])
            for bucket in entry.buckets_of(values):
                compared += len(bucket.selectors)
                for selector in bucket.selectors:
                    if self._selects(selector, alike):
                        alike.add(selector)
        elif pod.uid in alike.uids:
            return alike, 0
        alike.uids.add(pod.uid)
        self.alike.setdefault(pod.uid, []).append(alike)
        for bucket in entry.buckets_of(values):
            for owner, weight in bucket.weights.items():
                self._parts[owner] += weight * alike.parts(owner, 1, is_new)
        return alike, compared

    def _take_from(self, entry: Entry, pod: Pod) -> None:
        values, kind = entry.values_of(pod), kind_of(pod, entry)
        alike = entry.alike.get(values, {}).get(kind)
        if alike is None or pod.uid not in alike.uids:
            return
        alike.uids.discard(pod.uid)
        is_last = 0 if alike.uids else 1
        for bucket in entry.buckets_of(values):
            for owner, weight in bucket.weights.items():
                _add(self._parts, owner, -weight * alike.parts(owner, 1, is_last))
        if not alike.uids:
            del entry.alike[values][kind]
            if not entry.alike[values]:
                del entry.alike[values]

    def _set_up(self, label: str) -> None:
        self._at[label] = {}
        there = self._pods_at[label] = {}
        for pod in self._pods.values():
            if label == NO_LABEL or label in pod.labels:
                there.setdefault((pod.namespace, pod.labels.get(label, "")), {})[pod.uid] = None

    def _labels_of(self, pod: Pod) -> list[str]:
        labels = list(self._at.keys() & pod.labels.keys())
        return [NO_LABEL, *labels] if NO_LABEL in self._at else labels

    def _entries_for(self, pod: Pod, label: str) -> Iterator[Entry]:
        places = self._at[label]
        for place in places_of(pod, label):
            if place in places:
                yield from places[place].values()


def _sets_at(place: Place, pods: Mapping[Place, dict[str, None]]) -> Iterable[dict[str, None]]:
    namespace, value = place
    if namespace != ANYWHERE and value != ANY_VALUE:
        return (pods[place],) if place in pods else ()
    return (
        uids
        for (where, said), uids in pods.items()
        if namespace in (ANYWHERE, where) and value in (ANY_VALUE, said)
    )


def _add(counted: Counter[str], key: str, number: int) -> None:
    counted[key] += number
    if not counted[key]:
        del counted[key]
