"""What can be evicted apart in a domain: whole gangs, and single pods of elastic gangs."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts


class Choice(NamedTuple):
    """An eviction unit that can be evicted or left.

    Of an elastic gang either `single` pods are evicted, no more than its surplus, or the `whole`
    gang. `tied`: the preemptor may need the pods of the unit where they are.
    """

    unit: EvictionUnit
    single: bool = False
    whole: bool = False
    tied: bool = False

    @property
    def gang(self) -> GangKey:
        """The gang of the eviction unit."""
        return self.unit.gang


def choices_of(
    bound_pods: Iterable[BoundPod], costs: VictimCosts, most: int
) -> list[Choice] | None:
    """Return the choices among these bound pods; None if there are more than `most`."""
    found: dict[object, Choice] = {}
    elastic: dict[GangKey, None] = {}
    for each in bound_pods:
        single = costs.surplus(each.gang) > 0
        key = each.pod.uid if single else each.gang
        if key in found or not (single or costs.may_break(each.gang)):
            continue
        found[key] = Choice(costs.unit_of(each), single=single)
        if single:
            elastic[each.gang] = None
        if len(found) > most:
            return None
    broken = (costs.unit(costs.members(gang)) for gang in elastic if costs.may_break(gang))
    both = [*found.values(), *(Choice(unit, whole=True) for unit in broken)]
    # Of sets that cost the same always one is chosen, in whatever order the pods come.
    if costs.has_standings:
        return sorted(both, key=lambda each: (each.whole, _name(each), min(each.unit.uids)))
    return sorted(both, key=lambda each: (each.whole, min(each.unit.uids)))


def _name(choice: Choice) -> tuple[object, ...]:
    pods = (each.pod for each in choice.unit.bound_pods)
    gang = choice.gang
    first = min(natural_key(pod.name) for pod in pods)
    return natural_key(gang.namespace), natural_key(gang.name), first


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
    apart = choice.gang if choice.single or choice.whole or not unit.going else None
    covered = frozenset(unit.covered.items())
    return room, apart, covered, unit.overlapping, choice.single, choice.tied
