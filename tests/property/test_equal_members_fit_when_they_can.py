"""Law: a gang of equal members is placed if and only if there is room for it."""

from hypothesis import given

from gang_scheduler.model.gangs import Gang
from property import oracle
from property.worlds import STRATEGIES, World, at_once, clusters, gangs, worlds


@given(clusters(), gangs("a", classes=1), STRATEGIES)
def test_a_gang_is_placed_when_brute_force_finds_room(
    world: World, gang: Gang, strategy: str
) -> None:
    asked, needed = gang.pending[0].pod_class, at_once(gang) or 1
    fits = len(gang.pending) >= needed
    fits = fits and oracle.fits_somehow(world.nodes, world.bound, asked, needed)

    plan = world.with_gangs(gang).plan(strategy)

    assert fits == bool(plan.placed)


@given(clusters(), gangs("a", classes=1))
def test_as_many_are_placed_as_brute_force_can(world: World, gang: Gang) -> None:
    asked = gang.pending[0].pod_class
    counts = range(1, len(gang.pending) + 1)
    room = max(
        (n for n in counts if oracle.fits_somehow(world.nodes, world.bound, asked, n)), default=0
    )

    plan = world.with_gangs(gang).plan()

    placed = sum(len(each.binds) for each in plan.placed)
    assert (room if room >= at_once(gang) else 0) == placed


@given(worlds(classes=1), STRATEGIES)
def test_a_member_that_is_left_over_fits_nowhere(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    after = world.after(plan)
    for pod in (pod for each in plan.refused if each.left_over for pod in each.pods):
        assert not oracle.fits_somehow(after.nodes, after.bound, pod.pod_class, 1)


@given(worlds(classes=1, rigid=True), STRATEGIES)
def test_a_refused_gang_does_not_fit_beside_the_placed_ones(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    after = world.after(plan)
    for each in plan.refused:
        asked, needed = each.pods[0].pod_class, at_once(each.gang) or 1
        assert not oracle.fits_somehow(after.nodes, after.bound, asked, needed)
