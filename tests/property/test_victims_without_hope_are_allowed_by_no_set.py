"""Law: gangs that are said to have no hope of going together go in no set; every set is tried."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from random import Random
from typing import Final
from unittest.mock import patch

from hypothesis import given

from gang_scheduler.model.api_words import EvictionPolicy, Fairness
from gang_scheduler.model.queues import EvictionRules, Queue, QueueRef
from gang_scheduler.scheduler.reclaim.cycle_requests import ReclaimRequests
from gang_scheduler.scheduler.reclaim.legal_victims import Reclaim
from gang_scheduler.scheduler.reclaim.request import ReclaimRequest, RunningInQueue
from gang_scheduler.scheduler.turns.ledger import Ledger
from property.random_cases import SEEDS
from support.queue_builders import cluster_queue, cohort, cq_ref
from support.reclaim_builders import LIMITS, Nodes, ledger, part, request, running

World = tuple[Ledger, ReclaimRequest, list[RunningInQueue]]
BY_DUES: Final = (Fairness.FAIR_SHARE,)


@given(seed=SEEDS)
def test_no_set_with_hopeless_victims_is_legal(seed: int) -> None:
    assert [] == list(wrong_verdicts(a_world(Random(seed)), Counter()))  # noqa: S311


@given(seed=SEEDS)
def test_classes_that_were_ruled_out_are_needed_by_no_set(seed: int) -> None:
    quota, asking, gangs = a_world(Random(seed))  # noqa: S311
    plain, narrow = Reclaim(quota, asking, LIMITS), Reclaim(quota, asking, LIMITS)

    narrow.rule_out([each for each in gangs if narrow.possible(each)])

    for some in sets(gangs):
        parts = [part(each) for each in some]
        before, after = plain.judge(parts), narrow.judge(parts)
        assert bool(before.illegal) == bool(after.illegal)
        assert before.illegal or before.classes == after.classes


@given(seed=SEEDS)
def test_a_request_that_reaches_no_queue_has_no_victims(seed: int) -> None:
    reaches, has_victims = reached(a_world(Random(seed)))  # noqa: S311

    assert reaches or not has_victims


def test_requests_reach_queues_and_do_not() -> None:
    seen = Counter(reached(a_world(Random(seed))) for seed in range(300))  # noqa: S311

    assert seen[True, True] > 30
    # Most requests without victims are known to have none before any gang is looked at.
    assert seen[False, False] > 2 * seen[True, False] > 0


@given(seed=SEEDS)
def test_earlier_answers_change_none(seed: int) -> None:
    dice = Random(seed)  # noqa: S311
    world = a_world(dice)
    together = requests_in(world)
    for _ in range(6):
        asking = request(world[1].ref, dice.randint(1, 9), priority=1)

        assert requests_in(world).reaches_any(asking) == together.reaches_any(asking)


@given(seed=SEEDS)
def test_a_request_without_any_right_reaches_no_queue(seed: int) -> None:
    found, _ = with_and_without_rights(a_world(Random(seed), BY_DUES))  # noqa: S311

    assert len(found) == 1


@given(seed=SEEDS)
def test_gangs_that_start_elsewhere_give_no_victims_to_a_request_that_needs_none_of_them(
    seed: int,
) -> None:
    assert [] == list(victims_after_others_start(Random(seed), Counter()))  # noqa: S311


def test_requests_may_have_victims_once_others_start_and_may_not() -> None:
    seen: Counter[bool] = Counter()
    for seed in range(300):
        assert [] == list(victims_after_others_start(Random(seed), seen))  # noqa: S311

    assert min(seen[True], seen[False]) > 20


def victims_after_others_start(dice: Random, seen: Counter[bool]) -> Iterator[tuple[str, ...]]:
    """Yield the legal sets with a gang that started elsewhere, for a request said to have none."""
    world = quota, asking, gangs = a_world(dice, BY_DUES)
    trees = quota.forest.accounts.promises.trees
    ours = trees.paths[trees.rows[asking.ref]]
    elsewhere = [
        queue.ref
        for queue in trees.queues
        if queue.ref.name.startswith("q")
        and (path := trees.paths[trees.rows[queue.ref]])[0] == ours[0]
        and path[1:2] != ours[1:2]
    ]
    later = requests_in(world).reach(asking).later
    if elsewhere:
        seen[later] += 1
    for ref in elsewhere if not later else ():
        new = running(ref, "new", dice.randint(1, 5), priority=-1, created_at=100)
        quota.charge(ref, new.charge)
        reclaim = Reclaim(quota, asking, LIMITS)
        for some in sets(gangs):
            if not reclaim.judge([*map(part, (*some, new))]).illegal:
                yield tuple(each.key.name for each in some)
        quota.release(ref, new.charge)


def test_requests_have_rights_and_have_none() -> None:
    worlds = (a_world(Random(seed), BY_DUES) for seed in range(300))  # noqa: S311
    seen = Counter(has_none for _, has_none in map(with_and_without_rights, worlds))

    assert min(seen[True], seen[False]) > 10


def with_and_without_rights(world: World) -> tuple[set[bool], bool]:
    """Return the answers with and without a look at rights, and whether there was no right."""
    _, asking, _ = world
    with patch.object(Reclaim, "has_no_right", lambda *_: False):
        answers = {requests_in(world).reaches_any(asking)}
    rights: list[bool] = []
    has_no_right = Reclaim.has_no_right

    def looked_at(reclaim: Reclaim, rows: Sequence[int]) -> bool:
        rights.append(has_no_right(reclaim, rows))
        return rights[-1]

    with patch.object(Reclaim, "has_no_right", looked_at):
        answers.add(requests_in(world).reaches_any(asking))
    return answers, any(rights)


def reached(world: World) -> tuple[bool, bool]:
    """Return whether the request reaches any queue, and whether any gang may be its victim."""
    _, asking, gangs = world
    requests = requests_in(world)
    reclaim = requests.reclaim(asking, {"cpu"})
    reclaim.rule_out([*requests.candidates(reclaim)])
    return requests.reaches_any(asking), any(map(reclaim.possible, gangs))


def requests_in(world: World) -> ReclaimRequests:
    quota, _, gangs = world
    nodes = Nodes()
    for each in gangs:
        (amount,) = each.charge.values()
        nodes.run(each.ref, each.key.name, amount, known=each.known, priority=each.priority)
    return ReclaimRequests(nodes.bound_pods(), quota, LIMITS)


def test_both_verdicts_occur() -> None:
    verdicts: Counter[bool] = Counter()
    for seed in range(40):
        assert [] == list(wrong_verdicts(a_world(Random(seed)), verdicts))  # noqa: S311

    assert min(verdicts[True], verdicts[False]) > 100


def wrong_verdicts(world: World, verdicts: Counter[bool]) -> Iterator[tuple[object, ...]]:
    """Yield the sets that are legal although they have victims that are said to be hopeless."""
    quota, asking, gangs = world
    reclaim = Reclaim(quota, asking, LIMITS)
    for chosen in sets(gangs):
        further = [each for each in gangs if each not in chosen]
        hopeless = reclaim.is_impossible([*map(part, chosen)], [*map(part, further)])
        verdicts[hopeless] += 1
        for more in sets(further) if hopeless else ():
            if not reclaim.judge([*map(part, (*chosen, *more))]).illegal:
                yield [each.key.name for each in chosen], [each.key.name for each in more]


def sets(gangs: Sequence[RunningInQueue]) -> Iterator[tuple[RunningInQueue, ...]]:
    """Yield every set of the gangs, the empty one included."""
    return chain.from_iterable(combinations(gangs, n) for n in range(len(gangs) + 1))


def a_world(dice: Random, by: Sequence[Fairness] = tuple(Fairness)) -> World:
    """Return queues in two levels of cohorts, a few gangs that run, and one that asks."""
    cohorts = ["all", *(f"c{number}" for number in range(dice.randint(0, 2)))]
    queues: list[Queue] = [
        cohort(name, "" if name == "all" else "all", dice.choice((None, 0, 3))) for name in cohorts
    ]
    names = [f"q{number}" for number in range(dice.randint(2, 4))]
    queues += [
        cluster_queue(name, dice.choice(cohorts), dice.randint(0, 5), evictions=rules(dice))
        for name in names
    ]
    refs = [cq_ref(name) for name in names]
    gangs = [a_gang(dice, number, dice.choice(refs)) for number in range(dice.randint(1, 6))]
    fairness = dice.choice(by)
    quota = ledger(
        queues, gangs, asked={each: dice.randint(0, 9) for each in refs}, fairness=fairness
    )
    asking = request(refs[0], dice.randint(1, 6), priority=dice.randint(0, 2), created_at=50)
    return quota, asking, gangs


def a_gang(dice: Random, number: int, queue: QueueRef) -> RunningInQueue:
    """Return a gang of one pod; some are older than the one that asks."""
    created_at, priority = dice.choice((0, 100)), dice.randint(0, 2)
    cpu = dice.randint(1, 5)
    return running(queue, f"g{number}", cpu, priority=priority, created_at=created_at)


def rules(dice: Random) -> EvictionRules:
    policies = tuple(EvictionPolicy)
    return EvictionRules(
        within_queue=dice.choice(policies),
        reclaim=dice.choice((EvictionPolicy.ANY, *policies)),
        while_borrowing=dice.choice(policies),
    )
