"""What can be evicted apart in a domain: whole gangs, and single pods of elastic gangs."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit, Portion
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts


class Choice(NamedTuple):
    """An eviction unit that can be evicted or left.

    Of an elastic gang either `single` pods are evicted, no more than its surplus, or some of its
    `steps`, or the `whole` gang. `tied`: the preemptor may need the pods where they are.
    """

    unit: EvictionUnit
    single: bool = False
    whole: bool = False
    steps: bool = False
    tied: bool = False

    @property
    def gang(self) -> GangKey:
        """The gang of the eviction unit."""
        return self.unit.gang

    @property
    def of_surplus(self) -> bool:
        """The gang goes on without the unit."""
        return self.single or self.steps

    @property
    def portion(self) -> Portion:
        """The portion of the gang that a single pod is of."""
        return next(iter(self.unit.numbers))


def choices_of(
    bound_pods: Iterable[BoundPod], costs: VictimCosts, most: int
) -> list[Choice] | None:
    """Return the choices among these bound pods; None if there are more than `most`."""
    found: dict[object, Choice] = {}
    elastic: dict[GangKey, None] = {}
    for each in bound_pods:
        surplus = costs.goes_with(each)
        key = each.gang if surplus is None else surplus[-1].pod.uid
        if key in found or (surplus is None and not costs.may_break(each.gang)):
            continue
        steps = surplus is not None and each.gang in costs.steps
        single = surplus is not None and not steps
        found[key] = Choice(costs.unit_of(each), single=single, steps=steps)
        if surplus is not None:
            elastic[each.gang] = None
        if len(found) > most:
            return None
    for gang in elastic:
        # The members that are no surplus go with all others: that is a choice of its own.
        found.pop(gang, None)
    broken = (costs.unit(costs.members(gang)) for gang in elastic if costs.may_break(gang))
    both = [*found.values(), *(Choice(unit, whole=True) for unit in broken)]
    # Of sets that cost the same always one is chosen, in whatever order the pods come.
    names = Counter(costs.name(gang) for gang in {each.gang for each in both})
    return sorted(both, key=lambda each: _place(each, costs, names))


def _place(
    choice: Choice, costs: VictimCosts, names: Mapping[tuple[object, ...], int]
) -> tuple[Any, ...]:
    """Return the sort key of a choice: pods are compared by name only where those of gangs tie."""
    name, last = costs.name(choice.gang), (min(choice.unit.uids), len(choice.unit))
    if costs.has_standings and (choice.of_surplus or names[name] > 1):
        pods = choice.unit.bound_pods
        return choice.whole, name, min(natural_key(each.pod.name) for each in pods), *last
    return choice.whole, name, *last


def better(
    choices: Sequence[Choice], traits: Callable[[EvictionUnit], Hashable] | None = None
) -> Mapping[int, frozenset[int]]:
    """Return for each choice the choices to evict before it: the same room, and no dearer.

    By their places in the sequence. Of equal choices, the earlier ones. `traits` are what else
    counts of a unit.
    """
    alike: dict[object, list[int]] = {}
    for place, each in enumerate(choices):
        key = _likeness(each), traits and traits(each.unit)
        alike.setdefault(key, []).append(place)
    found: dict[int, frozenset[int]] = {}
    for several in alike.values():
        for place in several:
            others = (each for each in several if each != place)
            found[place] = frozenset(each for each in others if _precedes(choices, each, place))
    return found


def _precedes(choices: Sequence[Choice], one: int, other: int) -> bool:
    ours, theirs = _price(choices[one].unit), _price(choices[other].unit)
    no_dearer = all(a <= b for a, b in zip(ours, theirs, strict=True))
    return no_dearer and (ours != theirs or one < other)


def _price(unit: EvictionUnit) -> tuple[int, ...]:
    return unit.highest_priority, unit.unprotected, unit.lost_work, unit.going


def _likeness(choice: Choice) -> object:
    """Return a key that choices share if they free the same room and break as many gangs."""
    unit = choice.unit
    room = frozenset(
        Counter((each.pod.node, each.pod.pod_class) for each in unit.bound_pods).items()
    )
    # Choices of an elastic gang are compared within the gang: another gang is one more touched.
    apart: Portion | None = None
    if choice.of_surplus or choice.whole or not unit.going:
        apart = choice.portion if choice.single else choice.gang
    covered = frozenset(unit.covered.items())
    return room, apart, covered, unit.overlapping, choice.single, choice.tied
