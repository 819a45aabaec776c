"""Random clusters give reason for evictions by every right, and also for none."""

from property import eviction_cases, naive_evictions
from property.random_evictions import a_case

SEEDS = 200


def test_random_cases_ask_for_every_class() -> None:
    found: dict[str, int] = {}
    for seed in range(SEEDS):
        world = eviction_cases.world(a_case(seed), {})
        answer = naive_evictions.answer(world, world.pending[0])
        shown = {name for plan in answer.plans for name in plan.shown.values()}
        for name in shown or {"fits" if answer.fits else "none"}:
            found[name] = found.get(name, 0) + 1

    assert {"fits", "none", "Reclaim", "InQueue", "WhileBorrowing", "FairShare"} == set(found)
    assert found["none"] < SEEDS * 0.7
