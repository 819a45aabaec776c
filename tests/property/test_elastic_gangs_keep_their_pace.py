"""Law: elastic gangs under churn change by whole steps and at their pace, and come to rest."""

from random import Random
from typing import Final

from hypothesis import given

from property.random_cases import SEEDS, dice_of
from support.elastic_cluster import ElasticCluster, pace
from support.elastic_judge import Rules, changes_of, faults

GANGS: Final = 5
MOMENTS: Final = 25
MOST_CYCLES: Final = 8
COOLDOWNS: Final = (0, 7, 20, 45)


class _Churn:
    """One cluster, its elastic gangs, and the others that come and go."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self.cluster = ElasticCluster(cpu=dice.randint(6, 24))
        self.rules: dict[str, Rules] = {}
        self.sizes: dict[str, list[tuple[float, int]]] = {}
        self._others: list[tuple[str, int]] = []
        for number in range(dice.randint(1, GANGS)):
            self._elastic(f"e{number}")

    def _elastic(self, name: str) -> None:
        dice = self._dice
        least = dice.randint(1, 4)
        most = least + dice.randint(0, 6)
        up, down = dice.choice(COOLDOWNS), dice.choice(COOLDOWNS)
        steps = dice.randint(1, 3), dice.randint(1, 3)
        self.cluster.elastic(name, least, most, most + dice.randint(0, 2), **pace(up, down, *steps))
        self._priority(name, dice.choice((0, 0, 5)))
        self.rules[name] = Rules(least, most, up, down, *steps)
        self.sizes[name] = []

    def _priority(self, gang: str, priority: int) -> None:
        for _, name in [each for each in self.cluster.pods if each[1].startswith(f"{gang}-")]:
            self.cluster.change(name, spec={"priority": priority})

    def churn(self, moment: int) -> None:
        """Let another gang come or go, or make other room."""
        dice = self._dice
        match dice.randrange(5):
            case 0 | 1:
                name, pods = f"o{moment}", dice.randint(1, 6)
                self.cluster.gang(name, pods)
                self._priority(name, dice.choice((-1, 0, 3, 9)))
                self._others.append((name, pods))
            case 2 | 3 if self._others:
                name, pods = self._others.pop(dice.randrange(len(self._others)))
                for i in range(pods):
                    self.cluster.gone(f"{name}-{i}")
            case 4:
                self.cluster.room(dice.randint(6, 30))

    def settle(self, later: int) -> bool:
        """Make cycles at one moment until nothing happens; return whether anything did."""
        busy = False
        for cycle in range(MOST_CYCLES):
            plan = self.cluster.cycle(later if cycle == 0 else 0)
            moved = bool(plan.placed or any(made.victims for made in plan.preemptions))
            for name, record in self.sizes.items():
                record.append((self.cluster.now, len(self.cluster.running(name))))
            if not moved:
                return busy
            busy = True
        return busy


@given(seed=SEEDS)
def test_no_gang_changes_against_what_it_declares(seed: int) -> None:
    churn = _Churn(dice_of(seed))
    dice = dice_of(seed + 1)

    for moment in range(MOMENTS):
        if dice.random() < 0.6:
            churn.churn(moment)
        churn.settle(dice.randint(1, 15))

    told = {name: faults(changes_of(churn.sizes[name]), each) for name, each in churn.rules.items()}
    assert {name: [] for name in told} == told


@given(seed=SEEDS)
def test_when_nothing_comes_or_goes_any_more_all_gangs_come_to_rest(seed: int) -> None:
    churn = _Churn(dice_of(seed))
    for moment in range(MOMENTS // 4):
        churn.churn(moment)
        churn.settle(5)

    longest = 2 * max(COOLDOWNS)
    for _ in range(3 * GANGS):
        churn.settle(longest)

    assert not churn.settle(longest)
