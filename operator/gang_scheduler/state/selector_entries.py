"""The places under which selectors of pods' affinity, and the pods they may select, are filed."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import PodSelector

# A selector is filed under one label that it requires, or under NO_LABEL, in the namespaces that it
# names, or ANYWHERE. Every pod that it selects is filed there too. Pods are filed only under labels
# under which a selector is filed, so a cluster without selectors pays nothing. The places of a
# selector depend only on the selector: its cost must not depend on the order of events.

NO_LABEL: Final = ""
ANYWHERE: Final = ""
ANY_VALUE: Final = "*"
"""A value that no label has."""
MOST_PLACES: Final = 64
"""A selector with more places is filed under any namespace or any value: it may name 10^9 pairs."""
LEAST: Final = 50
"""The least cost of a selector at each place, in comparisons."""
PODS_A_COMPARISON: Final = 8
"""This many pods that are like others cost as much as one comparison.

Only pods of the selector's own namespace cost so little: every running pod, of any namespace, is
counted for each selector that selects it.
"""
VALUES_A_COMPARISON: Final = 16
"""With this many more values and requirements, a comparison with a selector counts as two."""
KEYS_A_PODS: Final = 8
"""Reading this many more labels of a pod counts as one more comparison."""

Place = tuple[str, str]
"""A namespace, or ANYWHERE, and the value of a label, or ANY_VALUE."""
Values = tuple[str | None, ...]


class Shape(NamedTuple):
    """The labels that a selector names, and whether it depends on the deletion of pods."""

    keys: tuple[str, ...]
    staying: bool


@dataclass(slots=True, eq=False)
class Alike:
    """Pods of one place that the selectors there cannot tell apart, and the selectors of them."""

    namespace: str
    labels: Mapping[str, str]
    deleting: bool
    uids: set[str] = field(default_factory=set)
    selectors: set[PodSelector] = field(default_factory=set)
    is_gone: bool = False
    """Whether no selector is filed at the place any more."""
    _frozen: frozenset[PodSelector] | None = None

    def add(self, selector: PodSelector) -> None:
        """Note that a selector selects these pods."""
        self.selectors.add(selector)
        self._frozen = None

    def drop(self, selectors: Collection[PodSelector]) -> bool:
        """Note that these selectors no longer select the pods; return whether any did."""
        if self.selectors.isdisjoint(selectors):
            return False
        self.selectors.difference_update(selectors)
        self._frozen = None
        return True

    def parts(self, owner: str, pods: int, comparisons: int = 0) -> int:
        """Return the cost of this many of these pods for a namespace, in parts of a comparison."""
        each = 1 if owner == self.namespace else PODS_A_COMPARISON
        return each * pods + PODS_A_COMPARISON * comparisons

    @property
    def frozen(self) -> frozenset[PodSelector]:
        """The selectors: the same set as long as they do not change."""
        if self._frozen is None:
            self._frozen = frozenset(self.selectors)
        return self._frozen


@dataclass(slots=True, eq=False)
class Bucket:
    """Selectors that may select the same pods of an entry, and their weight by namespace."""

    selectors: dict[PodSelector, None] = field(default_factory=dict)
    weights: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True, eq=False)
class Entry:
    """The selectors of one shape at one place, and the pods there.

    A selector that asks for one value of each label is in the bucket of these values, any other in
    that of None. `left` are uids of pods that are still to be filed.
    """

    label: str
    place: Place
    shape: Shape
    number: int
    left: list[str]
    buckets: dict[Values | None, Bucket] = field(default_factory=dict)
    alike: dict[Values, dict[tuple[str, bool], Alike]] = field(default_factory=dict)
    owners: Counter[str] = field(default_factory=Counter)

    @property
    def cost(self) -> int:
        """The cost of filing a pod, in parts of a comparison."""
        return (1 + len(self.shape.keys) // KEYS_A_PODS) * PODS_A_COMPARISON

    def values_of(self, pod: Pod) -> Values:
        """Return the values that a pod has for the labels that the selectors name."""
        return tuple(map(pod.labels.get, self.shape.keys))

    def those(self, values: Values | None) -> Iterator[Alike]:
        """Yield the pods that selectors of a bucket may select."""
        if values is not None:
            yield from self.alike.get(values, {}).values()
        else:
            for each in self.alike.values():
                yield from each.values()

    def buckets_of(self, values: Values) -> Iterator[Bucket]:
        """Yield the buckets whose selectors may select pods with these values."""
        for each in (values, None):
            if each in self.buckets:
                yield self.buckets[each]


def kind_of(pod: Pod, entry: Entry) -> tuple[str, bool]:
    """Return the other facts by which selectors tell pods of an entry apart."""
    return pod.namespace, pod.deleting and entry.shape.staying


def places_of(pod: Pod, label: str) -> tuple[Place, ...]:
    """Return the places under a label whose selectors may select a pod."""
    where, value = pod.namespace, pod.labels.get(label, "" if label == NO_LABEL else None)
    if value is None:
        return ()
    return (where, value), (ANYWHERE, value), (where, ANY_VALUE), (ANYWHERE, ANY_VALUE)


def filing_of(selector: PodSelector) -> tuple[str, tuple[Place, ...]]:
    """Return where a selector is filed: under the label of which it accepts the fewest values."""
    named = [each.namespaces for each in selector.clauses if each.of_namespaces is None]
    namespaces: Collection[str] = min(named, key=len, default=(ANYWHERE,))
    label, values = min(
        _wanted(selector), key=lambda each: (ANY_VALUE in each[1], len(each[1]), each)
    )
    if len(namespaces) > MOST_PLACES:
        namespaces = (ANYWHERE,)
    if len(namespaces) * len(values) > MOST_PLACES:
        values = (ANY_VALUE,)
    return label, tuple((each, value) for each in sorted(namespaces) for value in values)


def _wanted(selector: PodSelector) -> list[tuple[str, tuple[str, ...]]]:
    """Return the labels that a selector requires, each with its possible values."""
    asked = [each for clause in selector.clauses for each in clause.labels]
    wanted = [(each.key, each.values) for each in asked if each.operator is Operator.IN]
    # A JobSet with a domain for each Job has such terms: "the pods of any other Job".
    wanted += [(each.key, (ANY_VALUE,)) for each in asked if each.operator is Operator.EXISTS]
    return wanted or [(NO_LABEL, ("",))]


def shape_of(selector: PodSelector) -> tuple[Shape, Values | None]:
    """Return the shape of a selector, and its values if it asks for one of each label."""
    asked = {each for clause in selector.clauses for each in clause.labels}
    keys = tuple(sorted({each.key for each in asked}))
    values: Values | None = None
    if len(keys) == len(asked) and all(
        each.operator is Operator.IN and len(each.values) == 1 for each in asked
    ):
        values = tuple(each.values[0] for each in sorted(asked, key=lambda each: each.key))
    return Shape(keys, selector.staying), values


def weight_of(selector: PodSelector) -> int:
    """Return the cost of a comparison with a selector: more if it names many values."""
    asked = [
        each
        for clause in selector.clauses
        for each in (*clause.labels, *(clause.of_namespaces or ()))
    ]
    return 1 + sum(1 + len(each.values) for each in asked) // VALUES_A_COMPARISON
