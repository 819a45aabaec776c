"""Law: of a gang one request stands at most, of a queue ten, and none is made before its pause."""

from random import Random
from unittest.mock import patch

from hypothesis import given, settings

from gang_scheduler.scheduler import provisioning
from property.bought_lives import MOMENTS, MOST, Life, gang_of, stands
from property.random_cases import SEEDS, dice_of
from support.thoroughness import cases

WAITS = {"WaitingForProvisioning", "Unschedulable"}


def lived(dice: Random) -> Life:
    """Return a life in which nothing was asked that may not be, with time to rest in the end."""
    life = Life(dice)
    with patch.object(provisioning, "MOST_OUTSTANDING", MOST):
        for _ in range(MOMENTS):
            life.happen()
            assert [] == life.judge.faults
        life.rest()
    assert [] == life.judge.faults
    return life


@settings(max_examples=cases(20, thorough=400))
@given(SEEDS)
def test_no_request_is_made_twice_and_in_the_end_none_is_left_that_nothing_needs(
    seed: int,
) -> None:
    life = lived(dice_of(seed))
    waiting = [name for name, pods in life.gangs.items() if life.nodes.bound(name) < pods]

    assert {life.nodes.reason(name) for name in waiting} <= WAITS
    standing = [gang_of(each) for each in life.nodes.requests if stands(each)]
    assert len(standing) == len(set(standing))
    assert set(standing) <= life.gangs.keys()
    for queue in set(life.judge.queues.values()):
        here = [name for name in waiting if life.judge.queues[name] == queue]
        wants = [name for name in here if life.nodes.reason(name) == "WaitingForProvisioning"]
        assert len({*standing} & {*here}) == min(MOST, len(wants))
    assert 0 == life.nodes.cache.usage_differences()
