"""The selectors of pods' affinity by the labels that they require, and the pods by these labels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import PodSelector

# A selector is filed under one label that it requires, or under NO_LABEL, in the namespaces that it
# names, or ANYWHERE. Every pod that it selects is filed there too. Pods are filed only under labels
# under which a selector is filed, so a cluster without selectors pays nothing.

NO_LABEL: Final = ""
ANYWHERE: Final = ""
ANY_VALUE: Final = "*"
"""No label has this value."""
FEW: Final = 8
"""A place with at most this many selectors is good enough: no better one is searched."""
LEAST: Final = 50
"""The comparisons that a selector counts as, whatever it selects."""
PODS_A_COMPARISON: Final = 16
"""So many pods are asked for a label in the time of one comparison."""

Place = tuple[str, str]
"""A namespace, or ANYWHERE, and the value of a label, or ANY_VALUE."""


class _Filed(NamedTuple):
    """Where a selector is filed: the label, and the places under it.

    `owner` is the namespace that answers for it. `fixed` are the comparisons that it counts as
    beside those with the pods of its places.
    """

    label: str
    places: tuple[Place, ...]
    owner: str = ""
    fixed: int = 0


@dataclass(slots=True, eq=False)
class _Entries:
    """The selectors and pods that are filed under one label.

    `owners` counts the selectors of each place by namespace.
    """

    selectors: dict[Place, dict[PodSelector, None]] = field(default_factory=dict)
    owners: dict[Place, Counter[str]] = field(default_factory=dict)
    pods: dict[Place, set[str]] = field(default_factory=dict)

    def file(self, pod: Pod, label: str) -> None:
        self.pods.setdefault((pod.namespace, pod.labels.get(label, "")), set()).add(pod.uid)

    def take_out(self, pod: Pod, label: str) -> None:
        place = (pod.namespace, pod.labels.get(label, ""))
        self.pods[place].discard(pod.uid)
        if not self.pods[place]:
            del self.pods[place]

    def sets_at(self, place: Place) -> Iterable[set[str]]:
        namespace, value = place
        if namespace != ANYWHERE and value != ANY_VALUE:
            return (self.pods[place],) if place in self.pods else ()
        return (
            uids
            for (where, said), uids in self.pods.items()
            if namespace in (ANYWHERE, where) and value in (ANY_VALUE, said)
        )


class SelectorIndex:
    """The selectors that were added, and `pods` by uid, which the caller keeps up to date.

    `compared` is how many pods the selectors of each namespace are compared with, together.
    """

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self.compared: Counter[str] = Counter()
        self._pods = pods
        self._entries: dict[str, _Entries] = {}
        self._filed: dict[PodSelector, _Filed] = {}
        self._owned: dict[str, dict[PodSelector, None]] = {}

    def __len__(self) -> int:
        return len(self._filed)

    def __contains__(self, selector: PodSelector) -> bool:
        return selector in self._filed

    def add(self, selector: PodSelector, owner: str) -> None:
        """File a selector. Linear in pods for the first selector of a label."""
        filing = self._filing(selector)
        fixed = LEAST
        if filing.label not in self._entries:
            self._set_up(filing.label)
            fixed += len(self._pods) // PODS_A_COMPARISON
        entries = self._entries[filing.label]
        for place in filing.places:
            entries.selectors.setdefault(place, {})[selector] = None
            entries.owners.setdefault(place, Counter())[owner] += 1
        self._filed[selector] = filing._replace(owner=owner, fixed=fixed)
        self._owned.setdefault(owner, {})[selector] = None
        self.compared[owner] += fixed + self.number_for(selector)

    def remove(self, selector: PodSelector) -> tuple[str, int]:
        """Remove a selector; return the namespace that it counted for, and what it counted as."""
        counted = self._filed[selector].fixed + self.number_for(selector)
        label, places, owner, _ = self._filed.pop(selector)
        _subtract(self.compared, owner, counted)
        del self._owned[owner][selector]
        if not self._owned[owner]:
            del self._owned[owner]
        for place in places:
            entries = self._entries[label]
            _subtract(entries.owners[place], owner, 1)
            del entries.selectors[place][selector]
            if not entries.selectors[place]:
                del entries.selectors[place], entries.owners[place]
            if not entries.selectors:
                del self._entries[label]
        return owner, counted

    def newest_of(self, owner: str) -> PodSelector:
        """Return the selector of a namespace that was added last."""
        return next(reversed(self._owned[owner]))

    def pod_moved(self, before: Pod | None, after: Pod | None) -> None:
        """File the new state of a pod instead of the old one."""
        if before is not None:
            for label in self._labels_of(before):
                self._entries[label].take_out(before, label)
                for owners in self._owners_for(before, label):
                    for owner, number in owners.items():
                        _subtract(self.compared, owner, number)
        if after is not None:
            for label in self._labels_of(after):
                self._entries[label].file(after, label)
                for owners in self._owners_for(after, label):
                    self.compared.update(owners)

    def selectors_for(self, pod: Pod) -> Iterator[PodSelector]:
        """Yield all selectors that may select a pod."""
        for label in self._labels_of(pod):
            filed = self._entries[label].selectors
            for place in _places_of(pod, label):
                yield from filed.get(place, ())

    def uids_for(self, selector: PodSelector) -> list[str]:
        """Return the uids of all pods that a selector may select."""
        return [uid for uids in self._sets_for(selector) for uid in uids]

    def number_for(self, selector: PodSelector) -> int:
        """Return how many pods a selector may select."""
        return sum(map(len, self._sets_for(selector)))

    def _sets_for(self, selector: PodSelector) -> Iterator[set[str]]:
        filed = self._filed[selector]
        for place in filed.places:
            yield from self._entries[filed.label].sets_at(place)

    def _owners_for(self, pod: Pod, label: str) -> Iterator[Mapping[str, int]]:
        owners = self._entries[label].owners
        return (owners[place] for place in _places_of(pod, label) if place in owners)

    def _set_up(self, label: str) -> None:
        entries = self._entries[label] = _Entries()
        for pod in self._pods.values():
            if label == NO_LABEL or label in pod.labels:
                entries.file(pod, label)

    def _labels_of(self, pod: Pod) -> list[str]:
        labels = list(self._entries.keys() & pod.labels.keys())
        return [NO_LABEL, *labels] if NO_LABEL in self._entries else labels

    def _filing(self, selector: PodSelector) -> _Filed:
        """Return where a selector is filed: under a label with few other selectors."""
        named = [each.namespaces for each in selector.clauses if each.of_namespaces is None]
        namespaces = min(named, key=len, default=(ANYWHERE,))
        filings = [
            _Filed(label, tuple((each, value) for each in namespaces for value in values))
            for label, values in _wanted(selector)
        ]
        return min(filings, key=self._crowd)

    def _crowd(self, filing: _Filed) -> int:
        entries = self._entries.get(filing.label, _Entries())
        there = sum(len(entries.selectors.get(place, ())) for place in filing.places)
        return there if there >= FEW else 0


def _places_of(pod: Pod, label: str) -> tuple[Place, ...]:
    """Return the places under a label whose selectors may select a pod."""
    where, value = pod.namespace, pod.labels.get(label, "")
    return (where, value), (ANYWHERE, value), (where, ANY_VALUE), (ANYWHERE, ANY_VALUE)


def _wanted(selector: PodSelector) -> list[tuple[str, tuple[str, ...]]]:
    """Return the labels that a selector requires, each with its possible values."""
    asked = [each for clause in selector.clauses for each in clause.labels]
    wanted = [(each.key, each.values) for each in asked if each.operator is Operator.IN]
    # A JobSet with a domain for each Job has such terms: "the pods of any other Job".
    wanted += [(each.key, (ANY_VALUE,)) for each in asked if each.operator is Operator.EXISTS]
    return wanted or [(NO_LABEL, ("",))]


def _subtract(counted: Counter[str], key: str, number: int) -> None:
    counted[key] -= number
    if not counted[key]:
        del counted[key]
