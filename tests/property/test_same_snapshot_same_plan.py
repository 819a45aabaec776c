"""Law: the same snapshot gives the same plan, and stays as it is."""

from hypothesis import given

from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from property.worlds import STRATEGIES, World, worlds


@given(worlds(), STRATEGIES)
def test_a_snapshot_may_be_planned_again_and_again(world: World, strategy: str) -> None:
    shot = world.snapshot()
    free, ports = shot.free.tolist(), dict(shot.host_ports)

    plans = [schedule(shot, PROFILES[strategy]) for _ in range(3)]

    assert [plans[0]] * 3 == plans
    assert (free, ports) == (shot.free.tolist(), shot.host_ports)


@given(worlds(), STRATEGIES)
def test_an_equal_snapshot_gives_an_equal_plan(world: World, strategy: str) -> None:
    assert world.plan(strategy) == world.plan(strategy)
