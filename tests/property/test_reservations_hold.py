"""A start that was promised moves later only by a fact, and gangs that were let pass delay nothing.

Closed runs in simulated time: all gangs come within minutes, run as long as they say, and none is
ahead of the big one in the order of turns. Gangs of other queues may evict.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final

import pytest

from gang_scheduler.model.api_words import EvictionPolicy, Fairness
from gang_scheduler.model.queues import EvictionRules
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.queues.reservations_in_force import LONG_SECONDS
from support.builders import node
from support.churn import Churn, Job
from support.queue_builders import our_queue
from support.thoroughness import cases

SEEDS: Final = range(cases(8, thorough=120))
WHOLE: Final = 40_000


def jobs_of(dice: Random) -> tuple[list[Job], Job]:
    """Return small gangs and one that needs most of the cluster; what they say is true."""
    small = []
    for number in range(dice.randint(4, 24)):
        runs = dice.choice((60, 300, 900, 3600, 7200)) + dice.randint(0, 50)
        size, cpu = dice.randint(1, 3), dice.randint(1, 4)
        arrives = dice.choice((0, 0, dice.randint(1, 2000)))
        small.append(Job(f"s{number}", arrives, size, cpu, runs, runs))
    # Of a priority above theirs: none that comes later is before it.
    big = Job("big", dice.randint(1, 400), dice.randint(3, 5), dice.randint(5, 8), 600, 600)
    return small, replace(big, priority=1)


def churn_of(jobs: Sequence[Job], reservations: int) -> Churn:
    queues = [our_queue("root", WHOLE), our_queue("batch", WHOLE)]
    given = Policy(reservations=reservations, preemption=False, reservation_after_seconds=60)
    churn = Churn(given, [node(f"n{i}", cpu=8) for i in range(5)], queues)
    for job in jobs:
        churn.submit(job)
    return churn


def starts_promised(churn: Churn) -> Iterator[int | None]:
    """Yield the start of the big gang at each cycle in which it is promised one."""
    while "big" not in churn.starts and (plan := churn.advance()) is not None:
        promised = churn.promised(plan)
        if "big" in promised:
            yield promised["big"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_start_moves_no_later_and_is_kept(seed: int) -> None:
    small, big = jobs_of(Random(seed))  # noqa: S311 - a test that can be repeated.
    churn = churn_of([*small, big], reservations=1)

    promised = [each for each in starts_promised(churn) if each is not None]

    assert promised == sorted(promised, reverse=True)
    if promised:
        assert churn.starts["big"] <= promised[-1]


@pytest.mark.parametrize("declared", [600, None])
def test_a_gang_that_waits_for_one_of_its_own_user_keeps_no_others_from_a_promise(
    declared: int | None,
) -> None:
    """It needs all nodes, and uses one of them for ever: a gang that ends may go before it.

    So small gangs that say when they end use the rest, and the large one needs a promise.
    """
    small = [Job(f"s{n}", 40 * n, 1, 4, 600, 600) for n in range(300)]
    evil = [
        Job("holds", 0, 1, 8, 10**6, priority=2, namespace="evil"),
        Job("never", 1, 5, 8, 10**6, priority=2, namespace="evil"),
    ]
    churn = churn_of([*evil, *small, Job("big", 400, 2, 8, 600, declared, priority=1)], 1)

    promised: dict[str, int] = {}
    while "big" not in churn.starts and churn.now < 12_000:
        plan = churn.advance()
        assert plan is not None
        for name in churn.promised(plan):
            promised.setdefault(name, churn.now)

    assert promised["never"] <= 100
    assert LONG_SECONDS < promised["big"] < LONG_SECONDS + 200
    assert churn.starts["big"] <= promised["big"] + 600


def test_a_gang_that_puts_its_end_off_again_and_again_keeps_no_other_from_its_start() -> None:
    """Its room seems to be free soon; meanwhile small gangs that say when they end use the rest."""
    small = [Job(f"s{n}", 40 * n, 1, 4, 600, 600) for n in range(300)]
    evil = Job("evil", 0, 2, 8, 10**6, 60, priority=2, namespace="evil")
    churn = churn_of([evil, *small, Job("big", 400, 2, 8, 600, 600, priority=1)], reservations=1)

    while "big" not in churn.starts and churn.now < 12_000:
        assert churn.advance() is not None
        churn.declare("evil", churn.now + 60)

    assert churn.starts["big"] < 3600


RIGHTS: Final = range(cases(16, thorough=240))
EVICTIONS: Final[dict[int, int]] = {}
"""How many each run had until its big gang was promised a start for the last time."""
NEVER: Final = EvictionRules(within_queue=EvictionPolicy.NEVER, reclaim=EvictionPolicy.NEVER)


def with_rights(dice: Random) -> Churn:
    """Return a run in which `owner` takes back what `guest` borrows, and the big gang evicts none.

    Guests are there first. Queues are promised more than the nodes have, so the big gang never
    borrows.
    """
    _, big = jobs_of(dice)
    queues = [
        our_queue("root", 4 * WHOLE, fairness=Fairness.PRIORITY),
        our_queue("batch", 2 * WHOLE, evictions=NEVER),
        our_queue("owner", dice.choice((8, 15, 30)) * 1000),
        our_queue("guest", 0, borrowing=True, evictions=NEVER),
    ]
    given = Policy(reservations=1, reservation_after_seconds=60)
    churn = Churn(given, [node(f"n{i}", cpu=8) for i in range(5)], queues)
    for number in range(dice.randint(8, 20)):
        queue = dice.choice(("guest", "guest", "owner", "owner", "batch"))
        arrives = dice.randint(0, 20) if queue == "guest" else dice.randint(0, 2000)
        runs = dice.choice((300, 900, 3600, 7200)) + dice.randint(0, 50)
        size, cpu, priority = dice.randint(1, 3), dice.randint(1, 4), dice.randint(-1, 0)
        churn.submit(Job(f"s{number}", arrives, size, cpu, runs, runs, queue, priority))
    churn.submit(big)
    return churn


@pytest.mark.parametrize("seed", RIGHTS)
def test_gangs_that_evict_move_no_start(seed: int) -> None:
    churn = with_rights(Random(seed))  # noqa: S311 - a test that can be repeated.

    promised = []
    EVICTIONS[seed] = 0
    for each in starts_promised(churn):
        EVICTIONS[seed] = churn.evictions
        if each is not None:
            promised.append(each)

    assert promised == sorted(promised, reverse=True)
    if promised:
        assert churn.starts["big"] <= promised[-1]


def test_there_are_gangs_that_evict_while_a_start_is_promised() -> None:
    if len(EVICTIONS) == len(RIGHTS):
        assert sum(map(bool, EVICTIONS.values())) >= len(RIGHTS) // 3


@pytest.mark.parametrize("seed", SEEDS)
def test_gangs_that_are_let_pass_delay_nothing(seed: int) -> None:
    """Beside a run in which none starts any more once the big one is promised a start."""
    small, big = jobs_of(Random(seed))  # noqa: S311 - a test that can be repeated.
    among, alone = (churn_of([*small, big], reservations=1) for _ in range(2))
    promised = next(iter(starts_promised(alone)), None)
    alone.withdraw(job.name for job in small)

    for churn in (among, alone):
        while "big" not in churn.starts and churn.advance() is not None:
            pass

    assert among.starts["big"] <= alone.starts["big"]
    assert promised is None or alone.starts["big"] <= promised
