"""Inverted index of selectors and pods by (namespace, label value).

A selector is filed under one label that it requires, or under NO_LABEL, in the namespaces that it
names, or ANYWHERE: every pod that it selects is filed there, too. Pods are filed only under labels
that a selector is filed under: a cluster without selectors pays nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gang_scheduler.model.affinity.pod_affinity import PodSelector
from gang_scheduler.model.affinity.requirements import Operator
from gang_scheduler.model.pods import Pod

NO_LABEL: Final = ""
ANYWHERE: Final = ""
FEW: Final = 8
"""Up to so many selectors in one place count as none: no better place is needed."""

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
