"""Law: no pod is bound to room that is not there."""

from hypothesis import given

from property.worlds import STRATEGIES, World, worlds


@given(worlds(), STRATEGIES)
def test_what_was_bound_fits_into_what_is_allocatable(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    after = world.after(plan).bound
    for node in world.nodes:
        here = [each for each in after if each.node == node.name]
        asked_now = {
            name
            for each in here
            if each not in world.bound
            for name, amount in each.pod_class.requests
            if amount
        }
        for name in asked_now:
            used = sum(dict(each.pod_class.requests).get(name, 0) for each in here)
            assert used <= dict(node.allocatable).get(name, 0)
