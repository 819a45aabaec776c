"""What can be taken apart in a domain: gangs that go whole, and single pods of elastic ones."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import Loss
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts


class Choice(NamedTuple):
    """A loss that can be taken or left.

    Of an elastic gang, either some `single` pods go, no more than it can spare, or the `whole` of
    it. `tied` is one that the preemptor may need: it may fit only while that stays.
    """

    loss: Loss
    single: bool = False
    whole: bool = False
    tied: bool = False

    @property
    def gang(self) -> GangKey:
        """The gang that it is of."""
        return self.loss.gang


def choices_of(
    bound_pods: Iterable[BoundPod], costs: VictimCosts, most: int
) -> list[Choice] | None:
    """Return the choices that these bound pods are; None if there are more than `most` losses."""
    found: dict[object, Choice] = {}
    elastic: dict[GangKey, None] = {}
    for each in bound_pods:
        single = costs.surplus(each.gang) > 0
        key = each.pod.uid if single else each.gang
        if key in found or not (single or costs.may_break(each.gang)):
            continue
        found[key] = Choice(costs.loss_of(each), single=single)
        if single:
            elastic[each.gang] = None
        if len(found) > most:
            return None
    broken = (costs.loss(costs.members(gang)) for gang in elastic if costs.may_break(gang))
    both = [*found.values(), *(Choice(loss, whole=True) for loss in broken)]
    # Of sets that cost the same one is taken, whatever order the pods come in.
    return sorted(both, key=lambda each: (each.whole, min(each.loss.uids)))


def better(choices: Sequence[Choice]) -> Mapping[int, frozenset[int]]:
    """Return which choices each one need not be taken without: as much room, and no dearer.

    By their places in the sequence. Of equal ones it is those before.
    """
    alike: dict[object, list[int]] = {}
    for place, each in enumerate(choices):
        alike.setdefault(_likeness(each), []).append(place)
    found: dict[int, frozenset[int]] = {}
    for several in alike.values():
        for place in several:
            others = (each for each in several if each != place)
            found[place] = frozenset(each for each in others if _precedes(choices, each, place))
    return found


def _precedes(choices: Sequence[Choice], one: int, other: int) -> bool:
    ours, theirs = _price(choices[one].loss), _price(choices[other].loss)
    no_dearer = all(a <= b for a, b in zip(ours, theirs, strict=True))
    return no_dearer and (ours != theirs or one < other)


def _price(loss: Loss) -> tuple[int, ...]:
    return loss.highest_priority, loss.lost_work, loss.going


def _likeness(choice: Choice) -> object:
    """Return what is the same of choices that leave the same room, and break as many gangs."""
    loss = choice.loss
    room = frozenset(
        Counter((each.pod.node, each.pod.pod_class) for each in loss.bound_pods).items()
    )
    # Of one elastic gang some go, or all: one of another gang touches one more.
    apart = choice.gang if choice.single or choice.whole or not loss.going else None
    covered = frozenset(loss.covered.items())
    return room, apart, covered, loss.overlapping, choice.single, choice.tied
