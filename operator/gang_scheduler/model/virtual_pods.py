"""The members of a suspended workload: pods that nothing has created, made when they are looked at.

Ten thousand workloads of 64 members are ten thousand prototypes, not 640,000 pods: what members of
one template share is in the prototype, and what tells them apart in slots, which workloads of one
size share.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, NamedTuple, TypeVar, overload

from gang_scheduler.model.pods import Pod

K = TypeVar("K", bound=Hashable)
# What `replace` does costs ten times as much, and most members are made for one cycle. So a field
# of a new pod is set by the descriptor of its slot.
_Put = Callable[[Pod, object], None]
_UID: Final[_Put] = Pod.__dict__["uid"].__set__
_NAME: Final[_Put] = Pod.__dict__["name"].__set__
_RANK: Final[_Put] = Pod.__dict__["rank"].__set__
_SHARED: Final[tuple[tuple[str, _Put], ...]] = tuple(
    (each.name, Pod.__dict__[each.name].__set__)
    for each in fields(Pod)
    if each.name not in ("uid", "name", "rank")
)
"""The fields that members of one template share."""


class Slot(NamedTuple):
    """One member: the place of its prototype, the end of its name, and its rank."""

    prototype: int
    suffix: str
    rank: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class VirtualPods(Sequence[Pod]):
    """The members in an order that never changes. The name of each is `prefix` and a suffix.

    The uid of a member is `uid`, that of its workload, and its name. Members that were made are
    kept until `release`: for the memory, they would be equal ones.
    """

    uid: str
    prefix: str
    prototypes: tuple[Pod, ...]
    slots: tuple[Slot, ...]
    _made: list[tuple[Pod, ...]] = field(default_factory=list, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.slots)

    @overload
    def __getitem__(self, index: int) -> Pod: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Pod, ...]: ...

    def __getitem__(self, index: int | slice) -> Pod | tuple[Pod, ...]:
        return self._all()[index]

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VirtualPods):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return hash((self.uid, self.prefix, len(self.slots)))

    @property
    def made(self) -> int:
        """How many members are kept."""
        return len(self.slots) if self._made else 0

    def release(self) -> None:
        """Keep no members."""
        self._made.clear()

    def sorted_by(self, places: Sequence[int]) -> "VirtualPods":
        """Return the members by the places of their prototypes, those of one place as they are."""
        slots = tuple(sorted(self.slots, key=lambda slot: places[slot.prototype]))
        return VirtualPods(self.uid, self.prefix, self.prototypes, slots)

    def with_prototypes(self, prototypes: Sequence[Pod]) -> "VirtualPods":
        """Return the members with other prototypes in the places of these."""
        return VirtualPods(self.uid, self.prefix, tuple(prototypes), self.slots)

    def _all(self) -> tuple[Pod, ...]:
        if not self._made:
            shared = [
                [(put, getattr(prototype, name)) for name, put in _SHARED]
                for prototype in self.prototypes
            ]
            self._made.append(tuple(self._pod(slot, shared[slot.prototype]) for slot in self.slots))
        return self._made[0]

    def _pod(self, slot: Slot, shared: Iterable[tuple[_Put, object]]) -> Pod:
        """Return a member, with what it shares with others of its template."""
        name = f"{self.prefix}{slot.suffix}"
        pod: Pod = object.__new__(Pod)
        for put, value in shared:
            put(pod, value)
        _UID(pod, f"{self.uid}/{name}")
        _NAME(pod, name)
        _RANK(pod, slot.rank)
        return pod

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.uid, self.prefix, self.prototypes, self.slots


def numbers_of(pods: VirtualPods) -> Counter[int]:
    """Return how many members each prototype has, by its place."""
    return Counter(slot.prototype for slot in pods.slots)


def numbers_by(pods: Iterable[Pod], key: Callable[[Pod], K]) -> Counter[K]:
    """Return how many pods have each key, which is no name, uid or rank."""
    if type(pods) is not VirtualPods:
        return Counter(map(key, pods))
    found: Counter[K] = Counter()
    for place, number in numbers_of(pods).items():
        found[key(pods.prototypes[place])] += number
    return found


def one_of_each(pods: Sequence[Pod]) -> Sequence[Pod]:
    """Return pods of which each other one differs only in name and rank, from one of these."""
    # Asked of every gang that waits: `isinstance` asks an abstract base class, ten times as long.
    return pods.prototypes if type(pods) is VirtualPods else pods
