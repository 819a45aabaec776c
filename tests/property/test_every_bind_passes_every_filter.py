"""Law: a bound pod is one that the kubelet accepts and kube-scheduler would have allowed."""

from hypothesis import given

from property import oracle
from property.worlds import STRATEGIES, World, worlds


@given(worlds(), STRATEGIES)
def test_every_bind_is_accepted_beside_all_others(world: World, strategy: str) -> None:
    plan = world.plan(strategy)

    after = world.after(plan).bound
    nodes = {each.name: each for each in world.nodes}
    for pod in after[len(world.bound) :]:
        node = nodes[pod.node]
        others = oracle.on(node, (each for each in after if each.uid != pod.uid))
        assert oracle.accepts(node, others, pod.pod_class)
